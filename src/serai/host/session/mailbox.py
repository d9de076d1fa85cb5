"""The messages that enter a session: each is a delivery, with its record in the ledger and its receipts.

Messages of clients and of the relay are rows of one ledger, committed together with what they are about. AHP
shows the waiting ones in the session's state, as queued messages and the one steering message. The mailbox
knows which delivery each of them is; and why one is refused: too many wait already (`mailbox_full`), or the
agent takes none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PendingMessage, PendingMessageKind, SessionState, UserMessage
from serai.contract import (
    Accepted,
    AgentSessionCapabilities,
    Deferred,
    Delivered,
    DeliveryMode,
    DeliveryReason,
    DeliveryRecord,
    Failed,
    MessageReceipt,
    refusal,
)
from serai.host.identities import Participant
from serai.host.ledger import Ledger
from serai.host.session.core import SessionCore
from serai.host.session.deliveries import Delivery, Postman, relay_message, user_message

_MODES = {
    PendingMessageKind.QUEUED: (DeliveryMode.ON_IDLE, "idle"),
    PendingMessageKind.STEERING: (DeliveryMode.NEXT_TOOL_CALL, "next-tool-call"),
}
"""Delivery mode of each kind of pending message, and the event that its receipt says it waits for."""


class Waiting(NamedTuple):
    """The place of a pending message in the session's state."""

    kind: str
    id: str


