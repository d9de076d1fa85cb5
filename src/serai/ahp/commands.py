"""The commands: the parameters and the result of each, and the errors. `codec` has the table of them."""

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
    """The parameters of every command and notification: the channel that it is about."""

    channel: URI


class RootParams(Value):
    """The parameters of a command that is about the connection or the host as a whole."""

    channel: RootURI


class EmptyResult(Value):
    """A result without content."""


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
    """Asks whether the other side still answers."""


class ReconnectParams(RootParams):
    """Takes a connection up again after the last number that was seen."""

    client_id: str
    last_seen_server_seq: Count
    subscriptions: list[URI]


class ReconnectReplayResult(Value, tag_field="type", tag="replay"):
    """All missed actions, in order. `missing` lists channels that no longer exist."""

    actions: list[ActionEnvelope]
    missing: list[URI]


class ReconnectSnapshotResult(Value, tag_field="type", tag="snapshot"):
    """Snapshots, since too many actions were missed. A channel without a snapshot no longer exists."""

    snapshots: list[Snapshot]


ReconnectResult: TypeAlias = ReconnectReplayResult | ReconnectSnapshotResult | UnknownType


class SubscribeParams(BaseParams):
    """Subscribes to a channel: asks for its state and all later actions."""


class SubscribeResult(Value):
    """The initial state of the channel, if it has any."""

    snapshot: Snapshot | None = None


class AuthenticateParams(RootParams):
    """Passes a token for a protected resource."""

    resource: str
    token: str


class ListSessionsParams(RootParams):
    """Asks for the list of sessions. The protocol does not define the content of a filter."""

    filter: FreeForm | None = None


class ListSessionsResult(Value):
    """The sessions."""

    items: list[SessionSummary]


class ResolveSessionConfigParams(RootParams):
    """Asks for the settings that a session would have, given those that are chosen already."""

    provider: str | None = None
    working_directory: URI | None = None
    config: FreeForm | None = None


class ResolveSessionConfigResult(Value):
    """All settings, with a value for each that has one."""

    schema: SessionConfigSchema
    values: FreeForm


class SessionConfigCompletionsParams(ResolveSessionConfigParams):
    """Asks for values of one setting."""

    property: str
    query: str | None = None


class SessionConfigValueItem(Value):
    """A possible value of a setting."""

    value: str
    label: str
    description: str | None = None


class SessionConfigCompletionsResult(Value):
    """The values that match the query."""

    items: list[SessionConfigValueItem]


class SessionForkSource(Value):
    """The origin of a forked session: a turn of another session. The fork continues after it."""

    session: URI
    turn_id: str


class CreateSessionParams(BaseParams):
    """Creates a session under a URI that the client has chosen."""

    provider: str | None = None
    model: ModelSelection | None = None
    agent: AgentSelection | None = None
    working_directory: URI | None = None
    fork: SessionForkSource | None = None
    config: FreeForm | None = None
    active_client: SessionActiveClient | None = None


class DisposeSessionParams(BaseParams):
    """Disposes of a session."""


class FetchTurnsParams(BaseParams):
    """Asks for earlier turns: those before one of them, or the latest."""

    before: str | None = None
    limit: Count | None = None


class FetchTurnsResult(Value):
    """Turns, oldest first, and whether there are any before them."""

    turns: list[Turn]
    has_more: bool


class CompletionItemKind(StrEnum):
    """The kind of text that is being written."""

    USER_MESSAGE = "userMessage"


class CompletionsParams(BaseParams):
    """Asks for completions at a position in a text. The offset counts UTF-16 units."""

    kind: Annotated[str, CompletionItemKind]
    text: str
    offset: Count


class CompletionItem(Value):
    """A completion, and the attachment that comes with it."""

    insert_text: str
    attachment: MessageAttachment
    range_start: Count | None = None
    range_end: Count | None = None


class CompletionsResult(Value):
    """The completions, best first."""

    items: list[CompletionItem]


class CreateTerminalParams(BaseParams):
    """Creates a terminal under a URI that the client has chosen."""

    claim: TerminalClaim
    name: str | None = None
    cwd: URI | None = None
    cols: Count | None = None
    rows: Count | None = None


class DisposeTerminalParams(BaseParams):
    """Disposes of a terminal."""


