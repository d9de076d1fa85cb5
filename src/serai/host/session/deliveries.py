"""The one door into a session: whatever enters is a delivery, with an id, a context and receipts.

What a client says over AHP and what the relay brings are rows of one ledger, committed together with what
they are about. An action of a client that waits for the end of a turn is a record beside the session's
channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from serai.ahp import wire
from serai.ahp.actions import ActionOrigin, StateAction
from serai.ahp.types import UserMessage
from serai.contract import (
    Deferred,
    Delivered,
    DeliveryMode,
    DeliveryReason,
    DeliveryRecord,
    Failed,
    MessageContext,
    MessageReceipt,
    RelayMessage,
)
from serai.host.ledger import Ledger
from serai.host.messages import relay_message
from serai.host.session.core import SessionCore
from serai.store.contract import StoredRow


def deferred_channel(session: str) -> str:
    """Where it stands which actions wait for the end of a session's turn."""
    return f"serai-deferred:{session}"


class Delivery(NamedTuple):
    """A message on its way into a session."""

    record: DeliveryRecord
    message: RelayMessage

    @property
    def id(self) -> str:
        """The id that its records and receipts have."""
        return self.record.id

    @property
    def context(self) -> MessageContext:
        """Why it is delivered, for the harness."""
        record = self.record
        return MessageContext(
            id=record.id,
            mode=record.mode,
            reason=record.reason,
            priority=record.priority,
            deadline=record.deadline,
            metadata=record.metadata,
        )


class Postman(Protocol):
    """Brings a session what the relay has for it."""

    def riding(self) -> tuple[list[Delivery], str]:
        """What enters with a person's next message, and how it reads. It waits no longer."""
        ...

    def steered(self, delivery_id: str) -> None:
        """The agent has the steering message that was a delivery of the relay's."""
        ...

    def displaced(self, delivery_id: str) -> None:
        """The steering message that was a delivery of the relay's was replaced by a client's."""
        ...

    def turn_ended(self) -> None:
        """A turn is over."""
        ...

    def idle(self) -> None:
        """The session may have become idle."""
        ...

    def disposed(self) -> None:
        """The session is gone: what waits for it fails."""
        ...


class DeferredAction(NamedTuple):
    """An action of a client that waits for the end of the turn."""

    id: str
    action: StateAction
    origin: ActionOrigin


class _DeferredRecord(msgspec.Struct):
    id: str
    action: msgspec.Raw = msgspec.Raw(b"")
    origin: msgspec.Raw = msgspec.Raw(b"")


_read_deferred = msgspec.json.Decoder(_DeferredRecord).decode


def still_deferred(rows: list[StoredRow]) -> list[DeferredAction]:
    """The actions that wait for the end of a turn, by their records."""
    deferred: dict[str, DeferredAction] = {}
    for row in rows:
        record = _read_deferred(row.action)
        if not record.action:
            deferred.pop(record.id, None)
            continue
        action = wire.decode(bytes(record.action), StateAction)
        origin = wire.decode(bytes(record.origin), ActionOrigin)
        deferred[record.id] = DeferredAction(record.id, action, origin)
    return list(deferred.values())


class Door:
    """Lets messages into one session and keeps the records of it.

    Args:
        core: The session.
        ledger: Where deliveries are written down.
        agent: The number of the identity that the session's agent has.
        agent_id: Its id.
    """

    def __init__(self, core: SessionCore, ledger: Ledger, agent: int, agent_id: str) -> None:
        self._core = core
        self._ledger = ledger
        self._agent = agent
        self._agent_id = agent_id

    def enter(
        self, said: UserMessage, sender: str, mode: DeliveryMode, metadata: dict[str, Any] | None = None
    ) -> Delivery:
        """Record that a message wants in. It is committed with whatever else happens now.

        Secrets in it are masked already: all that is dispatched, or said by an agent, passed the redactor.
        """
        core, delivery_id, now = self._core, self._core.new_id(), self._ledger.now
        record = DeliveryRecord(
            id=delivery_id,
            message_id=delivery_id,
            agent=self._agent_id,
            mode=mode,
            reason=DeliveryReason.DM,
            metadata={"sender": sender, **(metadata or {})},
            created_at=now,
            updated_at=now,
        )
        core.telemetry.entered(delivery_id, mode, record.reason)
        self._ledger.create(record, self._agent, of_message=False)
        return self.delivery(record, said)

    def delivery(self, record: DeliveryRecord, said: UserMessage) -> Delivery:
        """A delivery whose message came over AHP."""
        core, sender = self._core, str(record.metadata.get("sender", "client"))
        agent = core.live.head.summary.provider
        message = relay_message(
            record.id, said, sender=sender, agent=agent, session=core.uri, mode=record.mode, now=core.now()
        )
        return Delivery(record, message)

    def handing(self, record: DeliveryRecord, turn_id: str, told: dict[str, str]) -> DeliveryRecord:
        """Record that the message is about to leave for the agent, and which turn it begins."""
        return self._ledger.handing(record, turnId=turn_id, **told)

    def receipt(
        self, record: DeliveryRecord, receipt: MessageReceipt, *, own: bool = False
    ) -> DeliveryRecord:
        """Record what became of a delivery; `own` when the host says so, and not the agent.

        What a client said is not tried again: the client hears that its turn has failed, and may repeat it.
        """
        if record.message_id == record.id and isinstance(receipt, Deferred | Failed):
            why = receipt.reason or "deferred"
            receipt = Failed(delivery_id=record.id, reason=why, metadata=receipt.metadata)
        self._core.telemetry.receipt(record.id, receipt)
        return self._ledger.settle(record, receipt, own=own)

    def delivered(self, record: DeliveryRecord, evidence: str, **more: str) -> DeliveryRecord:
        """Record that a message is in the agent's input, and how that is known."""
        metadata = {"evidence": evidence, **more}
        return self.receipt(record, Delivered(delivery_id=record.id, metadata=metadata), own=True)

    def failed(self, record: DeliveryRecord, reason: str) -> DeliveryRecord:
        """Record that a delivery has failed."""
        return self.receipt(record, Failed(delivery_id=record.id, reason=reason), own=True)

    def answered(self, record: DeliveryRecord) -> None:
        """Record what came of the turn that a message has entered."""
        self._ledger.put(record)

    async def records(self, delivery_ids: Sequence[str]) -> list[DeliveryRecord]:
        """What is known of deliveries."""
        return [record for one in delivery_ids for record in await self._ledger.read("delivery", one)]

    def defer(self, action: StateAction, origin: ActionOrigin) -> DeferredAction:
        """Record that an action waits for the end of the turn: it must not be lost with the host."""
        deferred = DeferredAction(self._core.new_id(), action, origin)
        record = {"id": deferred.id, "action": wire.to_json(action), "origin": wire.to_json(origin)}
        self._core.journal.record(deferred_channel(self._core.uri), msgspec.json.encode(record))
        return deferred

    def applied(self, deferred_id: str) -> None:
        """Record that an action waits no longer."""
        self._core.journal.record(deferred_channel(self._core.uri), msgspec.json.encode({"id": deferred_id}))
