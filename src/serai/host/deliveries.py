"""The one door into a session: whatever enters is a delivery, with an id, a context and receipts.

The records stand in the journal, on a channel of their own beside the session's, so that they are committed
together with what they are about.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from serai.ahp import wire
from serai.ahp.actions import ActionOrigin, StateAction
from serai.ahp.types import UserMessage
from serai.contract import (
    DeliveryMode,
    DeliveryReason,
    MessageContext,
    MessageReceipt,
    RelayMessage,
    to_wire,
)
from serai.host.messages import relay_message
from serai.host.observing import Observing
from serai.journal.journal import Journal
from serai.redact import Redactor
from serai.store.contract import StoredRow

__all__ = ["Deferred", "Delivery", "Door", "Unsettled", "deliveries_channel", "unsettled"]


def deliveries_channel(session: str) -> str:
    """Where the records of a session's deliveries stand."""
    return f"serai-deliveries:{session}"


class Delivery(msgspec.Struct, frozen=True):
    """A message on its way into a session."""

    message: RelayMessage
    context: MessageContext


class Door:
    """Lets messages into one session and keeps the records of it."""

    def __init__(
        self, journal: Journal, session: str, agent: str, redactor: Redactor, observing: Observing
    ) -> None:
        self._journal = journal
        self._session = session
        self._agent = agent
        self._redactor = redactor
        self._channel = deliveries_channel(session)
        self._observing = observing

    def enter(
        self,
        delivery_id: str,
        user_message: UserMessage,
        *,
        sender: str,
        mode: DeliveryMode,
        now: int,
        metadata: dict[str, Any] | None = None,
    ) -> Delivery:
        """Record that a message wants in. It is committed with whatever else happens now."""
        agent, session = self._agent, self._session
        message = relay_message(
            delivery_id, user_message, sender=sender, agent=agent, session=session, mode=mode, now=now
        )
        context = MessageContext(id=delivery_id, mode=mode, reason=DeliveryReason.DM, metadata=metadata or {})
        self._observing.entered(delivery_id, mode, context.reason)
        self._record("delivery.created", delivery_id, message=to_wire(message), context=to_wire(context))
        return Delivery(message, context)

    def handing(self, delivery_id: str, turn_id: str) -> None:
        """Record that the message is about to leave for the agent, and which turn it begins."""
        self._record("delivery.handing", delivery_id, turnId=turn_id)

    def receipt(self, delivery_id: str, receipt: MessageReceipt) -> None:
        """Record what became of it."""
        self._observing.receipt(delivery_id, receipt)
        told = self._redactor.redact_value(to_wire(receipt), observed=True)
        self._record(f"delivery.{told['status']}", delivery_id, receipt=told)

    def defer(self, deferred_id: str, action: StateAction, origin: ActionOrigin) -> Deferred:
        """Record that an action waits for the end of the turn: it must not be lost with the host."""
        fields = {"action": wire.to_json(action), "origin": wire.to_json(origin)}
        size = self._record("action.deferred", deferred_id, **fields)
        return Deferred(deferred_id, action, origin, size)

    def applied(self, deferred_id: str) -> None:
        """Record that it waits no longer."""
        self._record("action.applied", deferred_id)

    def _record(self, kind: str, delivery_id: str, **fields: Any) -> int:
        """Write a record. Returns how long it is."""
        record = msgspec.json.encode({"type": kind, "deliveryId": delivery_id, **fields})
        self._journal.record(self._channel, record)
        return len(record)


class Deferred(NamedTuple):
    """An action of a client that waits for the end of the turn."""

    id: str
    action: StateAction
    origin: ActionOrigin
    size: int = 0
    """How many bytes it has, as far as that is known."""


class Unsettled(NamedTuple):
    """What was under way in a session when its host was stopped."""

    deliveries: list[str]
    """Those that were on their way to the agent, oldest first."""
    deferred: list[Deferred]
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
    deferred: dict[str, Deferred] = {}
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
                deferred[record.delivery_id] = Deferred(
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
