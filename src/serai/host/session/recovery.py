"""What becomes of a session whose host was stopped: its agent goes on with its turn, or the turn is over."""

from __future__ import annotations

from collections.abc import Sequence

from serai.ahp import actions as a
from serai.ahp.reducers import LiveSession
from serai.ahp.types import SessionLifecycle
from serai.contract import DeliveryRecord, DeliveryState
from serai.host.session.core import SessionCore, error_info
from serai.host.session.deliveries import DeferredAction
from serai.host.session.questions import Questions
from serai.host.session.turns import Turns


def recover(
    core: SessionCore,
    turns: Turns,
    questions: Questions,
    deliveries: Sequence[DeliveryRecord],
    deferred: Sequence[DeferredAction],
) -> None:
    """After a restart: an agent that can goes on with its turn. Else what was running is over, and says so.

    A delivery that was on its way is settled by evidence. A deferred action happens now, since the turn that
    it waited for is over.
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
        _end(core, turns, questions, deferred)
    if live.head.active_client is not None:
        core.act(a.SessionActiveClientChangedAction(active_client=None))
    if running is not None:
        turns.take_up(running, deferred)
        return
    if (steering is not None or live.head.queued_messages) and not turns.is_held:
        turns.hold("restart")
    if steering is not None:
        # Who was to bring it to the agent is gone with the host; it is the next one, once someone goes on.
        turns.queue_steering(steering, "steering")


def _end(core: SessionCore, turns: Turns, questions: Questions, deferred: Sequence[DeferredAction]) -> None:
    """What ran is over, and so is what was asked; what waited for that happens."""
    turns.interrupt("interrupted", "the host was stopped while this turn was running")
    for request in list(core.live.head.input_requests or ()):
        questions.conclude(request.id)  # whoever asked is gone with the host
    core.clear_activity()
    turns.apply_deferred(deferred)
    if core.live.head.lifecycle == SessionLifecycle.CREATING:
        error = error_info("interrupted", "the host was stopped while the session was being created")
        core.act(a.SessionCreationFailedAction(error=error))


def _settle(live: LiveSession, turns: Turns, record: DeliveryRecord) -> None:
    """Say what became of a message that was on its way to the agent when the host was stopped.

    What runs in the host reads its input from the journal, which has it. Of another process only its answer
    shows that it got there.
    """
    turn_id = record.evidence.get("turnId", "")
    if turns.is_in_process:
        turns.door.delivered(record, "journal", turnId=turn_id)
    elif _has_answered(live, turn_id):
        turns.door.delivered(record, "answer", turnId=turn_id)
    else:
        turns.door.failed(record, "outcome_unknown")


def _has_answered(live: LiveSession, turn_id: str) -> bool:
    if live.turn is not None and live.turn.id == turn_id:
        return bool(live.snapshot().active_turn.response_parts)  # pyright: ignore[reportOptionalMemberAccess]
    return any(turn.id == turn_id and turn.response_parts for turn in live.head.turns[-3:])
