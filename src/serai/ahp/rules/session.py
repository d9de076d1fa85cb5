"""The rules for what clients dispatch on a session (section 4.1 of the protocol), and the verdicts."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any, NamedTuple, TypeVar

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.rules.answers import problem_with_answer, problem_with_answers
from serai.ahp.rules.config import problem_with_change
from serai.ahp.types import (
    ConfirmationOptionKind,
    PendingMessageKind,
    SessionInputResponseKind,
    SessionLifecycle,
    SimpleMessageAttachment,
    ToolCallCancellationReason,
    ToolCallConfirmationReason,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
    ToolCallRunningState,
    ToolCallState,
    UserMessage,
)
from serai.ahp.wire import Unknown

COMPLETION = "serai.completion"
"""Key in an attachment's `_meta`: the host itself has proposed it, and knows its content."""


class Verdict(Enum):
    """The decision about an action."""

    ACCEPT = "accept"
    """Apply it and send it to every subscriber."""

    REJECT = "reject"
    """Change nothing, and return it to its sender with the reason."""

    DEFER = "defer"
    """Keep it, and apply it when the running turn has ended."""


class Judgement(NamedTuple):
    """A verdict and, unless the action is accepted, its reason: `code: explanation`."""

    verdict: Verdict
    reason: str | None = None

    @property
    def accepted(self) -> bool:
        """True when the action may be applied now."""
        return self.verdict is Verdict.ACCEPT


ACCEPTED = Judgement(Verdict.ACCEPT)


def rejected(code: str, explanation: str) -> Judgement:
    """Make the verdict that rejects an action. `code` is stable; `explanation` is for people."""
    return Judgement(Verdict.REJECT, f"{code}: {explanation}")


LONGEST_TITLE = 1000
"""Longest title a client may set, in characters."""


def judge_title(title: str) -> Judgement:
    """Decide whether a client may set this title."""
    if len(title) <= LONGEST_TITLE:
        return ACCEPTED
    return rejected("title_too_long", f"a title has up to {LONGEST_TITLE:,} characters, not {len(title):,}")


# -- sessions ----------------------------------------------------------------------------------------------


def _anything(_session: LiveSession, _action: a.StateAction, _sender: str) -> Judgement:
    return ACCEPTED


def _turn_started(session: LiveSession, action: a.SessionTurnStartedAction, _sender: str) -> Judgement:
    if session.head.lifecycle != SessionLifecycle.READY:
        return rejected("not_ready", f"the session is {session.head.lifecycle}; wait until it is ready")
    if session.turn is not None:
        return rejected(
            "turn_in_progress", f"turn {session.turn.id!r} is running; cancel it, or queue the message"
        )
    if any(turn.id == action.turn_id for turn in session.head.turns):
        return rejected("turn_exists", f"there is a turn {action.turn_id!r} already; choose another id")
    return _message_problem(action.user_message) or ACCEPTED


def _message_problem(message: UserMessage) -> Judgement | None:
    """Return why a message is refused: an attachment that cannot be shown to a model."""
    for attachment in message.attachments or ():
        if (
            isinstance(attachment, SimpleMessageAttachment)
            and attachment.model_representation is None
            and COMPLETION not in (attachment.meta or {})
        ):
            return rejected("bad_attachment", f"attachment {attachment.label!r} needs a modelRepresentation")
    return None


def _turn_cancelled(session: LiveSession, action: a.SessionTurnCancelledAction, _sender: str) -> Judgement:
    if session.turn is None or session.turn.id != action.turn_id:
        return rejected("no_active_turn", f"turn {action.turn_id!r} is not running")
    return ACCEPTED


def _truncated(session: LiveSession, action: a.SessionTruncatedAction, _sender: str) -> Judgement:
    if action.turn_id is not None and all(turn.id != action.turn_id for turn in session.head.turns):
        return rejected("no_such_turn", f"there is no ended turn {action.turn_id!r}")
    return ACCEPTED


