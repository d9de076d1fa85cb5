"""The types of the root, terminal, changeset and watch channels."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import field

from serai.ahp.types.common import (
    URI,
    ConfigSchema,
    Count,
    ErrorInfo,
    FileEdit,
    FreeForm,
    Number,
    ProtectedResourceMetadata,
    StringOrMarkdown,
)
from serai.ahp.types.customizations import Customization
from serai.ahp.wire import State, UnknownKind, UnknownType, Value

# -- a terminal --------------------------------------------------------------------------------------------


class TerminalClientClaim(Value, tag_field="kind", tag="client"):
    """Claim of a client on a terminal."""

    client_id: str


class TerminalSessionClaim(Value, tag_field="kind", tag="session"):
    """Claim of a session on a terminal, perhaps for one tool call."""

    session: URI
    turn_id: str | None = None
    tool_call_id: str | None = None


TerminalClaim: TypeAlias = TerminalClientClaim | TerminalSessionClaim | UnknownKind


class TerminalInfo(Value):
    """A terminal in the list of the root channel."""

    resource: URI
    title: str
    claim: TerminalClaim
    exit_code: Count | None = None


class TerminalUnclassifiedPart(Value, tag_field="type", tag="unclassified"):
    """Output outside of any detected command."""

    value: str


class TerminalCommandPart(Value, tag_field="type", tag="command"):
    """A command and its output."""

    command_id: str
    command_line: str
    output: str
    timestamp: Number
    is_complete: bool
    exit_code: Count | None = None
    duration_ms: Number | None = None


TerminalContentPart: TypeAlias = TerminalUnclassifiedPart | TerminalCommandPart | UnknownType


class TerminalState(State, kw_only=True):
    """The whole state of one terminal."""

    title: str
    content: list[TerminalContentPart]
    claim: TerminalClaim
    cwd: URI | None = None
    cols: Count | None = None
    rows: Count | None = None
    exit_code: Count | None = None
    supports_command_detection: bool | None = None


class ChangesetSummary(Value):
    """A changeset that can be subscribed to, once its URI template is expanded."""

    label: str
    uri_template: str
    description: str | None = None
    additions: Number | None = None
    deletions: Number | None = None
    files: Number | None = None


class ChangesetStatus(StrEnum):
    """The progress of a changeset."""

    COMPUTING = "computing"
    READY = "ready"
    ERROR = "error"


class ChangesetFile(Value):
    """One file that changed."""

    id: str
    edit: FileEdit
    meta: FreeForm | None = field(default=None, name="_meta")


class ChangesetOperationScope(StrEnum):
    """The scope of an operation."""

    CHANGESET = "changeset"
    RESOURCE = "resource"
    RANGE = "range"


class ChangesetOperation(Value):
    """An operation of a changeset, such as staging it."""

    id: str
    label: str
    scopes: list[Annotated[str, ChangesetOperationScope]]
    description: str | None = None
    confirmation: StringOrMarkdown | None = None
    icon: str | None = None


class ChangesetState(State, kw_only=True):
    """The whole state of one changeset."""

    status: Annotated[str, ChangesetStatus]
    files: list[ChangesetFile]
    error: ErrorInfo | None = None
    operations: list[ChangesetOperation] | None = None


class Globs(Value):
    """Patterns of paths."""

    items: list[str]


class ResourceChangeType(StrEnum):
    """The kind of change to a resource."""

    ADDED = "added"
    UPDATED = "updated"
    DELETED = "deleted"


class ResourceChange(Value):
    """A change to one resource."""

    uri: URI
    type: Annotated[str, ResourceChangeType]


class ResourceChanges(Value):
    """A batch of changes; never empty on the wire."""

    items: list[ResourceChange]


class ResourceWatchState(State, kw_only=True):
    """The scope of a watch. Changes pass through; they are not part of the state."""

    root: URI
    recursive: bool
    excludes: Globs | None = None
    includes: Globs | None = None


class ModelSelection(Value):
    """A model, and its own settings."""

    id: str
    config: FreeForm | None = None


class SessionModelInfo(Value):
    """A model that an agent offers."""

    id: str
    provider: str
    name: str
    max_context_window: Number | None = None
    supports_vision: bool | None = None
    policy_state: str | None = None
    """State of the policy for this model: `enabled`, `disabled` or `unconfigured`."""
    config_schema: ConfigSchema | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class AgentInfo(Value):
    """An agent that sessions can be created with."""

    provider: str
    display_name: str
    description: str
    models: list[SessionModelInfo]
    protected_resources: list[ProtectedResourceMetadata] | None = None
    customizations: list[Customization] | None = None


class RootConfigState(Value):
    """The host's settings and their values."""

    schema: ConfigSchema
    values: FreeForm


class RootState(State, kw_only=True):
    """The state of `ahp-root://`."""

    agents: list[AgentInfo]
    active_sessions: Number | None = None
    terminals: list[TerminalInfo] | None = None
    config: RootConfigState | None = None


class TelemetryCapabilities(Value):
    """The channels for each kind of telemetry. `logs` may be a template with `{level}`."""

    logs: URI | None = None
    traces: URI | None = None
    metrics: URI | None = None
