"""The commands: what each one asks, and what it answers. `methods` has the table of them."""

from __future__ import annotations

from enum import IntEnum, StrEnum
from typing import Annotated, Any, TypeAlias

from serai.ahp.actions import ActionEnvelope
from serai.ahp.types import (
    URI,
    AgentSelection,
    ContentRef,
    Count,
    FreeForm,
    Globs,
    MessageAttachment,
    ModelSelection,
    ProtectedResourceMetadata,
    RootURI,
    SessionActiveClient,
    SessionConfigSchema,
    SessionSummary,
    StringOrMarkdown,
    TelemetryCapabilities,
    TerminalClaim,
    TextRange,
    Turn,
)
from serai.ahp.wire import UnknownKind, UnknownType, Value


class BaseParams(Value):
    """What every command and notification has: the channel that it is about."""

    channel: URI


class RootParams(Value):
    """The parameters of a command that is about the connection or the host as a whole."""

    channel: RootURI


class EmptyResult(Value):
    """An answer that says no more than that it was done."""


class Snapshot(Value):
    """A channel's state at one moment: later envelopes have a `serverSeq` above `from_seq`.

    `state` is plain JSON when it was decoded: which type it has, the resource's scheme says
    (`serai.ahp.channels`).
    """

    resource: URI
    state: Any
    from_seq: Count


class InitializeParams(RootParams):
    """Asks for a connection. Versions are in the order of preference."""

    protocol_versions: list[str]
    client_id: str
    initial_subscriptions: list[URI] | None = None
    locale: str | None = None


class InitializeResult(Value):
    """The version that was chosen, and the state to begin with."""

    protocol_version: str
    server_seq: Count
    snapshots: list[Snapshot]
    default_directory: URI | None = None
    completion_trigger_characters: list[str] | None = None
    telemetry: TelemetryCapabilities | None = None


class PingParams(RootParams):
    """Asks whether the other side is there."""


class ReconnectParams(RootParams):
    """Takes a connection up again after the last number that was seen."""

    client_id: str
    last_seen_server_seq: Count
    subscriptions: list[URI]


class ReconnectReplayResult(Value, tag_field="type", tag="replay"):
    """All that was missed, in order; `missing` are channels that cannot be taken up again."""

    actions: list[ActionEnvelope]
    missing: list[URI]


class ReconnectSnapshotResult(Value, tag_field="type", tag="snapshot"):
    """Too much was missed: the state instead. A channel that is not in it is gone."""

    snapshots: list[Snapshot]


ReconnectResult: TypeAlias = ReconnectReplayResult | ReconnectSnapshotResult | UnknownType


class SubscribeParams(BaseParams):
    """Asks for a channel's state and all that follows."""


class SubscribeResult(Value):
    """The state to begin with; a channel without state has none."""

    snapshot: Snapshot | None = None


class AuthenticateParams(RootParams):
    """Hands over a token for a protected resource."""

    resource: str
    token: str


class ListSessionsParams(RootParams):
    """Asks which sessions there are. What a filter may say, the protocol leaves open."""

    filter: FreeForm | None = None


class ListSessionsResult(Value):
    """The sessions."""

    items: list[SessionSummary]


class ResolveSessionConfigParams(RootParams):
    """Asks which settings a session would have, given those that are chosen already."""

    provider: str | None = None
    working_directory: URI | None = None
    config: FreeForm | None = None


class ResolveSessionConfigResult(Value):
    """All settings, and a value for each that has one."""

    schema: SessionConfigSchema
    values: FreeForm


class SessionConfigCompletionsParams(ResolveSessionConfigParams):
    """Asks for values of one setting."""

    property: str
    query: str | None = None


class SessionConfigValueItem(Value):
    """A value that a setting may have."""

    value: str
    label: str
    description: str | None = None


class SessionConfigCompletionsResult(Value):
    """Values that fit."""

    items: list[SessionConfigValueItem]


class SessionForkSource(Value):
    """Where a new session begins: after this turn of that session."""

    session: URI
    turn_id: str


class CreateSessionParams(BaseParams):
    """Asks for a new session, under a URI that the client chose."""

    provider: str | None = None
    model: ModelSelection | None = None
    agent: AgentSelection | None = None
    working_directory: URI | None = None
    fork: SessionForkSource | None = None
    config: FreeForm | None = None
    active_client: SessionActiveClient | None = None


class DisposeSessionParams(BaseParams):
    """Asks to end a session."""


class FetchTurnsParams(BaseParams):
    """Asks for earlier turns: those before one of them, or the latest."""

    before: str | None = None
    limit: Count | None = None


class FetchTurnsResult(Value):
    """Turns, oldest first, and whether there are any before them."""

    turns: list[Turn]
    has_more: bool


class CompletionItemKind(StrEnum):
    """What is being written."""

    USER_MESSAGE = "userMessage"


class CompletionsParams(BaseParams):
    """Asks what could stand at a place in a text; the offset counts UTF-16 units."""

    kind: Annotated[str, CompletionItemKind]
    text: str
    offset: Count


