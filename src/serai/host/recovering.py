"""What becomes of a session whose host was stopped: what was running is over, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai.ahp import actions as a
from serai.ahp.types import SessionLifecycle
from serai.contract import Failed
from serai.host.deliveries import Unsettled
from serai.host.ending import end_calls
from serai.host.mailbox import Waiting
from serai.host.turns import HELD, error_info

if TYPE_CHECKING:
    from serai.host.session import Session

__all__ = ["recover"]


def recover(session: Session, unsettled: Unsettled) -> None:
    """After a restart: what was running is over, and says so.

    Args:
        session: The session, as it was when its host was stopped.
        unsettled: What was under way. Whether a delivery got to the agent is not known; a deferred action
            happens now, since the turn that it waited for is over.
    """
    for delivery_id in unsettled.deliveries:
        session.door.receipt(delivery_id, Failed(delivery_id=delivery_id, reason="outcome_unknown"))
    session.mailbox.restore({Waiting(**d.context.metadata["pendingMessage"]): d for d in unsettled.held})
    turn = session.live.turn
    if turn is not None:
        end_calls(session)
        error = error_info("interrupted", "the host was stopped while this turn was running")
        session.act(a.SessionErrorAction(turn_id=turn.id, error=error))
        session.changing.bases.turn_ended(turn.id)
    for request in list(session.live.head.input_requests or ()):
        session.take_back(request.id)  # whoever asked is gone with the host
    session.clear_activity()
    for deferred in unsettled.deferred:
        session.turns.defer(deferred)
    session.turns.apply_deferred()
    if session.live.head.lifecycle == SessionLifecycle.CREATING:
        error = error_info("interrupted", "the host was stopped while the session was being created")
        session.act(a.SessionCreationFailedAction(error=error))
    if session.live.head.active_client is not None:
        session.act(a.SessionActiveClientChangedAction(active_client=None))
    steering = session.live.head.steering_message
    waits = steering is not None or session.live.head.queued_messages
    if waits and HELD not in (session.live.head.meta or {}):
        session.turns.hold("restart")
    if steering is not None:
        # Who was to bring it to the agent is gone with the host; it is the next one, once someone goes on.
        session.seat.queue_steering(steering, "steering")
