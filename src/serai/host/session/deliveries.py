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
    Failed,
    MessageContext,
    MessageReceipt,
    RelayMessage,
    to_wire,
)
from serai.host.messages import relay_message
from serai.host.session.core import SessionCore

__all__ = ["DeferredAction", "Delivery", "Door", "deliveries_channel"]


def deliveries_channel(session: str) -> str:
    """Where the records of a session's deliveries stand."""
    return f"serai-deliveries:{session}"


class Delivery(msgspec.Struct, frozen=True):
    """A message on its way into a session."""

    message: RelayMessage
    context: MessageContext

    @property
    def id(self) -> str:
        """The id that its records and receipts have."""
        return self.context.id


class DeferredAction(NamedTuple):
    """An action of a client that waits for the end of the turn."""

    id: str
    action: StateAction
    origin: ActionOrigin


class Door:
    """Lets messages into one session and keeps the records of it."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self._channel = deliveries_channel(core.uri)

    def enter(
        self, said: UserMessage, sender: str, mode: DeliveryMode, metadata: dict[str, Any] | None = None
    ) -> Delivery:
        """Record that a message wants in. It is committed with whatever else happens now.

        Secrets in it are masked already: all that is dispatched, or said by an agent, passed the redactor.
        """
        core, delivery_id = self._core, self._core.new_id()
        agent = core.live.head.summary.provider
        message = relay_message(
            delivery_id, said, sender=sender, agent=agent, session=core.uri, mode=mode, now=core.now()
        )
        context = MessageContext(id=delivery_id, mode=mode, reason=DeliveryReason.DM, metadata=metadata or {})
        core.telemetry.entered(delivery_id, mode, context.reason)
        self._record("delivery.created", delivery_id, message=to_wire(message), context=to_wire(context))
        return Delivery(message, context)

    def handing(self, delivery_id: str, turn_id: str) -> None:
        """Record that the message is about to leave for the agent, and which turn it begins."""
        self._record("delivery.handing", delivery_id, turnId=turn_id)

    def receipt(self, delivery_id: str, receipt: MessageReceipt) -> None:
        """Record what became of a delivery."""
        self._core.telemetry.receipt(delivery_id, receipt)
        told = self._core.redactor.redact_value(to_wire(receipt), observed=True)
        self._record(f"delivery.{told['status']}", delivery_id, receipt=told)

    def failed(self, delivery_id: str, reason: str) -> None:
        """Record that a delivery has failed."""
        self.receipt(delivery_id, Failed(delivery_id=delivery_id, reason=reason))

    def defer(self, action: StateAction, origin: ActionOrigin) -> DeferredAction:
        """Record that an action waits for the end of the turn: it must not be lost with the host."""
        deferred = DeferredAction(self._core.new_id(), action, origin)
        fields = {"action": wire.to_json(action), "origin": wire.to_json(origin)}
        self._record("action.deferred", deferred.id, **fields)
        return deferred

    def applied(self, deferred_id: str) -> None:
        """Record that an action waits no longer."""
        self._record("action.applied", deferred_id)

    def _record(self, kind: str, delivery_id: str, **fields: Any) -> None:
        record = msgspec.json.encode({"type": kind, "deliveryId": delivery_id, **fields})
        self._core.journal.record(self._channel, record)
