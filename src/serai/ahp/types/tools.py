"""Tools, their calls and their results.

The life of a call, as the reducer walks it (`serai.ahp.reducers.toolcalls`):

    streaming                    ── ready ──────────────> pending-confirmation
    streaming                    ── ready, confirmed ───> running
    pending-confirmation         ── confirmed ──────────> running
    pending-confirmation         ── denied ─────────────> cancelled
    running                      ── ready ──────────────> pending-confirmation (asked again) or running
    running, pending-confirmation ─ complete ───────────> completed or pending-result-confirmation
    pending-result-confirmation  ── result confirmed ───> completed
    pending-result-confirmation  ── result denied ──────> cancelled

Whatever is not finished when its turn ends is cancelled, reason `skipped`.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

from msgspec import field

from serai.ahp.types.common import URI, ContentRef, FileEdit, FreeForm, JsonSchema, Number, StringOrMarkdown
from serai.ahp.types.messages import UserMessage
from serai.ahp.wire import UnknownStatus, UnknownType, Value


class ToolAnnotations(Value):
    """A tool's hints about itself. They are advice, and no promise."""

    title: str | None = None
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolDefinition(Value):
    """A tool that a session has, from the host or from its active client."""

    name: str
    title: str | None = None
    description: str | None = None
    input_schema: JsonSchema | None = None
    output_schema: JsonSchema | None = None
    annotations: ToolAnnotations | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class ToolResultTextContent(Value, tag_field="type", tag="text"):
    """Text."""

    text: str


class ToolResultEmbeddedResourceContent(Value, tag_field="type", tag="embeddedResource"):
    """Bytes, in base64."""

    data: str
    content_type: str


class ToolResultResourceContent(ContentRef, tag_field="type", tag="resource"):
    """Content that is stored elsewhere."""


class ToolResultFileEditContent(FileEdit, tag_field="type", tag="fileEdit"):
    """A file that the tool changed."""


class ToolResultTerminalContent(Value, tag_field="type", tag="terminal"):
    """A terminal that can be subscribed to while the tool runs."""

    resource: URI
    title: str


class ToolResultSubagentContent(Value, tag_field="type", tag="subagent"):
    """Another session, which the tool has started and which can be subscribed to."""

    resource: URI
    title: str
    agent_name: str | None = None
    description: str | None = None


ToolResultContent: TypeAlias = (
    ToolResultTextContent
    | ToolResultEmbeddedResourceContent
    | ToolResultResourceContent
    | ToolResultFileEditContent
    | ToolResultTerminalContent
    | ToolResultSubagentContent
    | UnknownType
)


class ToolCallError(Value):
    """The error of a tool."""

    message: str
    code: str | None = None


class ToolCallResult(Value):
    """The result of a tool call."""

    success: bool
    past_tense_message: StringOrMarkdown
    content: list[ToolResultContent] | None = None
    structured_content: FreeForm | None = None
    error: ToolCallError | None = None


class ToolCallConfirmationReason(StrEnum):
    """The reason why a call was allowed to run."""

    NOT_NEEDED = "not-needed"
    USER_ACTION = "user-action"
    SETTING = "setting"


class ToolCallCancellationReason(StrEnum):
    """The reason why a call did not run, or its result was not used."""

    DENIED = "denied"
    SKIPPED = "skipped"
    RESULT_DENIED = "result-denied"


class ConfirmationOptionKind(StrEnum):
    """The meaning of an option: approval or denial."""

    APPROVE = "approve"
    DENY = "deny"


class ConfirmationOption(Value):
    """One of the offered answers. Options of one `group` belong together."""

    id: str
    label: str
    kind: Annotated[str, ConfirmationOptionKind]
    group: Number | None = None


class FileEdits(Value):
    """The edits that a call is going to make, as a preview."""

    items: list[FileEdit]


class ToolCallBase(Value, tag_field="status"):
    """The fields that a call keeps in every state. With `tool_client_id`, that client runs it."""

    tool_call_id: str
    tool_name: str
    display_name: str
    tool_client_id: str | None = None
    meta: FreeForm | None = field(default=None, name="_meta")


class ToolCallStreamingState(ToolCallBase, tag="streaming"):
    """The model is still writing the call's input."""

    partial_input: str | None = None
    invocation_message: StringOrMarkdown | None = None


class ToolCallPendingConfirmationState(ToolCallBase, tag="pending-confirmation"):
    """Someone is asked whether the call may run, or go on running."""

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    confirmation_title: StringOrMarkdown | None = None
    edits: FileEdits | None = None
    editable: bool | None = None
    options: list[ConfirmationOption] | None = None


class ToolCallRunningState(ToolCallBase, tag="running"):
    """The tool is running; `content` is its output so far."""

    invocation_message: StringOrMarkdown
    confirmed: Annotated[str, ToolCallConfirmationReason]
    tool_input: str | None = None
    selected_option: ConfirmationOption | None = None
    content: list[ToolResultContent] | None = None


class ToolCallWithResult(ToolCallBase):
    """The fields of a call whose tool has finished."""

    invocation_message: StringOrMarkdown
    confirmed: Annotated[str, ToolCallConfirmationReason]
    success: bool
    past_tense_message: StringOrMarkdown
    tool_input: str | None = None
    content: list[ToolResultContent] | None = None
    structured_content: FreeForm | None = None
    error: ToolCallError | None = None
    selected_option: ConfirmationOption | None = None


class ToolCallPendingResultConfirmationState(ToolCallWithResult, tag="pending-result-confirmation"):
    """The tool has finished, and someone is asked whether its result may be used."""


class ToolCallCompletedState(ToolCallWithResult, tag="completed"):
    """The tool has finished, with success or without."""


class ToolCallCancelledState(ToolCallBase, tag="cancelled"):
    """The call did not run, or its result was refused."""

    invocation_message: StringOrMarkdown
    reason: Annotated[str, ToolCallCancellationReason]
    tool_input: str | None = None
    reason_message: StringOrMarkdown | None = None
    user_suggestion: UserMessage | None = None
    selected_option: ConfirmationOption | None = None


ToolCallState: TypeAlias = (
    ToolCallStreamingState
    | ToolCallPendingConfirmationState
    | ToolCallRunningState
    | ToolCallPendingResultConfirmationState
    | ToolCallCompletedState
    | ToolCallCancelledState
    | UnknownStatus
)
