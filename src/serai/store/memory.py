"""A store that keeps everything in dictionaries: for tests, and for hosts that may forget.

It keeps the contract in all but one thing: nothing survives the process. Closing and opening it again behaves
like a restart of the host, and `crash` like the loss of one.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from serai.errors import Fenced, SeraiError, StorageUnavailable
from serai.store.contract import (
    Batch,
    BlobRow,
    ClientRow,
    EventRow,
    HeadRow,
    Opening,
    SessionRow,
    StoredRow,
    TurnRow,
    day_of,
    failed,
    first_day_kept,
    settled,
)
from serai.store.sqlite import relay

__all__ = ["MemoryStore"]

# How many numbers are set aside at a time; after a crash the rest of a block is never given out.
_BLOCK = 1 << 20


@dataclass(slots=True)
class _Turn:
    row: TurnRow
    truncated: bool = False


class MemoryStore:
    """A `Store` without a disk. Cancelling any of its methods is harmless: none of them waits.

    Args:
        block: How many numbers are set aside at a time.
        now: The clock, in seconds since 1970.
    """

    def __init__(self, *, block: int = _BLOCK, now: Callable[[], float] = time.time) -> None:
        self.failure: SeraiError | None = None
        """What `append` raises, until it is `None` again. Nothing is written then."""
        self._block = block
        self._now = now
        # The next number to be given out, and the first one that is not set aside.
        self._next = 1
        self._ceiling = 1
        self._clean = True
        self._open = False
        self._gaps: list[tuple[int, int]] = []
        # All rows in their order, and their numbers for searching.
        self._rows: list[StoredRow] = []
        self._numbers: list[int] = []
        self._times: dict[int, int] = {}
        # The first number of each day, ascending, and the last number of each channel that was pruned.
        self._days: dict[int, int] = {}
        self._pruned: dict[str, int] = {}
        self._sessions: dict[str, SessionRow] = {}
        self._disposed: set[str] = set()
        self._heads: dict[str, HeadRow] = {}
        self._turns: defaultdict[str, dict[int, _Turn]] = defaultdict(dict)
        self._marks: dict[str, int] = {}
        self._clients: dict[str, ClientRow] = {}
        self._blobs: dict[str, BlobRow] = {}

    @cached_property
    def _tables(self) -> relay.Database:
        """The relay's tables, and the turns that it searches: the same SQL as on a disk."""
        return relay.open_in_memory()

    async def open(self) -> Opening:
        """See `Store`."""
        opening = Opening(self._last(), self._next if self._clean else self._ceiling, self._clean)
        self._next = opening.first_new
        self._ceiling = self._next + self._block
        self._gaps.append((opening.last_committed, opening.first_new))
        self._clean, self._open = False, True
        self._note_day(opening.first_new)
        return opening

    async def close(self) -> None:
        """See `Store`."""
        if self._open:
            self._clean, self._open = True, False

    def crash(self) -> None:
        """Stop as a killed process does: the next `open` is not a clean one."""
        self._open = False

    def append(self, batch: Batch) -> asyncio.Future[int]:
        """See `Store`."""
        try:
            return settled(self._append(batch))
        except (SeraiError, ValueError) as error:
            return failed(error)

    def _append(self, batch: Batch) -> int:
        if not self._open:
            raise StorageUnavailable("the store is not open")
        if self.failure is not None:
            raise self.failure
        self._refuse(batch)
        first = self._next
        self._next += len(batch.items)
        if self._next > self._ceiling:
            self._ceiling = self._next + self._block
        self._note_day(first)
        at = round(self._now() * 1000)
        for seq, row in enumerate(batch.items, first):
            if row is not None:
                self._rows.append(StoredRow(seq, *row))
                self._numbers.append(seq)
                self._times[seq] = at
        self._write_sessions(batch, first)
        self._marks.update(batch.marks)
        self._clients.update((client.client_id, client) for client in batch.clients)
        for blob in batch.blobs:
            self._blobs.setdefault(blob.digest, blob._replace(session=None))
        if batch.turns:
            relay.add_turns(self._tables, batch.turns)
        if batch.relay:
            relay.write(self._tables, batch.relay, first)
        return first

    def _note_day(self, first: int) -> None:
        today = day_of(self._now())
        if today > max(self._days, default=0):
            self._days[today] = first

    def _refuse(self, batch: Batch) -> None:
        for uri, epoch in batch.epochs.items():
            stored = self._sessions.get(uri)
            if stored is not None and stored.epoch != epoch:
                raise Fenced(f"{uri} is owned under epoch {stored.epoch}, not {epoch}")
        places = [(turn.uri, turn.ordinal) for turn in batch.turns]
        if len(set(places)) < len(places) or any(place in self._turns[uri] for uri, place in places):
            raise ValueError("the ordinal of a turn was used before")
        if any(not -1 <= head.seq < len(batch.items) for head in batch.heads):
            raise ValueError("a head reflects an item that is not in its batch")

    def _write_sessions(self, batch: Batch, first: int) -> None:
        self._sessions.update((session.uri, session) for session in batch.sessions)
        for uri, ordinal in batch.truncations:
            for place, turn in self._turns[uri].items():
                turn.truncated |= place >= ordinal
        for turn in batch.turns:
            self._turns[turn.uri][turn.ordinal] = _Turn(turn)
        for head in batch.heads:
            self._heads[head.uri] = head._replace(seq=first + head.seq)
        self._disposed.update(batch.disposed)

    # -- reading -------------------------------------------------------------------------------------------

    async def sessions(self) -> list[SessionRow]:
        """See `Store`."""
        listed = [row for uri, row in self._sessions.items() if uri not in self._disposed]
        return sorted(listed, key=lambda row: (-row.modified_at, row.uri))

    async def head(self, uri: str) -> HeadRow | None:
        """See `Store`."""
        return self._heads.get(uri)

    async def turns(self, uri: str, *, before: int | None = None, limit: int | None = None) -> list[TurnRow]:
        """See `Store`."""
        kept = [turn.row for _, turn in sorted(self._turns[uri].items()) if not turn.truncated]
        if before is not None:
            kept = [row for row in kept if row.ordinal < before]
        return kept if limit is None else kept[max(0, len(kept) - limit) :]

    async def rows(self, channel: str, after: int) -> list[StoredRow]:
        """See `Store`."""
        start = bisect_right(self._numbers, after)
        return [row for row in self._rows[start:] if row.channel == channel]

    async def events(self, uri: str, after: int, limit: int) -> list[EventRow]:
        """See `Store`."""
        head = self._heads.get(uri)
        if head is None:
            return []
        rows = await self.rows(uri, 0)
        first = head.events + 1 - sum(row.seq <= head.seq for row in rows)
        skipped = max(0, after + 1 - first)
        chosen = rows[skipped : skipped + limit]
        return [
            EventRow(number, self._times[row.seq], row.action)
            for number, row in enumerate(chosen, first + skipped)
        ]

    async def replay(
        self, channels: Sequence[str], *, after: int, until: int, max_rows: int, max_bytes: int
    ) -> list[StoredRow] | None:
        """See `Store`."""
        wanted = set(channels)
        if any(self._pruned.get(channel, 0) > after for channel in wanted):
            return None
        span = self._rows[bisect_right(self._numbers, after) : bisect_right(self._numbers, until)]
        rows = [row for row in span if row.channel in wanted]
        size = sum(len(row.action) + len(row.origin or b"") for row in rows)
        return rows if len(rows) <= max_rows and size <= max_bytes else None

    async def gaps(self) -> list[tuple[int, int]]:
        """See `Store`."""
        return list(self._gaps)

    async def client(self, client_id: str) -> ClientRow | None:
        """See `Store`."""
        return self._clients.get(client_id)

    async def mark(self, client_id: str) -> int:
        """See `Store`."""
        return self._marks.get(client_id, 0)

    async def blob(self, digest: str) -> BlobRow | None:
        """See `Store`."""
        return self._blobs.get(digest)

    async def relay(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        """See `Store`."""
        return relay.read(self._tables, query, values)

    # -- care ----------------------------------------------------------------------------------------------

    async def index_words(self) -> bool:
        """See `Store`."""
        return relay.index_words(self._tables)

    async def prune(self, days: int, *, whole: Collection[str] = ()) -> list[str]:
        """See `Store`."""
        first_day = first_day_kept(self._now(), days)
        if not self._open:
            raise StorageUnavailable("the store is not open")
        later = (first for day, first in self._days.items() if day >= first_day)
        old = bisect_right(self._numbers, next(later, self._next) - 1)
        limits = dict.fromkeys(whole, self._next) | {uri: head.seq for uri, head in self._heads.items()}
        kept: list[StoredRow] = []
        behind: set[str] = set()
        for row in self._rows[:old]:
            if row.seq <= limits.get(row.channel, 0):
                self._pruned[row.channel] = row.seq
                del self._times[row.seq]
                continue
            kept.append(row)
            if row.channel in self._heads:
                behind.add(row.channel)
        self._rows[:old] = kept
        self._numbers[:old] = [row.seq for row in kept]
        return sorted(behind)

    async def check(self, *, full: bool) -> list[str]:  # noqa: ARG002 - there is only one depth here
        """See `Store`."""
        return []

    def _last(self) -> int:
        return max(self._numbers[-1] if self._numbers else 0, *self._pruned.values(), 0)
