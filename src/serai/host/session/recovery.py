"""What becomes of a session whose host was stopped: what was running is over, and says so."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from serai.ahp import actions as a
from serai.ahp import wire
from serai.ahp.actions import ActionOrigin, StateAction
from serai.ahp.types import SessionLifecycle
from serai.contract import MessageContext, RelayMessage
from serai.host.session.core import SessionCore, error_info
from serai.host.session.deliveries import DeferredAction, Delivery
from serai.host.session.questions import Questions
from serai.host.session.turns import Turns
from serai.store.contract import StoredRow

__all__ = ["Unsettled", "recover", "unsettled"]


class Unsettled(NamedTuple):
    """What was under way in a session when its host was stopped."""

    deliveries: list[str]
    """Those that were on their way to the agent."""
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
    held: set[str] = set()
    deferred: dict[str, DeferredAction] = {}
    for row in rows:
        record = _read_record(row.action)
        found = record.delivery_id
        match record.type:
            case "delivery.created":
                created[found] = record
            case "delivery.accepted":
                held.add(found)
            case "delivery.handing":
                held.discard(found)
            case "action.deferred":
                action = wire.decode(bytes(record.action), StateAction)
                deferred[found] = DeferredAction(
                    found, action, wire.decode(bytes(record.origin), ActionOrigin)
                )
            case "action.applied":
                deferred.pop(found, None)
            case _:
                created.pop(found, None)
                held.discard(found)
    under_way = [found for found in created if found not in held]
    waiting = [_delivery(record) for found, record in created.items() if found in held]
    return Unsettled(under_way, list(deferred.values()), waiting)


def _delivery(record: _Record) -> Delivery:
    return Delivery(
        msgspec.json.decode(record.message, type=RelayMessage),
        msgspec.json.decode(record.context, type=MessageContext),
    )


def recover(core: SessionCore, turns: Turns, questions: Questions, left: Unsettled) -> None:
    """After a restart: what was running is over, and says so.

    Whether a delivery that was under way got to the agent is not known. A deferred action happens now, since
    the turn that it waited for is over.
    """
    live = core.live
    for delivery_id in left.deliveries:
        turns.door.failed(delivery_id, "outcome_unknown")
    turns.mailbox.restore(left.held)
    turns.interrupt("interrupted", "the host was stopped while this turn was running")
    for request in list(live.head.input_requests or ()):
        questions.conclude(request.id)  # whoever asked is gone with the host
    core.clear_activity()
    turns.apply_deferred(left.deferred)
    if live.head.lifecycle == SessionLifecycle.CREATING:
        error = error_info("interrupted", "the host was stopped while the session was being created")
        core.act(a.SessionCreationFailedAction(error=error))
    if live.head.active_client is not None:
        core.act(a.SessionActiveClientChangedAction(active_client=None))
    steering = live.head.steering_message
    if (steering is not None or live.head.queued_messages) and not turns.is_held:
        turns.hold("restart")
    if steering is not None:
        # Who was to bring it to the agent is gone with the host; it is the next one, once someone goes on.
        turns.queue_steering(steering, "steering")
