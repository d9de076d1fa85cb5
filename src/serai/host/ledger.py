"""The ledger: the record of all deliveries, and of the workspace's events.

A delivery is a row of the relay's tables and some events in the journal, written in one transaction with
whatever else happens then. Nobody hears of it before.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import replace

from serai.contract import (
    Deferred,
    DeliveryRecord,
    DeliveryState,
    Failed,
    MessageReceipt,
    Priority,
    RelayMessage,
    decode,
    encode,
    settled,
    to_wire,
)
from serai.journal.batches import Writes
from serai.journal.journal import Journal
from serai.redact import Redactor
from serai.store.contract import RelayWrite

RELAY = "serai-relay"
"""The channel of the relay's events."""
ALL = 1 << 62
"""A limit that no number of rows reaches."""
_NUMBERED = 10_000


def ms(moment: datetime | None) -> int | None:
    """Convert a moment to milliseconds since 1970."""
    return None if moment is None else round(moment.timestamp() * 1000)


def record_of(row: Sequence[Any]) -> DeliveryRecord:
    """Return the record of a row of deliveries."""
    seq, record, *_ = row
    return replace(decode(record, DeliveryRecord), sequence=seq)


Found: TypeAlias = tuple[DeliveryRecord, RelayMessage | None]
"""A delivery, and its message where that is the relay's and was asked for."""