class Mailbox:
    """The deliveries of one session: those that enter, and those that wait behind its pending messages."""

    def __init__(self, core: SessionCore, ledger: Ledger, participant: Participant) -> None:
        self._core = core
        self.ledger = ledger
        self._participant = participant
        self._held: dict[Waiting, Delivery] = {}
        self.postman: Postman | None = None
        """The relay's side of the session."""

    def __bool__(self) -> bool:
        return bool(self._held)

    # -- deliveries ----------------------------------------------------------------------------------------

    def enter(
        self, message: UserMessage, sender: str, mode: DeliveryMode, metadata: dict[str, Any] | None = None
    ) -> Delivery:
        """Record a new delivery. It is committed with whatever else happens now.

        Secrets in it are masked already: all that clients dispatch and agents say has passed the redactor.
        """
        core, delivery_id, now = self._core, self._core.new_id(), self.ledger.now
        record = DeliveryRecord(
            id=delivery_id,
            message_id=delivery_id,
            agent=self._participant.identity.id,
            mode=mode,
            reason=DeliveryReason.DM,
            metadata={"sender": sender, **(metadata or {})},
            created_at=now,
            updated_at=now,
        )
        core.telemetry.entered(delivery_id, mode, record.reason)
        self.ledger.create(record, self._participant.number, of_message=False)
        return self._delivery(record, message)

    def _delivery(self, record: DeliveryRecord, message: UserMessage) -> Delivery:
        carried = relay_message(
            record.id,
            message,
            sender=str(record.metadata.get("sender", "client")),
            agent=self._core.live.head.summary.provider,
            session=self._core.uri,
            mode=record.mode,
            now=self._core.now(),
        )
        return Delivery(record, carried)

    def receipt(
        self, record: DeliveryRecord, receipt: MessageReceipt, *, own: bool = False
    ) -> DeliveryRecord:
        """Record the receipt of a delivery; `own` when it is the host's, and not the agent's.

        A client's message is not tried again: the client hears that its turn has failed, and may repeat it.
        """
        if record.message_id == record.id and isinstance(receipt, Deferred | Failed):
            why = receipt.reason or "deferred"
            receipt = Failed(delivery_id=record.id, reason=why, metadata=receipt.metadata)
        self._core.telemetry.receipt(record.id, receipt)
        return self.ledger.settle(record, receipt, own=own)

    def delivered(self, record: DeliveryRecord, evidence: str, **more: str) -> DeliveryRecord:
        """Record that a message is in the agent's input, and the evidence for it."""
        metadata = {"evidence": evidence, **more}
        return self.receipt(record, Delivered(delivery_id=record.id, metadata=metadata), own=True)

    def failed(self, record: DeliveryRecord, reason: str) -> DeliveryRecord:
        """Record that a delivery has failed."""
        return self.receipt(record, Failed(delivery_id=record.id, reason=reason), own=True)

    async def records(self, delivery_ids: Sequence[str]) -> list[DeliveryRecord]:
        """Read the records of deliveries."""
        return [record for one in delivery_ids for record in await self.ledger.read("delivery", one)]

    # -- what waits ----------------------------------------------------------------------------------------

    def restore(self, held: Iterable[DeliveryRecord], head: SessionState) -> None:
        """Find the deliveries of the pending messages after a restart; one without a record gets one."""
        waiting = [(PendingMessageKind.QUEUED, one) for one in head.queued_messages or ()]
        if head.steering_message is not None:
            waiting.append((PendingMessageKind.STEERING, head.steering_message))
        records = {Waiting(**record.metadata["pendingMessage"]): record for record in held}
        for kind, message in waiting:
            place = Waiting(kind.value, message.id)
            record = records.pop(place, None)
            if record is None:
                self.put(place, message.user_message, "client")
            else:
                self._held[place] = self._delivery(record, message.user_message)
        for record in records.values():
            self.failed(record, "replaced")

    def lend(self, waiting: Waiting, delivery: Delivery) -> None:
        """Give a delivery of the relay the place of a pending message."""
        self._held[waiting] = delivery

    def put(self, waiting: Waiting, message: UserMessage, sender: str) -> None:
        """Let a message wait. A message whose place it takes is not delivered, and gets that receipt."""
        steering = PendingMessageKind.STEERING  # of these there is one at a time
        for other in list(self._held):
            if other == waiting or other.kind == waiting.kind == steering:
                self.drop(other, "replaced")
        mode, waits_for = _MODES[PendingMessageKind(waiting.kind)]
        delivery = self.enter(message, sender, mode, {"pendingMessage": waiting._asdict()})
        accepted = Accepted(delivery_id=delivery.id, metadata={"heldBy": "host", "waitsFor": waits_for})
        self._held[waiting] = delivery._replace(record=self.receipt(delivery.record, accepted, own=True))

    def take(self, waiting: Waiting) -> Delivery | None:
        """Take a delivery out; the caller is responsible for its next receipt."""
        return self._held.pop(waiting, None)

    def take_same(self, message_id: str, message: UserMessage) -> Delivery | None:
        """Take the delivery of the message that waited under an id, if it says just this.

        Other messages under that id leave the state with it, and are not delivered.
        """
        found: Delivery | None = None
        for kind in _MODES:  # the queued one first
            waiting = Waiting(kind, message_id)
            held = self._held.get(waiting)
            if found is None and held is not None and user_message(held.message) == message:
                found = self.take(waiting)
            else:
                self.drop(waiting, "replaced")
        return found

    def drop(self, waiting: Waiting, reason: str) -> None:
        """Give up the delivery of a message that waits."""
        delivery = self.take(waiting)
        if delivery is None:
            return
        if waiting.id != delivery.id:
            self.failed(delivery.record, reason)
        elif self.postman is not None:  # the relay's own: it waits on, elsewhere
            self.postman.displaced(delivery.id)

    def drop_all(self, reason: str) -> None:
        """Give up all deliveries that wait."""
        for waiting in list(self._held):
            self.drop(waiting, reason)


def not_taken(
    action: a.SessionPendingMessageSetAction,
    queue: list[PendingMessage],
    limit: int,
    declared: AgentSessionCapabilities | None,
) -> Judgement | None:
    """Refuse a message that cannot wait here; return `None` when it can.

    Args:
        action: The message and its kind.
        queue: The queued messages.
        limit: Most messages that may be queued.
        declared: The agent's capabilities, as far as they are known.
    """
    if action.kind == PendingMessageKind.QUEUED:
        if len(queue) >= limit and all(message.id != action.id for message in queue):
            return rejected("mailbox_full", f"{len(queue)} messages are waiting already")
        return None
    unable = refusal(declared, DeliveryMode.NEXT_TOOL_CALL) if declared else None
    return rejected(unable.code, str(unable)) if unable else None