class CompletionItem(Value):
    """Something that could stand there, and what is then attached to the message."""

    insert_text: str
    attachment: MessageAttachment
    range_start: Count | None = None
    range_end: Count | None = None


class CompletionsResult(Value):
    """What could stand there, best first."""

    items: list[CompletionItem]


class CreateTerminalParams(BaseParams):
    """Asks for a new terminal, under a URI that its creator chose."""

    claim: TerminalClaim
    name: str | None = None
    cwd: URI | None = None
    cols: Count | None = None
    rows: Count | None = None


class DisposeTerminalParams(BaseParams):
    """Asks to end a terminal."""


class ChangesetResourceTarget(Value, tag_field="kind", tag="resource"):
    """An operation on one file."""

    resource: URI
    side: str | None = None


class ChangesetRangeTarget(Value, tag_field="kind", tag="range"):
    """An operation on a part of one file."""

    resource: URI
    range: TextRange
    side: str | None = None


ChangesetOperationTarget: TypeAlias = ChangesetResourceTarget | ChangesetRangeTarget | UnknownKind


class InvokeChangesetOperationParams(BaseParams):
    """Asks to do something with a changeset."""

    operation_id: str
    target: ChangesetOperationTarget | None = None


class ChangesetOperationFollowUp(Value):
    """Something to open afterwards, here or outside."""

    content: ContentRef
    external: bool | None = None


class InvokeChangesetOperationResult(Value):
    """What came of it."""

    message: StringOrMarkdown | None = None
    follow_up: ChangesetOperationFollowUp | None = None


class ContentEncoding(StrEnum):
    """How content is written in JSON."""

    BASE64 = "base64"
    UTF8 = "utf-8"


class ResourceParams(RootParams):
    """The parameters of a command that is about one resource."""

    uri: URI


class ResourceReadParams(ResourceParams):
    """Asks for the content of a resource."""

    encoding: Annotated[str, ContentEncoding] | None = None


class ResourceReadResult(Value):
    """The content, and how it is encoded."""

    data: str
    encoding: Annotated[str, ContentEncoding]
    content_type: str | None = None


class ResourceWriteMode(StrEnum):
    """What a write does with the content that is there."""

    TRUNCATE = "truncate"
    APPEND = "append"
    INSERT = "insert"


class ResourceWriteParams(ResourceParams):
    """Asks to write; `position` counts bytes."""

    data: str
    encoding: Annotated[str, ContentEncoding]
    content_type: str | None = None
    create_only: bool | None = None
    mode: Annotated[str, ResourceWriteMode] | None = None
    position: Count | None = None
    if_match: str | None = None


class ResourceListParams(ResourceParams):
    """Asks what is in a directory."""


class DirectoryEntry(Value):
    """A file or a directory."""

    name: str
    type: str


class ResourceListResult(Value):
    """What is in it."""

    entries: list[DirectoryEntry]


class ResourceCopyParams(RootParams):
    """Asks to copy."""

    source: URI
    destination: URI
    fail_if_exists: bool | None = None


class ResourceMoveParams(ResourceCopyParams):
    """Asks to move."""


class ResourceDeleteParams(ResourceParams):
    """Asks to delete; a directory that is not empty only with `recursive`."""

    recursive: bool | None = None


class ResourceType(StrEnum):
    """What a resource is."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"


class ResourceResolveParams(ResourceParams):
    """Asks what a resource is."""

    follow_symlinks: bool | None = None


class ResourceResolveResult(Value):
    """What it is. Times are ISO 8601."""

    uri: URI
    type: Annotated[str, ResourceType]
    size: Count | None = None
    mtime: str | None = None
    ctime: str | None = None
    content_type: str | None = None
    etag: str | None = None


class ResourceMkdirParams(ResourceParams):
    """Asks for a directory, and those above it."""


class ResourceRequestParams(ResourceParams):
    """Asks for leave to read or write; neither means to read."""

    read: bool | None = None
    write: bool | None = None


class CreateResourceWatchParams(ResourceParams):
    """Asks to be told when resources change."""

    recursive: bool | None = None
    excludes: Globs | None = None
    includes: Globs | None = None


class CreateResourceWatchResult(Value):
    """The channel to subscribe to."""

    channel: URI


# -- errors ------------------------------------------------------------------------------------------------


class AhpErrorCode(IntEnum):
    """What went wrong."""

    SESSION_NOT_FOUND = -32001
    PROVIDER_NOT_FOUND = -32002
    SESSION_ALREADY_EXISTS = -32003
    TURN_IN_PROGRESS = -32004
    UNSUPPORTED_PROTOCOL_VERSION = -32005
    CONTENT_NOT_FOUND = -32006
    AUTH_REQUIRED = -32007
    NOT_FOUND = -32008
    PERMISSION_DENIED = -32009
    ALREADY_EXISTS = -32010
    CONFLICT = -32011


class AuthRequiredErrorData(Value):
    """Which resources need a token."""

    resources: list[ProtectedResourceMetadata]


class PermissionDeniedErrorData(Value):
    """Which permission would help."""

    request: ResourceRequestParams | None = None


class UnsupportedProtocolVersionErrorData(Value):
    """Which versions the host speaks."""

    supported_versions: list[str]
