"""What a session cannot take: its agent cannot do it or does not offer it, or too much waits already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PendingMessageKind, ToolCallPendingConfirmationState
from serai.contract import AgentSession, DeliveryMode, refusal
from serai.host.agents import Particular

if TYPE_CHECKING:
    from serai.host.session import Session

__all__ = ["refused"]


def refused(session: Session, action: a.StateAction, agent: AgentSession | None) -> Judgement | None:
    """Why an action cannot be here, or `None` when it can.

    Args:
        session: The session.
        action: What a client wants to happen.
        agent: The session's agent, if it is there.
    """
    harness = session.host.harnesses.get(session.live.head.summary.provider)
    if isinstance(harness, Particular) and (problem := harness.refusal(session.uri, action)):
        return problem
    match action:
        case a.SessionPendingMessageSetAction(kind=PendingMessageKind.QUEUED):
            queue = session.live.head.queued_messages or []
            if len(queue) >= session.settings.queue_limit and all(m.id != action.id for m in queue):
                return rejected("mailbox_full", f"{len(queue)} messages are waiting already")
            return None
        case a.SessionToolCallConfirmedAction(selected_option_id=str(option)):
            return _no_such_option(session, action, option)
        case a.SessionPendingMessageSetAction(kind=PendingMessageKind.STEERING):
            declared = agent.capabilities if agent else getattr(harness, "capabilities", None)
            unable = refusal(declared, DeliveryMode.NEXT_TOOL_CALL) if declared else None
            return rejected(unable.code, str(unable)) if unable else None
        case _:
            return None


def _no_such_option(
    session: Session, action: a.SessionToolCallConfirmedAction, option: str
) -> Judgement | None:
    """An answer that was not offered is none: nobody can know what it would mean."""
    turn = session.live.turn
    calls = turn.calls(action.tool_call_id) if turn is not None and turn.id == action.turn_id else []
    asked = next((call for call in calls if isinstance(call, ToolCallPendingConfirmationState)), None)
    if asked is None or not asked.options or any(offered.id == option for offered in asked.options):
        return None
    return rejected("no_such_option", f"call {action.tool_call_id!r} has no option {option!r}")
