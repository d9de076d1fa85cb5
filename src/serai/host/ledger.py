"""The record of everything that enters a session, and of what the workspace hears of it.

A delivery is a row of the relay's tables and some events in the journal, written in one transaction: with
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
"""The channel on which the relay's events stand."""
ALL = 1 << 62
"""As many rows as there are."""
_NUMBERED = 10_000


def ms(moment: datetime | None) -> int | None:
    """A moment in milliseconds since 1970."""
    return None if moment is None else round(moment.timestamp() * 1000)


def record_of(row: Sequence[Any]) -> DeliveryRecord:
    """The record that a row of deliveries holds."""
    seq, record, *_ = row
    return replace(decode(record, DeliveryRecord), sequence=seq)


Found: TypeAlias = tuple[DeliveryRecord, RelayMessage | None]
"""A delivery, and its message where that is one of the relay's and was asked for."""


class Ledger:
    """Writes the relay's events, and what is kept of deliveries.

    Args:
        journal: Where both go.
        redactor: Masks secrets in what harnesses say.
        now: The clock, in milliseconds since 1970.
    """

    def __init__(self, journal: Journal, redactor: Redactor, now: Callable[[], int]) -> None:
        self.store = journal.store
        self.heard: Callable[[int, dict[str, Any]], None] = lambda _number, _event: None
        """Is called with each event and its number, once it is committed."""
        self.settled: Callable[[DeliveryRecord], None] = lambda _record: None
        """Is called with each record that has changed, once that is committed."""
        self.retry_at: Callable[[DeliveryRecord], datetime | None] = lambda _record: None
        """When a delivery that failed is tried again; `None` for never."""
        self._journal = journal
        self._redactor = redactor
        self._now = now
        self._last_look = 0, datetime.fromtimestamp(0, UTC)
        self._watching: list[dict[str, DeliveryRecord]] = []
        self.sequences: OrderedDict[str, int] = OrderedDict()
        """The numbers of the deliveries that were created last, by their ids."""
        self._unwritten: dict[str, DeliveryRecord] = {}
        """What has changed of deliveries: each is written once, as it is when the next transaction begins."""

    @property
    def now(self) -> datetime:
        """The time."""
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
        """Record an event, with what it changes.

        Args:
            kind: Its type, such as `message.created`.
            data: What it says. A message and a delivery are named by their ids.
            actor: The id of who did it.
            subject: The id of whom it is about.
            writes: What changes with it.
            delivery: The delivery that has changed with it: who waits for that knows it before anyone hears.
            at: When it happens; now, if nothing is said.
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

        self._journal.record(RELAY, msgspec.json.encode(event), writes=writes, told=tell)

    # -- deliveries ----------------------------------------------------------------------------------------

    def create(self, record: DeliveryRecord, agent: int, *, of_message: bool = True) -> None:
        """Write down a delivery that begins.

        Args:
            record: What is known of it.
            agent: The number of the identity that it is for.
            of_message: Whether its message is one of the relay's. Else it stands in its session.
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
        """What is written of a delivery, now that the transaction begins."""
        record = self._unwritten.pop(delivery_id)
        waits, due = record.waits_for or "", ms(record.due)
        return record.id, record.is_open, record.state, waits, due, encode(record)

    def _write(self, record: DeliveryRecord) -> Writes:
        """Have the next transaction write what has changed of a delivery."""
        for seen in self._watching:
            seen[record.id] = record
        is_to_come = record.id in self._unwritten
        self._unwritten[record.id] = record
        return () if is_to_come else lambda: RelayWrite("put_delivery", self._written(record.id))

    @asynccontextmanager
    async def reading(self, query: str, *values: Any) -> AsyncGenerator[Iterator[Found]]:
        """The deliveries that a query finds, each as it is when its turn comes.

        What changed meanwhile is in no table yet. So whoever acts on one does it before anything is awaited.
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
        """The deliveries that a query finds, as they are now."""
        async with self.reading(query, *values) as found:
            return [record for record, _ in found]

    def put(self, record: DeliveryRecord) -> None:
        """Write down what has changed of a delivery, without an event."""
        writes = self._write(record)
        self._journal.record(RELAY, b"", writes=writes, told=lambda _: self.settled(record), kept=False)

    def quietly(self, write: RelayWrite) -> None:
        """Write something down that nobody hears of."""
        self._journal.record(RELAY, b"", writes=[write], kept=False)

    def settle(self, record: DeliveryRecord, receipt: MessageReceipt, *, own: bool = False) -> DeliveryRecord:
        """Write down a receipt, and tell of it. What a harness says in it has its secrets masked.

        Args:
            record: What is known of the delivery.
            receipt: What became of it.
            own: Whether the receipt is the host's own, so that nobody else's words are in it.

        Raises:
            DeliveryFinal: It has its last receipt already, and this one says something else.
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

    def handing(self, record: DeliveryRecord, **evidence: Any) -> DeliveryRecord:
        """Write down that a message is about to leave for its agent, and what will show that it got there."""
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
