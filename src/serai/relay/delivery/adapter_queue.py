"""The queue of a session elsewhere, and the three ways in which messages get there.

    over the connection that registered   the relay asks `receiveMessage`; the answer is a receipt
    to the URL that was registered        the same, as a signed post
    by `deliveries.take`                  for programs that fetch, or work through a queue

In each of them, `handing` is committed with a lease before a message leaves. A message without a receipt at
the end of the lease is offered again under the same id. So nothing is lost, and an adapter that remembers the
ids it has seen surfaces nothing twice.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec.structs import replace

from serai import contract as c
from serai.errors import ConnectionLost, LeaseLost, Offline, SeraiError
from serai.host.identities import Participant
from serai.host.ledger import ALL, record_of
from serai.host.session.deliveries import Delivery
from serai.host.session.turns import MOST_OF_ANSWER
from serai.relay.delivery.queue import DeliveryQueue
from serai.relay.events.session_events import status_events
from serai.relay.events.webhooks import post_signed
from serai.relay.links import HostEnd

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_log = logging.getLogger(__name__)

_WINDOW = 64
"""Most messages that may be on their way over one connection."""
_OFFLINE_LEAST, _OFFLINE_MOST = timedelta(seconds=30), timedelta(hours=1)
_AWAY = frozenset(
    {c.AgentStatus.OFFLINE, c.AgentStatus.STARTING, c.AgentStatus.RELEASED, c.AgentStatus.FAILED}
)

_OPEN = "open"
"""Key of the only count: that of all open deliveries."""
_SOONEST = timedelta(milliseconds=100)
"""Shortest time before a message that a harness has deferred is offered again."""
_OWN_WORDS = frozenset({"heldBy", "waitsFor", "answer"})
"""Words of a receipt's metadata that only the relay sets, or that are stored beside the receipt."""


