"""What a session cannot take, whatever its state: its agent cannot do it, or too much waits already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PendingMessageKind
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
        case a.SessionPendingMessageSetAction(kind=PendingMessageKind.STEERING):
            declared = agent.capabilities if agent else getattr(harness, "capabilities", None)
            unable = refusal(declared, DeliveryMode.NEXT_TOOL_CALL) if declared else None
            return rejected(unable.code, str(unable)) if unable else None
        case _:
            return None
