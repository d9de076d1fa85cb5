"""Actions of the session channel, but for those of tool calls (`toolcalls`)."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import field

from serai.ahp.actions.channels import Action
from serai.ahp.actions.toolcalls import ToolCallAction
from serai.ahp.types import (
    AgentSelection,
    ChangesetSummary,
    Customization,
    ErrorInfo,
    FreeForm,
    ModelSelection,
    PendingMessageKind,
    ResponsePart,
    SessionActiveClient,
    SessionInputAnswer,
    SessionInputRequest,
    SessionInputResponseKind,
    ToolDefinition,
    UsageInfo,
    UserMessage,
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
