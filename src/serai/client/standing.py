"""What the state says about an action whose answer got lost with a connection."""

from __future__ import annotations

from enum import Enum

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.types import ToolCallPendingConfirmationState, ToolCallPendingResultConfirmationState

__all__ = ["REPEATABLE", "Standing", "standing"]


class Standing(Enum):
    """Whether an action has had its effect."""

    DONE = "done"
    """It has, or someone else's has had the same one."""
    OPEN = "open"
    """It has not: what it was about is as it was before."""
    UNKNOWN = "unknown"
    """The state does not tell."""


REPEATABLE = (
    a.SessionTurnStartedAction,  # its id is ours: a host that has the turn refuses another
    a.SessionTurnCancelledAction,
    a.SessionTitleChangedAction,
    a.SessionModelChangedAction,
    a.SessionAgentChangedAction,
    a.SessionIsReadChangedAction,
    a.SessionIsArchivedChangedAction,
    a.SessionConfigChangedAction,
    a.SessionInputAnswerChangedAction,
    a.SessionQueuedMessagesReorderedAction,
)
"""Actions that do the same when they are done twice. A "yes" is not one: the next question may be another."""


def standing(session: LiveSession, action: a.StateAction) -> Standing:
    """What became of an action, as far as the session's state tells."""
    match action:
        case a.SessionTurnStartedAction(turn_id=turn_id):
            return _done(when=_has_turn(session, turn_id))
        case a.SessionTurnCancelledAction(turn_id=turn_id):
            return _done(when=session.turn is None or session.turn.id != turn_id)
        case a.SessionToolCallConfirmedAction() | a.SessionToolCallResultConfirmedAction():
            return _done(when=not _is_asked(session, action))
        case a.SessionInputCompletedAction(request_id=request_id):
            requests = session.head.input_requests or ()
            return _done(when=all(request.id != request_id for request in requests))
        case a.SessionPendingMessageSetAction(id=message_id):
            waiting = [*(session.head.queued_messages or ()), session.head.steering_message]
            is_there = any(message is not None and message.id == message_id for message in waiting)
            return Standing.DONE if is_there else Standing.UNKNOWN  # it may have been taken already
        case _:
            return Standing.UNKNOWN


def _done(*, when: bool) -> Standing:
    return Standing.DONE if when else Standing.OPEN


def _has_turn(session: LiveSession, turn_id: str) -> bool:
    running = session.turn is not None and session.turn.id == turn_id
    return running or any(turn.id == turn_id for turn in session.head.turns)


def _is_asked(session: LiveSession, action: a.ToolCallActionBase) -> bool:
    turn = session.turn
    call = turn.call(action.tool_call_id) if turn is not None and turn.id == action.turn_id else None
    asked = (
        ToolCallPendingConfirmationState
        if isinstance(action, a.SessionToolCallConfirmedAction)
        else ToolCallPendingResultConfirmationState
    )
    return isinstance(call, asked)