def _choice(session: LiveSession, _action: a.StateAction, _sender: str) -> Judgement:
    if session.turn is not None:
        return Judgement(Verdict.DEFER, "a turn is running: the choice holds from the next one")
    return ACCEPTED


def _calls(session: LiveSession, action: a.ToolCallActionBase) -> list[ToolCallState]:
    """Return the calls that an action is about. An agent may use an id twice."""
    turn = session.turn
    return turn.calls(action.tool_call_id) if turn and turn.id == action.turn_id else []


C = TypeVar("C", bound=ToolCallState)


def _first(calls: list[ToolCallState], *kinds: type[C]) -> C | None:
    return next((call for call in calls if isinstance(call, kinds)), None)


def _call_confirmed(session: LiveSession, action: a.SessionToolCallConfirmedAction, sender: str) -> Judgement:
    call: ToolCallPendingConfirmationState | ToolCallRunningState | None
    call = _first(_calls(session, action), ToolCallPendingConfirmationState)
    if call is None and not action.approved:
        # The call runs without a confirmation, and its client does not know the tool, or cannot run it.
        call = _first(_calls(session, action), ToolCallRunningState)
        call = call if call is not None and call.tool_client_id == sender else None
    if call is None:
        return rejected("not_pending", f"call {action.tool_call_id!r} does not wait for a confirmation")
    if action.approved:
        if action.confirmed not in set(ToolCallConfirmationReason):
            return rejected("bad_value", f"`confirmed` cannot be {action.confirmed!r}")
        is_editable = isinstance(call, ToolCallPendingConfirmationState) and call.editable
        if action.edited_tool_input is not None and not is_editable:
            return rejected("not_editable", "the input of this call cannot be edited")
    elif action.reason not in {ToolCallCancellationReason.DENIED, ToolCallCancellationReason.SKIPPED}:
        return rejected("bad_value", f"`reason` cannot be {action.reason!r}")
    options = call.options if isinstance(call, ToolCallPendingConfirmationState) else None
    chosen = next((o for o in options or () if o.id == action.selected_option_id), None)
    meant = ConfirmationOptionKind.APPROVE if action.approved else ConfirmationOptionKind.DENY
    if chosen is not None and chosen.kind in set(ConfirmationOptionKind) and chosen.kind != meant:
        return rejected("option_mismatch", f"option {chosen.id!r} means {chosen.kind!r}")
    suggestion = action.user_suggestion
    return (_message_problem(suggestion) if suggestion is not None else None) or ACCEPTED


def _owned(session: LiveSession, action: a.ToolCallActionBase, sender: str) -> Judgement:
    calls = [call for call in _calls(session, action) if not isinstance(call, Unknown)]
    if not calls:
        return rejected(
            "no_such_call", f"turn {action.turn_id!r} has no running call {action.tool_call_id!r}"
        )
    owners = {call.tool_client_id for call in calls}
    if owners != {sender}:
        owner = next((f"client {owner!r}" for owner in owners if owner and owner != sender), "the host")
        return rejected("not_owner", f"call {action.tool_call_id!r} is run by {owner}")
    kinds = (ToolCallRunningState, ToolCallPendingConfirmationState)
    if isinstance(action, a.SessionToolCallContentChangedAction):
        kinds = (ToolCallRunningState,)
    if not any(isinstance(call, kinds) for call in calls):
        return rejected("not_running", f"call {action.tool_call_id!r} is not running")
    return ACCEPTED


def _result_confirmed(
    session: LiveSession, action: a.SessionToolCallResultConfirmedAction, _sender: str
) -> Judgement:
    if _first(_calls(session, action), ToolCallPendingResultConfirmationState) is None:
        return rejected(
            "not_pending", f"call {action.tool_call_id!r} has no result that waits to be confirmed"
        )
    return ACCEPTED


