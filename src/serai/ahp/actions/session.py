"""Actions of the session channel: those that move a tool call through its life, and all others."""

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
    """Which call of which turn. `_meta` of a later action is not stored: the first one's stays."""

    turn_id: str
    tool_call_id: str
    meta: FreeForm | None = field(default=None, name="_meta")


class SessionToolCallStartAction(ToolCallActionBase, tag="session/toolCallStart"):
    """A call begins. With `tool_client_id`, that client is going to run it."""

    tool_name: str
    display_name: str
    tool_client_id: str | None = None


class SessionToolCallDeltaAction(ToolCallActionBase, tag="session/toolCallDelta"):
    """More of the call's input."""

    content: str
    invocation_message: StringOrMarkdown | None = None


class SessionToolCallReadyAction(ToolCallActionBase, tag="session/toolCallReady"):
    """The input is whole, or a running call needs another permission. With `confirmed` it runs at once."""

    invocation_message: StringOrMarkdown
    tool_input: str | None = None
    confirmation_title: StringOrMarkdown | None = None
    edits: FileEdits | None = None
    editable: bool | None = None
    confirmed: Annotated[str, ToolCallConfirmationReason] | None = None
    options: list[ConfirmationOption] | None = None


class SessionToolCallConfirmedAction(ToolCallActionBase, tag="session/toolCallConfirmed"):
    """Someone said yes (`approved`, with `confirmed`) or no (with `reason`).

    The page has a type for each; JSON tells them apart by a boolean, so here they are one.
    """

    approved: bool
    confirmed: Annotated[str, ToolCallConfirmationReason] | None = None
    edited_tool_input: str | None = None
    reason: Annotated[str, ToolCallCancellationReason] | None = None
    user_suggestion: UserMessage | None = None
    reason_message: StringOrMarkdown | None = None
    selected_option_id: str | None = None

    def __post_init__(self) -> None:
        # In msgspec's own words, so that the error names the field as it does for every other one.
        if self.approved and self.confirmed is None:
            raise ValueError("Object missing required field `confirmed`")
        if not self.approved and self.reason is None:
            raise ValueError("Object missing required field `reason`")


class SessionToolCallCompleteAction(ToolCallActionBase, tag="session/toolCallComplete"):
    """The tool is done."""

    result: ToolCallResult
    requires_result_confirmation: bool | None = None


class SessionToolCallResultConfirmedAction(ToolCallActionBase, tag="session/toolCallResultConfirmed"):
    """Someone let the result be used, or did not."""

    approved: bool


class SessionToolCallContentChangedAction(ToolCallActionBase, tag="session/toolCallContentChanged"):
    """What a running tool has to show now."""

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
    """The agent is there."""


class SessionCreationFailedAction(Action, tag="session/creationFailed"):
    """The agent could not be started."""

    error: ErrorInfo


class SessionTurnStartedAction(Action, tag="session/turnStarted"):
    """A message goes to the agent; with `queued_message_id` it was a waiting one."""

    turn_id: str
    user_message: UserMessage
    queued_message_id: str | None = None


class SessionDeltaAction(Action, tag="session/delta"):
    """More text for a Markdown part."""

    turn_id: str
    part_id: str
    content: str


class SessionReasoningAction(Action, tag="session/reasoning"):
    """More text for a reasoning part."""

    turn_id: str
    part_id: str
    content: str


class SessionResponsePartAction(Action, tag="session/responsePart"):
    """A new part of the answer."""

    turn_id: str
    part: ResponsePart


class SessionUsageAction(Action, tag="session/usage"):
    """What the turn has used so far."""

    turn_id: str
    usage: UsageInfo


class SessionTurnCompleteAction(Action, tag="session/turnComplete"):
    """The agent is done."""

    turn_id: str


class SessionTurnCancelledAction(Action, tag="session/turnCancelled"):
    """Someone stopped the turn."""

    turn_id: str


class SessionErrorAction(Action, tag="session/error"):
    """The turn ended with an error."""

    turn_id: str
    error: ErrorInfo


class SessionTruncatedAction(Action, tag="session/truncated"):
    """History ends after this turn; without a turn, all of it goes."""

    turn_id: str | None = None


class SessionTitleChangedAction(Action, tag="session/titleChanged"):
    """The session has another title."""

    title: str


class SessionModelChangedAction(Action, tag="session/modelChanged"):
    """Another model from the next turn on."""

    model: ModelSelection


class SessionAgentChangedAction(Action, tag="session/agentChanged"):
    """Another custom agent from the next turn on; none when absent."""

    agent: AgentSelection | None = None


class SessionIsReadChangedAction(Action, tag="session/isReadChanged"):
    """Someone has read the session, or marked it unread."""

    is_read: bool


class SessionIsArchivedChangedAction(Action, tag="session/isArchivedChanged"):
    """Someone put the session away, or took it out again."""

    is_archived: bool


class SessionActivityChangedAction(Action, tag="session/activityChanged"):
    """What the session is doing, in words; nothing when absent."""

    activity: str | None = None


class SessionChangesetsChangedAction(Action, tag="session/changesetsChanged"):
    """Other changesets are on offer; none when absent."""

    changesets: list[ChangesetSummary] | None = None


class SessionServerToolsChangedAction(Action, tag="session/serverToolsChanged"):
    """The host's own tools are others."""

    tools: list[ToolDefinition]


class SessionActiveClientChangedAction(Action, tag="session/activeClientChanged", omit_defaults=False):
    """A client lends its tools, or takes them back: the one place where `null` is written."""

    active_client: SessionActiveClient | None = None


class SessionActiveClientToolsChangedAction(Action, tag="session/activeClientToolsChanged"):
    """The active client's tools are others."""

    tools: list[ToolDefinition]


class SessionCustomizationsChangedAction(Action, tag="session/customizationsChanged"):
    """The whole list of customisations is another one."""

    customizations: list[Customization]


class SessionCustomizationToggledAction(Action, tag="session/customizationToggled"):
    """Someone switched a container on or off."""

    id: str
    enabled: bool


class SessionCustomizationUpdatedAction(Action, tag="session/customizationUpdated"):
    """A container is new or has changed."""

    customization: Customization


class SessionCustomizationRemovedAction(Action, tag="session/customizationRemoved"):
    """A container, or something in one, is gone."""

    id: str


class SessionConfigChangedAction(Action, tag="session/configChanged"):
    """Settings of the session were changed: merged into the old ones, or instead of them."""

    config: FreeForm
    replace: bool | None = None


class SessionMetaChangedAction(Action, tag="session/metaChanged"):
    """The session's `_meta` is another one; none when absent."""

    meta: FreeForm | None = field(default=None, name="_meta")


class SessionPendingMessageSetAction(Action, tag="session/pendingMessageSet"):
    """A waiting message is new or was edited."""

    kind: Annotated[str, PendingMessageKind]
    id: str
    user_message: UserMessage


class SessionPendingMessageRemovedAction(Action, tag="session/pendingMessageRemoved"):
    """A waiting message was taken back, or its moment has come."""

    kind: Annotated[str, PendingMessageKind]
    id: str


class SessionQueuedMessagesReorderedAction(Action, tag="session/queuedMessagesReordered"):
    """The queue has another order."""

    order: list[str]


class SessionInputRequestedAction(Action, tag="session/inputRequested"):
    """The session asks something."""

    request: SessionInputRequest


class SessionInputAnswerChangedAction(Action, tag="session/inputAnswerChanged"):
    """One answer was written, given, passed over, or (absent) taken back."""

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
