"""Actions of the session channel: those of tool calls, and all others."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import field

from serai.ahp.actions.channels import Action
from serai.ahp.types import (
    AgentSelection,
    ChangesetSummary,
    ConfirmationOption,
    Customization,
    ErrorInfo,
    FileEdits,
    FreeForm,
    ModelSelection,
    PendingMessageKind,
    ResponsePart,
    SessionActiveClient,
    SessionInputAnswer,
    SessionInputRequest,
    SessionInputResponseKind,
    StringOrMarkdown,
    ToolCallCancellationReason,
    ToolCallConfirmationReason,
    ToolCallResult,
    ToolDefinition,
    ToolResultContent,
    UsageInfo,
    UserMessage,
)

# -- tool calls --------------------------------------------------------------------------------------------


class ToolCallActionBase(Action):
    """The base of actions about a tool call. Only the `_meta` of the first action is stored."""

    turn_id: str
    tool_call_id: str
    meta: FreeForm | None = field(default=None, name="_meta")


class SessionToolCallStartAction(ToolCallActionBase, tag="session/toolCallStart"):
    """A tool call begins. With `tool_client_id`, that client runs it."""

    tool_name: str
    display_name: str
    tool_client_id: str | None = None


class SessionToolCallDeltaAction(ToolCallActionBase, tag="session/toolCallDelta"):
    """More input of the tool call has arrived."""

    content: str
    invocation_message: StringOrMarkdown | None = None


class SessionToolCallReadyAction(ToolCallActionBase, tag="session/toolCallReady"):
    """The input is complete, or a running call needs another permission. With `confirmed` it runs at once."""

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    confirmation_title: StringOrMarkdown | None = None
    edits: FileEdits | None = None
    editable: bool | None = None
    confirmed: Annotated[str, ToolCallConfirmationReason] | None = None
    options: list[ConfirmationOption] | None = None


class SessionToolCallConfirmedAction(ToolCallActionBase, tag="session/toolCallConfirmed"):
    """A tool call was approved (`approved`, with `confirmed`) or denied (with `reason`).

    The specification has a type for each. JSON tells them apart by a boolean, so here they are one type.
    """

    approved: bool
    confirmed: Annotated[str, ToolCallConfirmationReason] | None = None
    edited_tool_input: str | None = None
    reason: Annotated[str, ToolCallCancellationReason] | None = None
    user_suggestion: UserMessage | None = None
    reason_message: StringOrMarkdown | None = None
    selected_option_id: str | None = None

    def __post_init__(self) -> None:
        # In msgspec's own wording, from which the name of the field is extracted, as for every other one.
        if self.approved and self.confirmed is None:
            raise ValueError("Object missing required field `confirmed`")
        if not self.approved and self.reason is None:
            raise ValueError("Object missing required field `reason`")


class SessionToolCallCompleteAction(ToolCallActionBase, tag="session/toolCallComplete"):
    """The tool has finished."""

    result: ToolCallResult
    requires_result_confirmation: bool | None = None


class SessionToolCallResultConfirmedAction(ToolCallActionBase, tag="session/toolCallResultConfirmed"):
    """The result of a tool call was approved or rejected."""

    approved: bool


class SessionToolCallContentChangedAction(ToolCallActionBase, tag="session/toolCallContentChanged"):
    """The content that a running tool shows has changed."""

    content: list[ToolResultContent]


ToolCallAction: TypeAlias = (
    SessionToolCallStartAction
    | SessionToolCallDeltaAction
    | SessionToolCallReadyAction
    | SessionToolCallConfirmedAction
    | SessionToolCallCompleteAction
    | SessionToolCallResultConfirmedAction
    | SessionToolCallContentChangedAction
)


# -- the session's beginning -------------------------------------------------------------------------------


class SessionReadyAction(Action, tag="session/ready"):
    """The agent has started."""


class SessionCreationFailedAction(Action, tag="session/creationFailed"):
    """The agent could not be started."""

    error: ErrorInfo


class SessionTurnStartedAction(Action, tag="session/turnStarted"):
    """A message starts a turn. With `queued_message_id` it comes from the queue."""

    turn_id: str
    user_message: UserMessage
    queued_message_id: str | None = None


class SessionDeltaAction(Action, tag="session/delta"):
    """More text of a Markdown part has arrived."""

    turn_id: str
    part_id: str
    content: str


class SessionReasoningAction(Action, tag="session/reasoning"):
    """More text of a reasoning part has arrived."""

    turn_id: str
    part_id: str
    content: str


class SessionResponsePartAction(Action, tag="session/responsePart"):
    """A new part of the answer has begun."""

    turn_id: str
    part: ResponsePart


class SessionUsageAction(Action, tag="session/usage"):
    """The usage of the turn so far has changed."""

    turn_id: str
    usage: UsageInfo


class SessionTurnCompleteAction(Action, tag="session/turnComplete"):
    """The agent has completed the turn."""

    turn_id: str


class SessionTurnCancelledAction(Action, tag="session/turnCancelled"):
    """The turn was cancelled."""

    turn_id: str


class SessionErrorAction(Action, tag="session/error"):
    """The turn has ended with an error."""

    turn_id: str
    error: ErrorInfo


class SessionTruncatedAction(Action, tag="session/truncated"):
    """The history was truncated after this turn; without a turn, all of it was removed."""

    turn_id: str | None = None


class SessionTitleChangedAction(Action, tag="session/titleChanged"):
    """The title of the session has changed."""

    title: str


class SessionModelChangedAction(Action, tag="session/modelChanged"):
    """The model has changed, from the next turn on."""

    model: ModelSelection


class SessionAgentChangedAction(Action, tag="session/agentChanged"):
    """The custom agent has changed, from the next turn on; absent means none."""

    agent: AgentSelection | None = None


class SessionIsReadChangedAction(Action, tag="session/isReadChanged"):
    """The session was marked as read or unread."""

    is_read: bool


class SessionIsArchivedChangedAction(Action, tag="session/isArchivedChanged"):
    """The session was archived, or taken out of the archive."""

    is_archived: bool


class SessionActivityChangedAction(Action, tag="session/activityChanged"):
    """The description of the current activity has changed; absent means none."""

    activity: str | None = None


class SessionChangesetsChangedAction(Action, tag="session/changesetsChanged"):
    """The available changesets have changed; absent means none."""

    changesets: list[ChangesetSummary] | None = None


class SessionServerToolsChangedAction(Action, tag="session/serverToolsChanged"):
    """The tools of the host have changed."""

    tools: list[ToolDefinition]


class SessionActiveClientChangedAction(Action, tag="session/activeClientChanged", omit_defaults=False):
    """A client lends its tools, or withdraws them. This is the only action that writes `null`."""

    active_client: SessionActiveClient | None = None


class SessionActiveClientToolsChangedAction(Action, tag="session/activeClientToolsChanged"):
    """The tools of the active client have changed."""

    tools: list[ToolDefinition]


class SessionCustomizationsChangedAction(Action, tag="session/customizationsChanged"):
    """The list of customisations was replaced."""

    customizations: list[Customization]


class SessionCustomizationToggledAction(Action, tag="session/customizationToggled"):
    """A container was enabled or disabled."""

    id: str
    enabled: bool


class SessionCustomizationUpdatedAction(Action, tag="session/customizationUpdated"):
    """A container was added or has changed."""

    customization: Customization


class SessionCustomizationRemovedAction(Action, tag="session/customizationRemoved"):
    """A container, or one of its children, was removed."""

    id: str


class SessionConfigChangedAction(Action, tag="session/configChanged"):
    """Settings of the session have changed: they are merged into the old ones, or replace them."""

    config: FreeForm
    replace: bool | None = None


class SessionMetaChangedAction(Action, tag="session/metaChanged"):
    """The `_meta` of the session was replaced; absent means none."""

    meta: FreeForm | None = field(default=None, name="_meta")


class SessionPendingMessageSetAction(Action, tag="session/pendingMessageSet"):
    """A pending message was added or edited."""

    kind: Annotated[str, PendingMessageKind]
    id: str
    user_message: UserMessage


class SessionPendingMessageRemovedAction(Action, tag="session/pendingMessageRemoved"):
    """A pending message was withdrawn, or is being delivered."""

    kind: Annotated[str, PendingMessageKind]
    id: str


class SessionQueuedMessagesReorderedAction(Action, tag="session/queuedMessagesReordered"):
    """The queue was reordered."""

    order: list[str]


class SessionInputRequestedAction(Action, tag="session/inputRequested"):
    """The session asks the person something."""

    request: SessionInputRequest


class SessionInputAnswerChangedAction(Action, tag="session/inputAnswerChanged"):
    """An answer was drafted, submitted, skipped, or (absent) withdrawn."""

    request_id: str
    question_id: str
    answer: SessionInputAnswer | None = None


class SessionInputCompletedAction(Action, tag="session/inputCompleted"):
    """A request was accepted, declined or cancelled."""

    request_id: str
    response: Annotated[str, SessionInputResponseKind]
    answers: dict[str, SessionInputAnswer] | None = None


SessionAction: TypeAlias = (
    ToolCallAction
    | SessionReadyAction
    | SessionCreationFailedAction
    | SessionTurnStartedAction
    | SessionDeltaAction
    | SessionReasoningAction
    | SessionResponsePartAction
    | SessionUsageAction
    | SessionTurnCompleteAction
    | SessionTurnCancelledAction
    | SessionErrorAction
    | SessionTruncatedAction
    | SessionTitleChangedAction
    | SessionModelChangedAction
    | SessionAgentChangedAction
    | SessionIsReadChangedAction
    | SessionIsArchivedChangedAction
    | SessionActivityChangedAction
    | SessionChangesetsChangedAction
    | SessionServerToolsChangedAction
    | SessionActiveClientChangedAction
    | SessionActiveClientToolsChangedAction
    | SessionCustomizationsChangedAction
    | SessionCustomizationToggledAction
    | SessionCustomizationUpdatedAction
    | SessionCustomizationRemovedAction
    | SessionConfigChangedAction
    | SessionMetaChangedAction
    | SessionPendingMessageSetAction
    | SessionPendingMessageRemovedAction
    | SessionQueuedMessagesReorderedAction
    | SessionInputRequestedAction
    | SessionInputAnswerChangedAction
    | SessionInputCompletedAction
)
