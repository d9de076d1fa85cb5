"""The channels beside the sessions: the host's root, terminals, changesets and watches."""

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
    """A client holds it."""

    client_id: str


class TerminalSessionClaim(Value, tag_field="kind", tag="session"):
    """A session holds it, perhaps for one tool call."""

    session: URI
    turn_id: str | None = None
    tool_call_id: str | None = None


TerminalClaim: TypeAlias = TerminalClientClaim | TerminalSessionClaim | UnknownKind


class TerminalInfo(Value):
    """A terminal as the root channel lists it."""

    resource: URI
    title: str
    claim: TerminalClaim
    exit_code: Count | None = None


class TerminalUnclassifiedPart(Value, tag_field="type", tag="unclassified"):
    """Output that belongs to no command that was detected."""

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
    """How far the host is with a changeset."""

    COMPUTING = "computing"
    READY = "ready"
    ERROR = "error"


class ChangesetFile(Value):
    """One file that changed."""

    id: str
    edit: FileEdit
    meta: FreeForm | None = field(default=None, name="_meta")


class ChangesetOperationScope(StrEnum):
    """What an operation works on."""

    CHANGESET = "changeset"
    RESOURCE = "resource"
    RANGE = "range"


class ChangesetOperation(Value):
    """Something that can be done with a changeset, such as staging it."""

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
    """What happened to a resource."""

    ADDED = "added"
    UPDATED = "updated"
    DELETED = "deleted"


class ResourceChange(Value):
    """One resource, and what happened to it."""

    uri: URI
    type: Annotated[str, ResourceChangeType]


class ResourceChanges(Value):
    """A batch of changes; never empty on the wire."""

    items: list[ResourceChange]


class ResourceWatchState(State, kw_only=True):
    """What is being watched. Changes pass through; they are not part of the state."""

    root: URI
    recursive: bool
    excludes: Globs | None = None
    includes: Globs | None = None


class ModelSelection(Value):
    """A model, and settings of its own."""

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
    """Whether a policy lets it be used: `enabled`, `disabled` or `unconfigured`."""
    config_schema: ConfigSchema | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class AgentInfo(Value):
    """An agent that sessions can be made with."""

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
    """Where each kind of telemetry can be subscribed to; `logs` may be a template with `{level}`."""

    logs: URI | None = None
    traces: URI | None = None
    metrics: URI | None = None