class AdapterQueue(DeliveryQueue):
    """The queue of a session elsewhere."""

    def __init__(self, workspace: Workspace, participant: Participant) -> None:
        super().__init__(workspace, participant)
        self._adapted = workspace.runner.adapted
        self._publish = workspace.observer.publish_reported
        self._status = c.AgentStatus.OFFLINE
        self._hops = 0
        self._link: HostEnd | None = None
        self._on_the_way: dict[str, c.DeliveryRecord] = {}
        """All deliveries in the state `handing`, by their ids."""
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._backlog = False
        """True while the tables may have deliveries that can be offered."""
        self._reading = asyncio.Lock()
        self._pumping: asyncio.Task[None] | None = None
        self._arrived = asyncio.Event()

    # -- the interface for the runner ----------------------------------------------------------------------

    @property
    def status(self) -> c.AgentStatus:
        """The status that the session has reported, or that follows from its connection."""
        return self._status

    @property
    def hops(self) -> int:
        """See `DeliveryQueue.hops`."""
        return self._hops

    def count(self, waits_for: str, number: int = 1) -> None:  # noqa: ARG002 - one count for all
        """See `DeliveryQueue.count`."""
        super().count(_OPEN, number)

    @property
    def capabilities(self) -> c.AgentSessionCapabilities:
        """The capabilities that the session declared."""
        declared = self.participant.capabilities
        if declared is None:
            raise ValueError(f"{self.participant.handle} has not registered")
        return declared

    @property
    def is_busy(self) -> bool:
        """True while the session reports that it works."""
        return self.status == c.AgentStatus.ACTIVE

    def take(self, record: c.DeliveryRecord, message: c.RelayMessage) -> c.DeliveryRecord:
        """Offer a message now, or hold it until that is possible."""
        if record.id in self._on_the_way:
            return self._lapsed(record)
        if record.state == c.DeliveryState.CREATED:
            self.count(_OPEN)
        if record.held_by == "adapter" and self._link is not None:
            self._host.run(self._ask_about("flush", record))
            return record
        return self._held_for(record) or self._hand_over([Delivery(record, message)])[0].record

    def _held_for(self, record: c.DeliveryRecord) -> c.DeliveryRecord | None:
        """Hold a delivery that has to wait, and return its record; return `None` if it can leave now."""
        is_idle = record.mode == c.DeliveryMode.ON_IDLE
        if record.mode == c.DeliveryMode.MANUAL:
            return self._hold(record, "flush")
        if self.status == c.AgentStatus.PAUSED and not is_idle:
            return self._hold(record, "turn")
        if not self._can_leave and self.status in _AWAY:
            return self._defer(record)
        if is_idle and not self._is_safe:
            return self._hold(record, "idle")
        if not self._can_leave:
            return self._hold(record, "take")
        if self._backlog or self._reading.locked() or not self._room:
            self._backlog = True
            self._pump()
            is_new = record.state == c.DeliveryState.CREATED
            return record if is_new and not is_idle else self._hold(record, "idle" if is_idle else "turn")
        return None

    def drop(self, record: c.DeliveryRecord, why: str | None = None) -> None:
        """Forget a delivery. With `why` it is over for good, and the adapter that holds it is told."""
        self._forget(record.id)
        if why is None:
            return
        self.count(_OPEN, -1)
        if record.held_by == "adapter" and self._link is not None:
            self._host.run(self._ask_about("cancel", record, why))

    # -- conditions for leaving ----------------------------------------------------------------------------

    @property
    def _is_safe(self) -> bool:
        """True while deliveries that wait for idle may be offered."""
        if self.status == c.AgentStatus.OFFLINE and self._link is None:
            return True  # only an offer shows whether it is there
        return self.status == c.AgentStatus.IDLE or self.status in self._policy.safe_states

    @property
    def _can_leave(self) -> bool:
        return self._link is not None or self.participant.url is not None

    @property
    def _room(self) -> int:
        """Number of messages that may leave now. Posts leave one by one, so that they arrive in order."""
        return max(0, (_WINDOW if self._link is not None else 1) - len(self._on_the_way))

    @property
    def lease_seconds(self) -> float:
        """Length of a lease, in seconds."""
        return self.participant.lease_seconds or self._policy.lease.total_seconds()

    # -- holding -------------------------------------------------------------------------------------------

    def _hold(self, record: c.DeliveryRecord, waits_for: str) -> c.DeliveryRecord:
        metadata = {"heldBy": "host", "waitsFor": waits_for, "mode": record.mode.value}
        held = self._ledger.settle(record, c.Accepted(delivery_id=record.id, metadata=metadata), own=True)
        if waits_for in {"idle", "take"}:
            self._pump()
        return held

    def _defer(self, record: c.DeliveryRecord, reason: str = "offline") -> c.DeliveryRecord:
        """Defer a delivery to a session that cannot be reached, for as long as it has waited already."""
        self._backlog = True
        now = self._ledger.now
        wait = min(max(now - record.created_at, _OFFLINE_LEAST), _OFFLINE_MOST)
        receipt = c.Deferred(
            delivery_id=record.id,
            available_at=now + wait,
            reason=reason,
            metadata={"heldBy": "host", "waitsFor": "connection"},
        )
        return self._ledger.settle(record, receipt)

    def _forget(self, delivery_id: str) -> None:
        """Stop counting a delivery as on its way."""
        self._on_the_way.pop(delivery_id, None)
        task = self._asking.pop(delivery_id, None)
        if task is not None and task is not asyncio.current_task():
            task.cancel()

    # -- offering ------------------------------------------------------------------------------------------

    def _hand_over(self, entries: Iterable[Delivery], *, fetched: bool = False) -> list[Delivery]:
        """Store that messages are about to leave, and send them once that is committed."""
        handed: list[Delivery] = []
        for record, message in entries:
            leased = replace(record, lease_until=self._lease_end(), held_by=None)
            via = "take" if fetched else "connection" if self._link is not None else "url"
            record = self._ledger.hand_over(leased, via=via, lease=secrets.token_hex(8))  # noqa: PLW2901 - the same delivery
            self._on_the_way[record.id] = record
            entry = Delivery(record, message)
            handed.append(entry)
            if not fetched:
                self._host.journal.then(lambda _number, entry=entry: self._send(entry))
        return handed

    def _lease_end(self) -> datetime:
        return self._ledger.now + timedelta(seconds=self.lease_seconds)

    def offer(self, entry: Delivery) -> c.DeliveryOffer:
        """Return a message in the form in which it is offered."""
        record = entry.record
        modes = self.capabilities.delivery.modes
        context = entry.context
        if context.mode not in modes:  # it was flushed
            context = replace(context, mode=record.requested_mode or c.DeliveryMode.MANUAL)
        return c.DeliveryOffer(
            agent=self.participant.handle,
            message=entry.message,
            context=context,
            lease=str(record.evidence["lease"]),
            lease_until=record.lease_until or self._lease_end(),
        )

    def _send(self, entry: Delivery) -> None:
        """Send a message, now that it is committed that it is about to leave."""
        if self._on_the_way.get(entry.id) is not entry.record:
            return  # it was cancelled meanwhile, or the connection has changed
        self._asking[entry.id] = asyncio.create_task(self._ask(entry))

    async def _ask(self, entry: Delivery) -> None:
        """Offer a message over the connection, or post it, and store the receipt."""
        link, url = self._link, self.participant.url
        try:
            if link is not None:
                told = await link.request("receiveMessage", self.offer(entry))
                receipt: c.MessageReceipt = c.convert(told, c.MessageReceipt)
            else:
                secret = self.participant.secret or ""
                answer = await post_signed(url or "", self.offer(entry), secret, self.lease_seconds)
                # An empty answer means that the receipt comes later.
                receipt = c.decode(answer, c.MessageReceipt) if answer else c.Accepted(delivery_id=entry.id)
        except ConnectionLost as error:
            # With a connection, its end defers all that was on its way.
            if link is None and (record := self._on_the_way.get(entry.id)) is not None:
                self._forget(entry.id)
                self._defer(_without_last_attempt(record), error.message)
                self._set_status(c.AgentStatus.OFFLINE, error.message)
            return
        except SeraiError as error:
            receipt = c.Failed(delivery_id=entry.id, reason=error.message, retryable=True)
        if link is None:
            self._reached()
        if (record := self._on_the_way.get(entry.id)) is not None:
            self._settle(record, receipt)

    def _settle(self, record: c.DeliveryRecord, receipt: c.MessageReceipt) -> c.DeliveryRecord:
        """Store the session's receipt. Only the relay says who holds a delivery, and what it waits for."""
        told = _stored_receipt(record, receipt, self._ledger.now)
        if isinstance(told, c.Delivered):
            self._hops = record.hops
        return self._settled(self._answered(self._ledger.settle(record, told), receipt))

    def _settled(self, record: c.DeliveryRecord) -> c.DeliveryRecord:
        """Let the next delivery leave, since this one is not on its way any more."""
        self._forget(record.id)
        if not record.is_open:
            self.count(_OPEN, -1)
        self._pump()
        return record

    def _answered(self, record: c.DeliveryRecord, receipt: c.MessageReceipt) -> c.DeliveryRecord:
        """Return the record with the answer that a receipt, or its repeat, contains, unless it has one."""
        told: Any = receipt.metadata.get("answer")
        if told is None or record.state != c.DeliveryState.DELIVERED or record.answer is not None:
            return record
        fields: Any = {"text": told} if isinstance(told, str) else told
        try:
            answer = msgspec.convert({"turnId": record.id, "state": "complete", **fields}, c.DeliveryAnswer)
        except (msgspec.ValidationError, TypeError):
            return record  # the message is delivered nevertheless
        masked = self._host.redactor.redact_value(answer, observed=True)
        cut = replace(masked, text=masked.text[:MOST_OF_ANSWER])
        answered = replace(record, answer=cut, updated_at=self._ledger.now)
        self._ledger.put(answered)
        return answered

    def _lapsed(self, seen: c.DeliveryRecord) -> c.DeliveryRecord:
        """Offer a message again whose lease is over, later each time."""
        record = self._on_the_way[seen.id]
        if record.lease_until is None or record.lease_until > self._ledger.now:
            return record  # it was offered again, or its lease was renewed
        no_answer = c.Failed(delivery_id=record.id, reason="no_answer", retryable=True)
        return self._settled(self._ledger.settle(record, no_answer, own=True))

    # -- deliveries in the tables --------------------------------------------------------------------------

    def _pump(self) -> None:
        """Start offering what waits, as far as there is room, and wake the programs that fetch."""
        self._arrived.set()
        is_pumping = self._pumping is not None and not self._pumping.done()
        # Refilled when half empty, so that one look at the tables finds several.
        if not is_pumping and len(self._on_the_way) <= _WINDOW // 2 and self._has_more:
            self._pumping = asyncio.create_task(self._offer_what_waits())

    @property
    def _has_more(self) -> bool:
        """True while the tables may have something that can be offered now."""
        is_open = self._can_leave and self.status != c.AgentStatus.PAUSED
        return is_open and self._backlog and self._room > 0

    async def _offer_what_waits(self) -> None:
        while self._has_more:
            async with self._reading:
                link = self._link
                entries = await self._offerable(self._room)
                # Messages of an earlier connection are offered before those that were found meanwhile.
                if self._link is link and self._can_leave:
                    self._hand_over(entries)
                else:
                    self._backlog = True

    async def _offerable(self, room: int) -> list[Delivery]:
        """Return what can be offered now, in order. What comes in meanwhile is left to the next call."""
        number, entries = self.participant.number, list[Delivery]()
        self._backlog = False  # a message that comes from here on sets it, and may not be found
        async with self._ledger.reading("offers_of_agent", number, self._is_safe, room) as found:
            offers = list(found)
        self._backlog = self._backlog or len(offers) == room
        for record, message in offers:
            if message is None or record.id in self._on_the_way or not record.is_open:
                continue
            if record.mode == c.DeliveryMode.ON_IDLE and not self._is_safe:
                if record.waits_for != "idle":
                    self._hold(record, "idle")
                continue
            entries.append(Delivery(record, self._adapted(message, self)))
        return entries

    async def fetch(self, limit: int, seconds: float) -> tuple[c.DeliveryOffer, ...]:
        """Return what can be offered now to a program that fetches; if there is nothing, wait for it.

        Cancelling while it waits takes nothing.
        """
        self._reached()
        until = asyncio.get_running_loop().time() + seconds
        while True:
            self._arrived.clear()
            async with self._reading:
                found = await self._offerable(limit) if self.status != c.AgentStatus.PAUSED else []
                handed = self._hand_over(found, fetched=True)
            if handed:
                return tuple(map(self.offer, handed))
            try:
                async with asyncio.timeout_at(until):
                    await self._arrived.wait()
            except TimeoutError:
                return ()

    # -- later receipts and leases -------------------------------------------------------------------------

    def _check_lease(self, record: c.DeliveryRecord, lease: str | None, link: HostEnd | None) -> None:
        """Refuse a program whose delivery was given to another one since."""
        holds = record.evidence.get("lease")
        is_other = lease is not None and lease != holds
        was_asked = record.evidence.get("via") == "connection"
        if is_other or (lease is None and was_asked and link is not None and link is not self._link):
            raise LeaseLost(
                f"{record.id} was offered again, since no receipt came in time",
                remedy="Do nothing: the program that has it now answers",
            )

    async def receipt(
        self, delivery_id: str, receipt: c.MessageReceipt, lease: str | None, link: HostEnd | None
    ) -> c.DeliveryRecord:
        """Store a receipt. Repeating the last one changes nothing.

        Raises:
            LeaseLost: The lease ran out, and the message was offered elsewhere.
            DeliveryFinal: The delivery is over, and ended otherwise.
        """
        record = self._on_the_way.get(delivery_id)
        if record is not None:
            self._check_lease(record, lease, link)
            return self._settle(record, receipt)
        record = next(iter(await self._ledger.read("delivery", delivery_id)), None)
        if record is None or delivery_id in self._on_the_way:
            raise LeaseLost(f"{delivery_id} was offered again, since no receipt came in time")
        if record.is_open:
            return self._settle(record, receipt)
        return self._answered(self._ledger.settle(record, receipt), receipt)

    def extend(self, delivery_id: str, lease: str | None, link: HostEnd | None) -> c.DeliveryRecord:
        """Renew a lease.

        Raises:
            LeaseLost: The delivery is not on its way to the caller.
        """
        record = self._on_the_way.get(delivery_id)
        if record is None:
            raise LeaseLost(f"{delivery_id} is not on its way any more", remedy="Take deliveries again")
        self._check_lease(record, lease, link)
        longer = replace(record, lease_until=self._lease_end(), updated_at=self._ledger.now)
        self._on_the_way[delivery_id] = longer
        self._ledger.put(longer)
        return longer

    # -- requests to the adapter ---------------------------------------------------------------------------

    async def _ask_about(self, method: str, record: c.DeliveryRecord, reason: str | None = None) -> None:
        """Ask the adapter to surface what it holds (`flush`), or to give it up (`cancel`)."""
        if (link := self._link) is None:
            return
        held = c.HeldParams(agent=self.participant.handle, delivery_id=record.id, reason=reason)
        try:
            answer = await link.request(method, held)
            for receipt in c.convert(answer, list[c.MessageReceipt]) if method == "flush" else ():
                await self.receipt(receipt.delivery_id or record.id, receipt, None, link)
        except SeraiError as error:
            _log.info("%s did not %s %s: %s", self.participant.handle, method, record.id, error)

    async def operate(self, operation: c.LifecycleOperation, reason: str | None) -> dict[str, Any]:
        """Ask the session to do something as a whole, and return its answer.

        Raises:
            Offline: It is not connected, or does not answer.
            ProtocolError: It refuses.
        """
        if self._link is None:
            raise Offline(f"{self.participant.handle} is not connected", remedy="Try again when it is")
        params = c.OperationParams(agent=self.participant.handle, reason=reason)
        try:
            async with asyncio.timeout(self.lease_seconds):
                told = c.convert(await self._link.request(operation.value, params), dict[str, Any])
        except (ConnectionLost, TimeoutError):
            raise Offline(f"{self.participant.handle} does not answer") from None
        if operation == c.LifecycleOperation.PAUSE:
            self._set_status(c.AgentStatus.PAUSED, reason)
        elif operation == c.LifecycleOperation.RESUME and self.status == c.AgentStatus.PAUSED:
            self._set_status(c.AgentStatus.IDLE)
        return told

    # -- connecting and disconnecting ----------------------------------------------------------------------

    async def recover(self) -> None:
        """Go on after a restart: what was fetched may still be answered, all else is offered again."""
        for row in await self._store.relay("entries_of_session", self.participant.number):
            record = record_of(row)
            if record.state == c.DeliveryState.HANDING:
                self._on_the_way[record.id] = record
        self._recall("the host was stopped")
        await self._recall_held()

    def registered(self, participant: Participant, link: HostEnd | None) -> None:
        """Take in a registration: over a connection, with a URL, or for fetching."""
        self.participant = participant
        if link is not None and participant.url is None:
            if link is not self._link:
                self._link = link
                link.when_closed(lambda: self._disconnected(link))
                self._recall("reconnected")
                self._host.run(self._recall_held())
        else:
            self._link = None
        self._reached()

    def _reached(self) -> None:
        """Note that the session can be reached, and offer what waited for that."""
        if self.status in _AWAY:
            self._backlog = True
            self._set_status(c.AgentStatus.IDLE)
        self._pump()

    def _disconnected(self, link: HostEnd) -> None:
        if self._link is link:
            self._link = None
            self._recall("offline")
            if self.status != c.AgentStatus.PAUSED:  # a paused session stays so until it is resumed
                self._set_status(c.AgentStatus.OFFLINE, "the connection is over")

    def _recall(self, reason: str) -> None:
        """Offer again what was on its way over a connection that is over. That was no attempt."""
        for record in list(self._on_the_way.values()):
            if record.evidence.get("via") != "take":
                self._forget(record.id)
                self._defer(_without_last_attempt(record), reason)
        self._backlog = True

    async def _recall_held(self) -> None:
        """Offer again what an earlier connection held. A program that holds it still recognises its id."""
        async with self._reading:
            number = self.participant.number
            async with self._ledger.reading("waiting_deliveries", number, "adapter", ALL) as found:
                for record, _ in found:
                    if record.waits_for == "adapter":
                        self._ledger.put(replace(record, held_by=None, waits_for="connection"))
            self._backlog = True
        self._pump()

    def unregistered(self) -> None:
        """End the session's part in the workspace."""
        self._stop()
        self._link = None
        self._set_status(c.AgentStatus.RELEASED)

    async def close(self) -> None:
        """Offer nothing more."""
        self._stop()

    def _stop(self) -> None:
        for task in (self._pumping, *self._asking.values()):
            if task is not None:
                task.cancel()

    # -- reports of the session ----------------------------------------------------------------------------

    def report(self, events: Iterable[c.AgentSessionEvent]) -> c.ReportResult:
        """Pass on the events that the session observed, as far as it declared them."""
        declared = self.capabilities.events.emits
        tells_status = any(one.family == "status" for one in declared)
        passed_on, undeclared = 0, dict[str, None]()
        for event in events:
            if isinstance(event, c.StatusEvent) and tells_status:
                self._set_status(event.status, event.reason)
            elif not isinstance(event, c.StatusEvent) and event.type.is_live and event.type in declared:
                self._publish(self.participant, [event])
            else:
                undeclared[event.type.value] = None
                continue
            passed_on += 1
        return c.ReportResult(passed_on=passed_on, undeclared=tuple(undeclared))

    def _set_status(self, status: c.AgentStatus, reason: str | None = None) -> None:
        before = self.status
        if status == before:
            return
        self._status = status
        self._backlog = self._backlog or before == c.AgentStatus.PAUSED or self._is_safe
        self._publish(self.participant, status_events(status, before, reason))
        if (
            self._is_safe and status != c.AgentStatus.OFFLINE
        ):  # otherwise it is tried when something is due or comes in
            self._pump()


def _without_last_attempt(record: c.DeliveryRecord) -> c.DeliveryRecord:
    """Return a record whose last attempt does not count, because nobody was there."""
    return replace(record, attempts=max(0, record.attempts - 1))


def _stored_receipt(record: c.DeliveryRecord, receipt: c.MessageReceipt, now: datetime) -> c.MessageReceipt:
    """Return a receipt as it is stored. One that names another delivery is a retryable failure."""
    if receipt.delivery_id not in {None, record.id}:
        return c.Failed(delivery_id=record.id, reason="receipt_of_another_delivery", retryable=True)
    own = {key: value for key, value in receipt.metadata.items() if key not in _OWN_WORDS}
    match receipt:
        case c.Accepted():
            return replace(receipt, metadata={**own, "heldBy": "adapter", "waitsFor": "adapter"})
        case c.Delivered():
            via = record.evidence.get("via", "receipt")
            return replace(receipt, metadata={"evidence": "receipt", "via": via, **own})
        case c.Deferred():
            at = max(receipt.available_at, now + _SOONEST)
            return replace(receipt, delivery_id=record.id, available_at=at, metadata=own)
        case c.Failed():
            return replace(receipt, delivery_id=record.id, metadata=own)