def _active_client(
    session: LiveSession, action: a.SessionActiveClientChangedAction, sender: str
) -> Judgement:
    current = session.head.active_client
    if current is not None and current.client_id != sender:
        return rejected("other_client_active", f"client {current.client_id!r} is the active one")
    if action.active_client is not None and action.active_client.client_id != sender:
        return rejected("not_yourself", f"a client can only make itself active, and you are {sender!r}")
    return ACCEPTED


def _active_client_tools(
    session: LiveSession, _action: a.SessionActiveClientToolsChangedAction, sender: str
) -> Judgement:
    current = session.head.active_client
    if current is None or current.client_id != sender:
        return rejected("not_active", "only the active client can change its tools")
    return ACCEPTED


def _config(session: LiveSession, action: a.SessionConfigChangedAction, _sender: str) -> Judgement:
    if session.head.config is None:
        return rejected("no_config", "this session has no settings")
    problem = problem_with_change(session.head.config, action.config, replace=bool(action.replace))
    return rejected("bad_config", problem) if problem else ACCEPTED


def _pending_set(_session: LiveSession, action: a.SessionPendingMessageSetAction, _sender: str) -> Judgement:
    if action.kind not in set(PendingMessageKind):
        return rejected("bad_value", f"there are no pending messages of kind {action.kind!r}")
    return _message_problem(action.user_message) or ACCEPTED


def _pending_removed(
    session: LiveSession, action: a.SessionPendingMessageRemovedAction, _sender: str
) -> Judgement:
    head = session.head
    steering = [head.steering_message] if head.steering_message else []
    waiting = steering if action.kind == PendingMessageKind.STEERING else head.queued_messages or []
    if action.kind not in set(PendingMessageKind) or all(message.id != action.id for message in waiting):
        return rejected("no_such_message", f"no {action.kind} message {action.id!r} is waiting")
    return ACCEPTED


def _input(
    session: LiveSession,
    action: a.SessionInputAnswerChangedAction | a.SessionInputCompletedAction,
    _sender: str,
) -> Judgement:
    request = next((r for r in session.head.input_requests or () if r.id == action.request_id), None)
    problem: str | None = None
    if request is None:
        return rejected("no_such_request", f"no input request {action.request_id!r} is open")
    if isinstance(action, a.SessionInputAnswerChangedAction):
        if action.answer is not None:
            problem = problem_with_answer(request, action.question_id, action.answer)
    elif action.response not in set(SessionInputResponseKind):
        return rejected("bad_value", f"a request cannot end with {action.response!r}")
    elif action.response == SessionInputResponseKind.ACCEPT:
        problem = problem_with_answers(request, action.answers)
    return rejected("bad_answer", problem) if problem else ACCEPTED


RULES: dict[type, Callable[[LiveSession, Any, str], Judgement]] = {
    a.SessionTurnStartedAction: _turn_started,
    a.SessionTurnCancelledAction: _turn_cancelled,
    a.SessionTruncatedAction: _truncated,
    a.SessionTitleChangedAction: lambda _session, action, _sender: judge_title(action.title),
    a.SessionModelChangedAction: _choice,
    a.SessionAgentChangedAction: _choice,
    a.SessionIsReadChangedAction: _anything,
    a.SessionIsArchivedChangedAction: _anything,
    a.SessionToolCallConfirmedAction: _call_confirmed,
    a.SessionToolCallCompleteAction: _owned,
    a.SessionToolCallContentChangedAction: _owned,
    a.SessionToolCallResultConfirmedAction: _result_confirmed,
    a.SessionActiveClientChangedAction: _active_client,
    a.SessionActiveClientToolsChangedAction: _active_client_tools,
    a.SessionCustomizationToggledAction: _anything,
    a.SessionConfigChangedAction: _config,
    a.SessionPendingMessageSetAction: _pending_set,
    a.SessionPendingMessageRemovedAction: _pending_removed,
    a.SessionQueuedMessagesReorderedAction: _anything,
    a.SessionInputAnswerChangedAction: _input,
    a.SessionInputCompletedAction: _input,
}
"""The actions that a client may dispatch on a session, each with its rule."""
