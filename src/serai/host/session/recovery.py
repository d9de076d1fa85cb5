"""Recovery of a session whose host was stopped: its agent continues its turn, or the turn ends."""

from __future__ import annotations

from collections.abc import Sequence

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.types import SessionLifecycle
from serai.contract import DeliveryRecord, DeliveryState
from serai.host.session.core import SessionCore, error_info
from serai.host.session.turns import Turns


def recover(core: SessionCore, turns: Turns, deliveries: Sequence[DeliveryRecord]) -> None:
    """Bring a session up to date after a restart.

    An agent that can continues its turn; other turns end with an error. A delivery that was on its way is
    settled by evidence. A deferred action happens once the turn that it waited for is over.
    """
    live = core.live
    waiting: list[DeliveryRecord] = []
    for record in deliveries:
        if record.state == DeliveryState.HANDING or "turnId" in record.evidence:
            _settle(live, turns, record)
        elif "pendingMessage" in record.metadata:
            waiting.append(record)
    steering = live.head.steering_message
    if steering is not None and steering.id.startswith("dlv_"):
        core.act(a.SessionPendingMessageRemovedAction(kind="steering", id=steering.id))  # the relay has it
        steering = None
    turns.mailbox.restore(waiting, live.head)
    running = live.snapshot().active_turn if turns.takes_up else None
    if running is None:
        _end(core, turns)
    if live.head.active_client is not None:
        core.act(a.SessionActiveClientChangedAction(active_client=None))
    if running is not None:
        turns.take_up(running)
        return
    if (steering is not None or live.head.queued_messages) and not turns.is_held:
        turns.hold("restart")
    if steering is not None:
        # The turn that it was for is gone with the host; it is the next message, once someone continues.
        turns.queue_steering(steering, "steering")


def _end(core: SessionCore, turns: Turns) -> None:
    """End the running turn and the open questions, and do what waited for that."""
    turns.interrupt("interrupted", "the host was stopped while this turn was running")
    for request in list(core.live.head.input_requests or ()):
        turns.questions.conclude(request.id)  # whoever asked is gone with the host
    core.clear_activity()
    turns.apply_deferred()
    if core.live.head.lifecycle == SessionLifecycle.CREATING:
        error = error_info("interrupted", "the host was stopped while the session was being created")
        core.act(a.SessionCreationFailedAction(error=error))


def _settle(live: LiveSession, turns: Turns, record: DeliveryRecord) -> None:
    """Settle the delivery of a message that was on its way to the agent when the host was stopped.

    An agent in the host reads its input from the journal, which has it. For another process only its answer
    shows that the message arrived.
    """
    turn_id = record.evidence.get("turnId", "")
    if turns.is_in_process:
        turns.mailbox.delivered(record, "journal", turnId=turn_id)
    elif _has_answered(live, turn_id):
        turns.mailbox.delivered(record, "answer", turnId=turn_id)
    else:
        turns.mailbox.failed(record, "outcome_unknown")


def _has_answered(live: LiveSession, turn_id: str) -> bool:
    if live.turn is not None and live.turn.id == turn_id:
        return bool(live.snapshot().active_turn.response_parts)  # pyright: ignore[reportOptionalMemberAccess]
    return any(turn.id == turn_id and turn.response_parts for turn in live.head.turns[-3:])