class ChangesetResourceTarget(Value, tag_field="kind", tag="resource"):
    """The target of an operation on one file."""

    resource: URI
    side: str | None = None


class ChangesetRangeTarget(Value, tag_field="kind", tag="range"):
    """The target of an operation on a part of one file."""

    resource: URI
    range: TextRange
    side: str | None = None


ChangesetOperationTarget: TypeAlias = ChangesetResourceTarget | ChangesetRangeTarget | UnknownKind


class InvokeChangesetOperationParams(BaseParams):
    """Runs an operation of a changeset."""

    operation_id: str
    target: ChangesetOperationTarget | None = None


class ChangesetOperationFollowUp(Value):
    """Content to open after an operation, in the client or outside."""

    content: ContentRef
    external: bool | None = None


class InvokeChangesetOperationResult(Value):
    """The outcome of the operation."""

    message: StringOrMarkdown | None = None
    follow_up: ChangesetOperationFollowUp | None = None


class ContentEncoding(StrEnum):
    """The encoding of content in JSON."""

    BASE64 = "base64"
    UTF8 = "utf-8"


class ResourceParams(RootParams):
    """The parameters of a command that is about one resource."""

    uri: URI


class ResourceReadParams(ResourceParams):
    """Reads the content of a resource."""

    encoding: Annotated[str, ContentEncoding] | None = None


class ResourceReadResult(Value):
    """The content, and its encoding."""

    data: str
    encoding: Annotated[str, ContentEncoding]
    content_type: str | None = None


class ResourceWriteMode(StrEnum):
    """The effect of a write on existing content."""

    TRUNCATE = "truncate"
    APPEND = "append"
    INSERT = "insert"


class ResourceWriteParams(ResourceParams):
    """Writes to a resource. `position` counts bytes."""

    data: str
    encoding: Annotated[str, ContentEncoding]
    content_type: str | None = None
    create_only: bool | None = None
    mode: Annotated[str, ResourceWriteMode] | None = None
    position: Count | None = None
    if_match: str | None = None


class ResourceListParams(ResourceParams):
    """Lists a directory."""


class DirectoryEntry(Value):
    """A file or a directory."""

    name: str
    type: str


class ResourceListResult(Value):
    """The entries of a directory."""

    entries: list[DirectoryEntry]


class ResourceCopyParams(RootParams):
    """Copies a resource."""

    source: URI
    destination: URI
    fail_if_exists: bool | None = None


class ResourceMoveParams(ResourceCopyParams):
    """Moves a resource."""


class ResourceDeleteParams(ResourceParams):
    """Deletes a resource. A directory that is not empty needs `recursive`."""

    recursive: bool | None = None


class ResourceType(StrEnum):
    """The type of a resource."""

    FILE = "file"
    DIRECTORY = "directory"
    SYMLINK = "symlink"


class ResourceResolveParams(ResourceParams):
    """Asks for the metadata of a resource."""

    follow_symlinks: bool | None = None


class ResourceResolveResult(Value):
    """The metadata of a resource. Times are ISO 8601."""

    uri: URI
    type: Annotated[str, ResourceType]
    size: Count | None = None
    mtime: str | None = None
    ctime: str | None = None
    content_type: str | None = None
    etag: str | None = None


class ResourceMkdirParams(ResourceParams):
    """Creates a directory, and its parents."""


class ResourceRequestParams(ResourceParams):
    """Asks for permission to read or write; without either, to read."""

    read: bool | None = None
    write: bool | None = None


class CreateResourceWatchParams(ResourceParams):
    """Watches resources for changes."""

    recursive: bool | None = None
    excludes: Globs | None = None
    includes: Globs | None = None


class CreateResourceWatchResult(Value):
    """The channel that reports the changes."""

    channel: URI


# -- errors ------------------------------------------------------------------------------------------------


class AhpErrorCode(IntEnum):
    """AHP's own error numbers."""

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
    """Error data: the resources that need a token."""

    resources: list[ProtectedResourceMetadata]


class PermissionDeniedErrorData(Value):
    """Error data: the permission that would help."""

    request: ResourceRequestParams | None = None


class UnsupportedProtocolVersionErrorData(Value):
    """Error data: the protocol versions that the host supports."""

    supported_versions: list[str]
