"""Delivers messages: checks what a session can do, applies the policy, finds the boundary, keeps the receipt.

Each recipient has a queue. The queue takes a delivery and answers at once: the message is in a turn, or waits
for its boundary. What happens to it later is settled in the same ledger.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from msgspec.structs import replace

from serai import contract as c
from serai.config.settings import Inbound
from serai.errors import CapabilityUnsupported, UnknownDelivery
from serai.host.identities import Participant
from serai.host.ledger import ALL, ms
from serai.relay import WorkspacePart
from serai.relay.delivery.policy import Rates, choose_mode, retry_at
from serai.relay.delivery.queue import DeliveryQueue

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_log = logging.getLogger(__name__)

_DUE_AT_ONCE = 200
_AFTER_FAILURE = timedelta(seconds=5)
_LONGEST_TIMER = 60
"""Longest wait for the clock, in seconds: it may have been set meanwhile, or the machine was asleep."""

_MOVING = frozenset({c.DeliveryState.DEFERRED, c.DeliveryState.HANDING})
"""The states in which a delivery is due at a moment of its own."""

_Awaited: TypeAlias = "asyncio.Future[c.DeliveryRecord | None]"
"""Future of a record that has reached a stage; `None` when that took too long."""


class Runner(WorkspacePart):
    """Brings messages to their recipients: the page's `DeliveryRunner`, with `cancel` beside it."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self.committed = self._journal.committed
        ledger, policy = self._ledger, self._policy
        self._max_age = policy.max_age
        self._queue_of = workspace.queue_of
        self._rates = Rates()
        ledger.settled = self.changed
        ledger.retry_at = lambda record: retry_at(policy, record, ledger.now)
        self._waiting_for: dict[str, dict[_Awaited, c.WaitFor]] = {}
        self._due: asyncio.TimerHandle | None = None
        self._due_at: datetime | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    # -- delivering ----------------------------------------------------------------------------------------

    def hops_of(self, sender: Participant, parent: c.RelayMessage | None) -> int:
        """Return the number of messages, since a person spoke, that led to this one, itself included."""
        if sender.is_person:
            return 0
        before: int = parent.metadata.get("hops", 0) if parent else 0
        return max(before, self._queue_of(sender).hops) + 1

    def deliver(
        self,
        message: c.RelayMessage,
        recipient: Participant,
        reason: c.DeliveryReason,
        sender: Participant,
        params: c.SendParams | c.ReplyParams,
        *,
        hops: int = 0,
        redelivery_of: str | None = None,
    ) -> c.DeliveryRecord:
        """Begin the delivery of one message to one participant. Returns the record as it is then.

        Raises:
            CapabilityUnsupported: See `check`. Nothing was written down.
        """
        now = self._ledger.now
        queue = self._queue_of(recipient)
        kind = sender.identity.kind
        mode = self._mode(queue, recipient, sender, params)
        message = self.adapted(message, queue)
        problem = self._refused(recipient, sender, hops, now) if mode else "refused_by_policy"
        mode = mode or c.DeliveryMode.IMMEDIATE
        record = c.DeliveryRecord(
            id=self._new_id("dlv"),
            message_id=message.id,
            agent=recipient.identity.id,
            mode=mode,
            requested_mode=params.mode if params.mode != mode else None,
            reason=reason,
            priority=params.priority,
            deadline=params.deadline,
            expires_at=now + self._max_age,
            hops=hops,
            redelivery_of=redelivery_of,
            created_at=now,
            updated_at=now,
        )
        self._ledger.create(record, recipient.number)
        self._set_timer(record.due)
        is_held = self._policy.inbound.get(kind or c.IdentityKind.AGENT) == Inbound.HOLD
        if problem is None and not queue.has_room:
            problem = "mailbox_full"
        if problem is not None:
            return self._ledger.settle(record, c.Failed(delivery_id=record.id, reason=problem), own=True)
        if is_held:
            queue.count("approval")
            held = {"heldBy": "host", "waitsFor": "approval"}
            return self._ledger.settle(record, c.Accepted(delivery_id=record.id, metadata=held), own=True)
        return queue.take(record, message)

    def check(
        self, recipients: Iterable[Participant], sender: Participant, params: c.SendParams | c.ReplyParams
    ) -> None:
        """Check that all recipients can be delivered a message in the way that is asked for.

        Raises:
            CapabilityUnsupported: One of them has no such mode, or takes no images.
        """
        has_image = any(isinstance(one, c.ImageAttachment) for one in params.attachments)
        for recipient in recipients:
            queue = self._queue_of(recipient)
            self._mode(queue, recipient, sender, params)
            if has_image and self._policy.images == "fail":
                c.require(queue.capabilities, c.ContentType.IMAGE, agent=recipient.handle)

    def _mode(
        self,
        queue: DeliveryQueue,
        recipient: Participant,
        sender: Participant,
        params: c.SendParams | c.ReplyParams,
    ) -> c.DeliveryMode | None:
        able, kind, agent = queue.capabilities, sender.identity.kind, recipient.handle
        return choose_mode(self._policy, params.mode, able, kind, is_busy=queue.is_busy, agent=agent)

    def adapted(self, message: c.RelayMessage, queue: DeliveryQueue) -> c.RelayMessage:
        """Return a message without images, if the session takes none."""
        if not message.attachments or c.supports(queue.capabilities, c.ContentType.IMAGE):
            return message
        attachments = tuple(
            c.TextAttachment(
                text=f"[an image, {one.label or 'without a name'}: this session takes no images]"
            )
            if isinstance(one, c.ImageAttachment)
            else one
            for one in message.attachments
        )
        return replace(message, attachments=attachments)

    def _refused(self, recipient: Participant, sender: Participant, hops: int, now: datetime) -> str | None:
        """Return the reason why the policy refuses a message; `None` if it does not."""
        kind = sender.identity.kind or c.IdentityKind.AGENT
        if self._policy.inbound.get(kind) == Inbound.REFUSE:
            return "refused_by_policy"
        if hops > self._policy.max_hops:
            return "hop_limit"
        is_agent = kind == c.IdentityKind.AGENT
        if is_agent and not self._rates.allow(sender.number, recipient.number, now, self._policy.rate):
            return "rate_limited"
        return None

    # -- retrying, flushing, cancelling --------------------------------------------------------------------

    async def record(self, delivery_id: str) -> c.DeliveryRecord:
        """Return the record of a delivery.

        Raises:
            UnknownDelivery: There is none.
        """
        for record in await self._ledger.read("delivery", delivery_id):
            return record
        raise UnknownDelivery(f"there is no delivery {delivery_id!r}")

    async def retry(self, delivery_id: str) -> c.DeliveryRecord:
        """Try a delivery again now. A final one keeps its receipt, a held one stays held.

        Raises:
            UnknownDelivery: There is none.
            CapabilityUnsupported: It came over AHP.
        """
        async with self._ledger.reading("delivery", delivery_id) as found:
            for record, message in found:
                check_kept(record, "retry")
                is_late = record.state == c.DeliveryState.DEFERRED
                return self._offer_again(record, message) if is_late else record
        raise UnknownDelivery(f"there is no delivery {delivery_id!r}")

    def _offer_again(
        self, record: c.DeliveryRecord, message: c.RelayMessage | None, mode: c.DeliveryMode | None = None
    ) -> c.DeliveryRecord:
        """Offer a delivery once more, unless it is on its way."""
        if not record.is_open or (record.state == c.DeliveryState.HANDING and not self._has_lapsed(record)):
            return record
        if message is None:  # it came over AHP, and its sender knows of the failure
            return self._ledger.settle(
                record, c.Failed(delivery_id=record.id, reason="not_tried_again"), own=True
            )
        queue = self._queue_of(self._identities.get(record.agent))
        message = self.adapted(message, queue)
        if record.state == c.DeliveryState.HANDING:
            return queue.take(record, message)
        queue.drop(record)
        if mode is not None:
            asked = record.requested_mode or (record.mode if record.mode != mode else None)
            record = replace(
                record, mode=mode, requested_mode=asked, metadata=record.metadata | {"flushed": True}
            )
        return queue.take(record, message)

    async def flush(
        self,
        agent: Participant,
        mode: c.DeliveryMode | None = None,
        delivery_id: str | None = None,
        *,
        approves: bool,
    ) -> list[c.DeliveryRecord]:
        """Let what waits for a participant, or one delivery of it, enter as soon as it can.

        Deliveries that wait for an approval enter only if the caller is a person, who `approves` them.
        """
        async with self._ledger.reading("waiting_deliveries", agent.number, "", ALL) as found:
            return [
                self._offer_again(record, message, c.DeliveryMode.ON_IDLE)
                for record, message in found
                if mode in {None, record.mode}
                and delivery_id in {None, record.id}
                and (approves or record.waits_for != "approval")
            ]

    def cancel(self, record: c.DeliveryRecord, why: str | None = None) -> c.DeliveryRecord:
        """Cancel a delivery. One that is final, or on its way to its agent, stays as it is."""
        check_kept(record, "cancel")
        if not record.is_open or record.state == c.DeliveryState.HANDING:
            return record
        return self.give_up(record, why)

    def give_up(self, record: c.DeliveryRecord, why: str | None = None) -> c.DeliveryRecord:
        """Cancel an open delivery, also one that is on its way."""
        self.drop(record, "cancelled")
        metadata = {"why": why} if why else {}
        return self._ledger.settle(
            record, c.Failed(delivery_id=record.id, reason="cancelled", metadata=metadata)
        )

    def drop(self, record: c.DeliveryRecord, why: str | None = None) -> None:
        """Take a delivery out of its recipient's queue; with `why` it is over for good."""
        self._queue_of(self._identities.get(record.agent)).drop(record, why)

    # -- waiting for an outcome ----------------------------------------------------------------------------

    async def outcomes(
        self, records: Sequence[c.DeliveryRecord], stage: c.WaitFor, seconds: float
    ) -> list[c.DeliveryRecord]:
        """Wait until each delivery has reached a stage or is final, or the time is up.

        Cancelling changes nothing.

        The records are current, including changes that are not committed yet; what is returned is committed.

        Raises:
            StorageUnavailable: Nothing can be written now.
        """
        loop = asyncio.get_running_loop()
        awaited: dict[str, _Awaited] = {}
        for record in records:
            if not _has_come(record, stage):
                future = awaited[record.id] = loop.create_future()
                self._waiting_for.setdefault(record.id, {})[future] = stage
        if not awaited:
            await self.committed(patient=False)
            return list(records)
        timer = loop.call_later(seconds, _release, awaited.values())
        try:
            # The results are committed, and so is all before them.
            found = {delivery_id: await future for delivery_id, future in awaited.items()}
            if not all(found.values()):
                await self.committed(patient=False)
            return [found.get(one.id, one) or await self.record(one.id) for one in records]
        finally:
            timer.cancel()
            for delivery_id, future in awaited.items():
                waiting = self._waiting_for[delivery_id]
                del waiting[future]
                if not waiting:
                    del self._waiting_for[delivery_id]

    def stop_waiting(self) -> None:
        """Return what is known to all who wait for an outcome, because the host stops."""
        for waiting in self._waiting_for.values():
            _release(waiting)

    def changed(self, record: c.DeliveryRecord) -> None:
        """Wake those who wait for a delivery whose record has changed and is committed."""
        if (
            record.state in _MOVING
        ):  # the other states become due at moments that are known from the beginning
            self._set_timer(record.due)
        for future, stage in self._waiting_for.get(record.id, {}).items():
            if not future.done() and _has_come(record, stage):
                future.set_result(record)

    # -- timers --------------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Attend to what is due, including what became due while there was no host."""
        if self._due is not None:
            self._due.cancel()
        self._start_due_work()

    def close(self) -> None:
        """Cancel all timers."""
        if self._due is not None:
            self._due.cancel()
        for task in self._tasks:
            task.cancel()

    def _set_timer(self, moment: datetime | None) -> None:
        """Set the timer for a moment, unless it is set for an earlier one."""
        if moment is None or (self._due_at is not None and self._due_at <= moment):
            return
        if self._due is not None:
            self._due.cancel()
        self._due_at = moment
        wait = max(0.0, (moment - self._ledger.now).total_seconds())
        self._due = asyncio.get_running_loop().call_later(min(wait, _LONGEST_TIMER), self._start_due_work)

    def _start_due_work(self) -> None:
        self._due = self._due_at = None
        task = asyncio.create_task(self._process_due())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _process_due(self) -> None:
        """Do what is due: end what has waited too long, try again what was deferred."""
        now = again = self._ledger.now
        async with self._ledger.reading("due_deliveries", ms(now), _DUE_AT_ONCE) as found:
            for record, message in found:
                try:
                    self._process(record, message, now)
                except Exception:  # noqa: BLE001 - one failure does not stop the others
                    _log.exception("%s was not attended to, and is soon", record.id)
                    again = now + _AFTER_FAILURE
        await self.committed()
        ((soonest,),) = await self._store.relay("next_due")
        if soonest is not None:
            self._set_timer(max(again, datetime.fromtimestamp(soonest / 1000, UTC)))

    def _process(self, record: c.DeliveryRecord, message: c.RelayMessage | None, now: datetime) -> None:
        if not record.is_open:
            return
        if record.state == c.DeliveryState.HANDING:
            if self._has_lapsed(record):  # until then the program that has it may answer
                self._offer_again(record, message)
        elif record.deadline is not None and record.deadline <= now:
            self.drop(record, "deadline_exceeded")
            self._ledger.settle(record, c.Failed(delivery_id=record.id, reason="deadline_exceeded"))
        elif record.expires_at is not None and record.expires_at <= now:
            self.drop(record, "expired")
            self._ledger.settle(record, c.Failed(delivery_id=record.id, reason="expired"))
        elif record.state == c.DeliveryState.DEFERRED:
            self._offer_again(record, message)

    def _has_lapsed(self, record: c.DeliveryRecord) -> bool:
        return record.lease_until is not None and record.lease_until <= self._ledger.now


def check_kept(record: c.DeliveryRecord, operation: str) -> None:
    """Check that the relay keeps the message of a delivery.

    Raises:
        CapabilityUnsupported: It came over AHP: its message is in the session's queue, or was never kept.
    """
    if record.message_id == record.id:
        remedy = "It came over AHP: take it back there, or send it again"
        raise CapabilityUnsupported("delivery.state", operation, remedy=remedy)


def _release(waiting: Iterable[_Awaited]) -> None:
    """Resolve futures that nobody needs to wait for any longer."""
    for future in waiting:
        if not future.done():
            future.set_result(None)


def _has_come(record: c.DeliveryRecord, stage: c.WaitFor) -> bool:
    if record.state == c.DeliveryState.FAILED:
        return True
    match stage:
        case c.WaitFor.ACCEPTED:
            return True  # it is stored
        case c.WaitFor.DELIVERED:
            return record.state == c.DeliveryState.DELIVERED
        case c.WaitFor.ANSWERED:
            return record.answer is not None
