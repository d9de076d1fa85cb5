"""The session channel: a conversation with one agent."""

from __future__ import annotations

from enum import IntFlag, StrEnum
from typing import Annotated, Literal, TypeAlias

from msgspec import field

from serai.ahp.types.channels import ChangesetSummary, ModelSelection
from serai.ahp.types.common import (
    URI,
    ConfigPropertySchema,
    ContentRef,
    Count,
    ErrorInfo,
    FreeForm,
    Number,
    StringOrMarkdown,
    UsageInfo,
)
from serai.ahp.types.customizations import ClientPluginCustomization, Customization
from serai.ahp.types.messages import PendingMessage, SessionInputRequest, UserMessage
from serai.ahp.types.tools import ToolCallState, ToolDefinition
from serai.ahp.wire import State, UnknownKind, Value

# -- turns -------------------------------------------------------------------------------------------------


class MarkdownResponsePart(Value, tag_field="kind", tag="markdown"):
    """Text of the agent; `session/delta` adds to it by `id`."""

    id: str
    content: str


class ResourceResponsePart(ContentRef, tag_field="kind", tag="contentRef"):
    """Large content that is stored elsewhere. The specification spells this type `ResourceReponsePart`."""


class ToolCallResponsePart(Value, tag_field="kind", tag="toolCall"):
    """A tool call, at its place among the text. Its `toolCallId` is the part's id."""

    tool_call: ToolCallState


class ReasoningResponsePart(Value, tag_field="kind", tag="reasoning"):
    """Reasoning of the model; `session/reasoning` adds to it by `id`."""

    id: str
    content: str


class SystemNotificationResponsePart(Value, tag_field="kind", tag="systemNotification"):
    """A notice for both the agent and the person."""

    content: StringOrMarkdown


ResponsePart: TypeAlias = (
    MarkdownResponsePart
    | ResourceResponsePart
    | ToolCallResponsePart
    | ReasoningResponsePart
    | SystemNotificationResponsePart
    | UnknownKind
)


class TurnState(StrEnum):
    """The outcome of a turn."""

    COMPLETE = "complete"
    CANCELLED = "cancelled"
    ERROR = "error"


class Turn(Value):
    """A finished turn: a message and the whole answer to it."""

    id: str
    user_message: UserMessage
    response_parts: list[ResponsePart]
    state: Annotated[str, TurnState]
    usage: UsageInfo | None = None
    error: ErrorInfo | None = None


class ActiveTurn(State, kw_only=True):
    """The turn that is running."""

    id: str
    user_message: UserMessage
    response_parts: list[ResponsePart]
    usage: UsageInfo | None = None


class SessionLifecycle(StrEnum):
    """The lifecycle of a session: creating, then ready or creationFailed."""

    CREATING = "creating"
    READY = "ready"
    CREATION_FAILED = "creationFailed"


class SessionStatus(IntFlag):
    """A bit set: the activity of the session (the low five bits), and two flags of the person.

    Ask with `&`: `status & IN_PROGRESS` also holds for a turn that waits for input.
    """

    IDLE = 1
    ERROR = 2
    IN_PROGRESS = 8
    INPUT_NEEDED = 24
    IS_READ = 32
    IS_ARCHIVED = 64


class ProjectInfo(Value):
    """The project that a session belongs to."""

    uri: URI
    display_name: str


class AgentSelection(Value):
    """The custom agent that a session uses."""

    uri: URI


class SessionSummary(State, kw_only=True):
    """The summary of a session in a list. Times are milliseconds since 1970."""

    resource: URI
    provider: str
    title: str
    status: Count
    created_at: Number
    modified_at: Number
    activity: str | None = None
    project: ProjectInfo | None = None
    model: ModelSelection | None = None
    agent: AgentSelection | None = None
    working_directory: URI | None = None
    changesets: list[ChangesetSummary] | None = None


class SessionActiveClient(Value):
    """The one client that lends its tools to the session."""

    client_id: str
    tools: list[ToolDefinition]
    display_name: str | None = None
    customizations: list[ClientPluginCustomization] | None = None


class SessionConfigPropertySchema(ConfigPropertySchema):
    """A setting of a session. Only a `session_mutable` one may change once the session exists."""

    enum_dynamic: bool | None = None
    session_mutable: bool | None = None


class SessionConfigSchema(Value):
    """The settings that a session has, by name."""

    type: Literal["object"]
    properties: dict[str, SessionConfigPropertySchema]
    required: list[str] | None = None


class SessionConfigState(Value):
    """A session's settings and their values."""

    schema: SessionConfigSchema
    values: FreeForm


class SessionState(State, kw_only=True):
    """The whole state of one session."""

    summary: SessionSummary
    lifecycle: Annotated[str, SessionLifecycle]
    turns: list[Turn]
    creation_error: ErrorInfo | None = None
    server_tools: list[ToolDefinition] | None = None
    active_client: SessionActiveClient | None = None
    active_turn: ActiveTurn | None = None
    steering_message: PendingMessage | None = None
    queued_messages: list[PendingMessage] | None = None
    input_requests: list[SessionInputRequest] | None = None
    config: SessionConfigState | None = None
    customizations: list[Customization] | None = None
    meta: FreeForm | None = field(default=None, name="_meta")
