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
from serai.host.telemetry import SessionTelemetry
from serai.journal.journal import Journal
from serai.redact import Redactor

__all__ = ["DeferredAction", "Delivery", "Door", "deliveries_channel"]


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
        self, journal: Journal, session: str, agent: str, redactor: Redactor, telemetry: SessionTelemetry
    ) -> None:
        self._journal = journal
        self._session = session
        self._agent = agent
        self._redactor = redactor
        self._channel = deliveries_channel(session)
        self._telemetry = telemetry

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
        """Record that a message wants in. It is committed with whatever else happens now.

        Secrets in it are masked already: all that is dispatched, or said by an agent, passed the redactor.
        """
        agent, session = self._agent, self._session
        message = relay_message(
            delivery_id, user_message, sender=sender, agent=agent, session=session, mode=mode, now=now
        )
        context = MessageContext(id=delivery_id, mode=mode, reason=DeliveryReason.DM, metadata=metadata or {})
        self._telemetry.entered(delivery_id, mode, context.reason)
        self._record("delivery.created", delivery_id, message=to_wire(message), context=to_wire(context))
        return Delivery(message, context)

    def handing(self, delivery_id: str, turn_id: str) -> None:
        """Record that the message is about to leave for the agent, and which turn it begins."""
        self._record("delivery.handing", delivery_id, turnId=turn_id)

    def receipt(self, delivery_id: str, receipt: MessageReceipt) -> None:
        """Record what became of it."""
        self._telemetry.receipt(delivery_id, receipt)
        told = self._redactor.redact_value(to_wire(receipt), observed=True)
        self._record(f"delivery.{told['status']}", delivery_id, receipt=told)

    def defer(self, deferred_id: str, action: StateAction, origin: ActionOrigin) -> DeferredAction:
        """Record that an action waits for the end of the turn: it must not be lost with the host."""
        fields = {"action": wire.to_json(action), "origin": wire.to_json(origin)}
        size = self._record("action.deferred", deferred_id, **fields)
        return DeferredAction(deferred_id, action, origin, size)

    def applied(self, deferred_id: str) -> None:
        """Record that it waits no longer."""
        self._record("action.applied", deferred_id)

    def _record(self, kind: str, delivery_id: str, **fields: Any) -> int:
        """Write a record. Returns how long it is."""
        record = msgspec.json.encode({"type": kind, "deliveryId": delivery_id, **fields})
        self._journal.record(self._channel, record)
        return len(record)


class DeferredAction(NamedTuple):
    """An action of a client that waits for the end of the turn."""

    id: str
    action: StateAction
    origin: ActionOrigin
    size: int = 0
    """How many bytes it has, as far as that is known."""
