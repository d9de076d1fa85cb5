"""What becomes of a session whose host was stopped: what was running is over, and says so."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from serai.ahp import actions as a
from serai.ahp import wire
from serai.ahp.actions import ActionOrigin, StateAction
from serai.ahp.types import SessionLifecycle
from serai.contract import Failed, MessageContext, RelayMessage
from serai.host.session.core import SessionCore, error_info
from serai.host.session.deliveries import DeferredAction, Delivery
from serai.host.session.mailbox import Waiting
from serai.host.session.questions import Questions
from serai.host.session.turns import HELD, Turns
from serai.store.contract import StoredRow

__all__ = ["Unsettled", "recover", "unsettled"]


class Unsettled(NamedTuple):
    """What was under way in a session when its host was stopped."""

    deliveries: list[str]
    """Those that were on their way to the agent, oldest first."""
    deferred: list[DeferredAction]
    held: list[Delivery]
    """Those that waited for their moment, and go on waiting."""


class _Record(msgspec.Struct):
    type: str
    delivery_id: str = msgspec.field(name="deliveryId")
    action: msgspec.Raw = msgspec.Raw(b"")
    origin: msgspec.Raw = msgspec.Raw(b"")
    message: msgspec.Raw = msgspec.Raw(b"")
    context: msgspec.Raw = msgspec.Raw(b"")


_read_record = msgspec.json.Decoder(_Record).decode


def unsettled(rows: list[StoredRow]) -> Unsettled:
    """What the records of a session leave open."""
    created: dict[str, _Record] = {}
    under_way: dict[str, None] = {}
    held: dict[str, None] = {}
    deferred: dict[str, DeferredAction] = {}
    for row in rows:
        record = _read_record(row.action)
        match record.type:
            case "delivery.created":
                created[record.delivery_id] = record
                under_way[record.delivery_id] = None
            case "delivery.accepted":
                under_way.pop(record.delivery_id, None)
                held[record.delivery_id] = None
            case "delivery.handing":
                held.pop(record.delivery_id, None)
                under_way[record.delivery_id] = None
            case "action.deferred":
                deferred[record.delivery_id] = DeferredAction(
                    record.delivery_id,
                    wire.decode(bytes(record.action), StateAction),
                    wire.decode(bytes(record.origin), ActionOrigin),
                )
            case "action.applied":
                deferred.pop(record.delivery_id, None)
            case _:
                for open_ones in (created, under_way, held):
                    open_ones.pop(record.delivery_id, None)
    return Unsettled(list(under_way), list(deferred.values()), [_delivery(created[found]) for found in held])


def _delivery(record: _Record) -> Delivery:
    return Delivery(
        msgspec.json.decode(record.message, type=RelayMessage),
        msgspec.json.decode(record.context, type=MessageContext),
    )


def recover(core: SessionCore, turns: Turns, questions: Questions, left: Unsettled) -> None:
    """After a restart: what was running is over, and says so.

    Args:
        core: The session, as it was when its host was stopped.
        turns: Its turns.
        questions: Its questions.
        left: What was under way. Whether a delivery got to the agent is not known; a deferred action happens
            now, since the turn that it waited for is over.
    """
    live = core.live
    for delivery_id in left.deliveries:
        turns.door.receipt(delivery_id, Failed(delivery_id=delivery_id, reason="outcome_unknown"))
    turns.mailbox.restore({Waiting(**d.context.metadata["pendingMessage"]): d for d in left.held})
    turns.interrupt("interrupted", "the host was stopped while this turn was running")
    for request in list(live.head.input_requests or ()):
        questions.conclude(request.id)  # whoever asked is gone with the host
    core.clear_activity()
    for deferred in left.deferred:
        turns.defer(deferred)
    turns.apply_deferred()
    if live.head.lifecycle == SessionLifecycle.CREATING:
        error = error_info("interrupted", "the host was stopped while the session was being created")
        core.act(a.SessionCreationFailedAction(error=error))
    if live.head.active_client is not None:
        core.act(a.SessionActiveClientChangedAction(active_client=None))
    steering = live.head.steering_message
    if (steering is not None or live.head.queued_messages) and HELD not in (live.head.meta or {}):
        turns.hold("restart")
    if steering is not None:
        # Who was to bring it to the agent is gone with the host; it is the next one, once someone goes on.
        turns.queue_steering(steering, "steering")