class Ledger:
    """Records the relay's events and the deliveries.

    Args:
        journal: The journal that keeps both.
        redactor: Masks secrets in the words of harnesses.
        now: The clock, in milliseconds since 1970.
    """

    def __init__(self, journal: Journal, redactor: Redactor, now: Callable[[], int]) -> None:
        self.store = journal.store
        self.heard: Callable[[int, dict[str, Any]], None] = lambda _number, _event: None
        """Called with each event and its number, once it is committed."""
        self.settled: Callable[[DeliveryRecord], None] = lambda _record: None
        """Called with each changed record, once it is committed."""
        self.retry_at: Callable[[DeliveryRecord], datetime | None] = lambda _record: None
        """Returns when a failed delivery is tried again; `None` for never."""
        self._journal = journal
        self._redactor = redactor
        self._now = now
        self._last_look = 0, datetime.fromtimestamp(0, UTC)
        self._watching: list[dict[str, DeliveryRecord]] = []
        self.sequences: OrderedDict[str, int] = OrderedDict()
        """The numbers of the newest deliveries, by their ids."""
        self._unwritten: dict[str, DeliveryRecord] = {}
        """Changed deliveries: each is written once, as it is when the next transaction begins."""

    @property
    def now(self) -> datetime:
        """The present time."""
        now = self._now()
        if now != self._last_look[0]:
            self._last_look = now, datetime.fromtimestamp(now / 1000, UTC)
        return self._last_look[1]

    def event(
        self,
        kind: str,
        data: dict[str, Any],
        *,
        actor: str | None = None,
        subject: str | None = None,
        writes: Writes = (),
        delivery: DeliveryRecord | None = None,
        at: datetime | None = None,
    ) -> None:
        """Record an event, and the changes of tables that belong to it.

        Args:
            kind: Its type, such as `message.created`.
            data: Its content. Messages and deliveries are named by their ids.
            actor: The id of the participant that caused it.
            subject: The id of the participant that it is about.
            writes: The changes of tables.
            delivery: The delivery that has changed with it: its waiters hear of it before all others.
            at: Its time; by default now.
        """
        event: dict[str, Any] = {"type": kind, "at": at or self.now, "data": data}
        if actor is not None:
            event["actor"] = actor
        if subject is not None:
            event["subject"] = subject

        def tell(number: int) -> None:
            if delivery is not None:
                if delivery.state == DeliveryState.CREATED:
                    self._numbered(delivery.id, number)
                else:
                    self.settled(delivery)
            self.heard(number, event)

        self._journal.record(RELAY, msgspec.json.encode(event), writes=writes, committed=tell)

    # -- deliveries ----------------------------------------------------------------------------------------

    def create(self, record: DeliveryRecord, agent: int, *, of_message: bool = True) -> None:
        """Record a new delivery.

        Args:
            record: Its record.
            agent: The number of its recipient.
            of_message: Whether its message is one of the relay's. Else the session has the message.
        """
        message = record.message_id if of_message else None
        urgent = record.priority == Priority.URGENT
        self._unwritten[record.id] = record

        def add() -> RelayWrite:
            return RelayWrite("add_delivery", (message, agent, urgent, *self._written(record.id)))

        data = {"deliveryId": record.id, "messageId": record.message_id, "mode": record.mode}
        at = record.created_at
        self.event("delivery.created", data, subject=record.agent, writes=add, delivery=record, at=at)

    def _numbered(self, delivery_id: str, number: int) -> None:
        self.sequences[delivery_id] = number
        if len(self.sequences) > _NUMBERED:
            self.sequences.popitem(last=False)

    def _written(self, delivery_id: str) -> tuple[Any, ...]:
        """Return the row of a delivery, now that the transaction begins."""
        record = self._unwritten.pop(delivery_id)
        waits, due = record.waits_for or "", ms(record.due)
        return record.id, record.is_open, record.state, waits, due, encode(record)

    def _write(self, record: DeliveryRecord) -> Writes:
        """Let the next transaction write a changed delivery."""
        for seen in self._watching:
            seen[record.id] = record
        is_to_come = record.id in self._unwritten
        self._unwritten[record.id] = record
        return () if is_to_come else lambda: RelayWrite("put_delivery", self._written(record.id))

    @asynccontextmanager
    async def reading(self, query: str, *values: Any) -> AsyncGenerator[Iterator[Found]]:
        """Find deliveries by a query, each as it is when its turn comes.

        Later changes are in no table yet. So the caller acts on a delivery before anything is awaited.
        """
        seen: dict[str, DeliveryRecord] = {}
        self._watching.append(seen)
        try:
            await self._journal.committed()
            rows = [(record_of(row), row[2:]) for row in await self.store.relay(query, *values)]
            yield (
                (seen.get(record.id, record), decode(more[0], RelayMessage) if any(more) else None)
                for record, more in rows
            )
        finally:
            self._watching = [one for one in self._watching if one is not seen]

    async def read(self, query: str, *values: Any) -> list[DeliveryRecord]:
        """Return the deliveries that a query finds, as they are now."""
        async with self.reading(query, *values) as found:
            return [record for record, _ in found]

    def put(self, record: DeliveryRecord) -> None:
        """Record a changed delivery, without an event."""
        writes = self._write(record)
        self._journal.record(RELAY, b"", writes=writes, committed=lambda _: self.settled(record), kept=False)

    def write_table(self, write: RelayWrite) -> None:
        """Write to a table without an event."""
        self._journal.record(RELAY, b"", writes=[write], kept=False)

    def settle(self, record: DeliveryRecord, receipt: MessageReceipt, *, own: bool = False) -> DeliveryRecord:
        """Record a receipt, and publish its event. Secrets in a harness's words are masked.

        Args:
            record: The delivery.
            receipt: The receipt.
            own: Whether the receipt is the host's own, without the words of others.

        Raises:
            DeliveryFinal: It has its last receipt already, and this one is another one.
        """
        told = receipt if own else self._redactor.redact_value(receipt, observed=True)
        retry_at = self.retry_at(record) if isinstance(told, Failed) else None
        changed = settled(record, told, now := self.now, retry_at=retry_at)
        if changed is record:
            return record
        data: dict[str, Any] = {"deliveryId": record.id, "messageId": record.message_id}
        match told:
            case Deferred(available_at=available_at, reason=reason):
                data |= {"availableAt": available_at} | ({"reason": reason} if reason else {})
            case Failed(reason=reason):
                data |= {"reason": reason} | ({"retryable": True} if changed.is_open else {})
            case _:
                pass
        if told.metadata:
            data["metadata"] = told.metadata if own else to_wire(told)["metadata"]
        self.event(
            f"delivery.{told.status}",
            data,
            subject=record.agent,
            writes=self._write(changed),
            delivery=changed,
            at=now,
        )
        return changed

    def hand_over(self, record: DeliveryRecord, **evidence: Any) -> DeliveryRecord:
        """Record that a message is about to leave for its agent, and the evidence to look for."""
        changed = replace(
            record,
            state=DeliveryState.HANDING,
            attempts=record.attempts + 1,
            evidence=evidence,
            waits_for=None,
            updated_at=self.now,
        )
        self.put(changed)
        return changed
