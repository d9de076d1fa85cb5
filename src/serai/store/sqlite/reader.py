"""The reader, on a connection of its own: it sees committed rows, and never waits for a commit."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import count
from typing import Any

from serai.store.contract import EventRow, StoredRow
from serai.store.sqlite.connection import SQL, Database, table_of
from serai.store.sqlite.locator import Tail, numbers_after


class Reader:
    """Reads the database. All methods block and belong to one thread; all may raise `apsw.Error`.

    Args:
        connection: A connection that nobody else uses.
        tail: The numbers that no locator lists yet.
    """

    def __init__(self, connection: Database, tail: Tail) -> None:
        self._db = connection
        self._tail = tail

    def fetch(self, query: str, values: Sequence[Any]) -> list[Any]:
        """Return the rows of a named query."""
        return list(self._db.execute(SQL[query], values))

    def rows(self, channel: str, after: int) -> list[StoredRow]:
        """Return the rows of one channel above a number, ascending."""
        _, numbers = self._find([channel], after)
        if not numbers:
            return []
        found = self._db.execute(SQL["rows_by_number"], (table_of(numbers),))
        return [StoredRow(seq, channel, action, origin) for seq, _, action, origin in found]

    def events(self, uri: str, after: int, limit: int) -> list[EventRow]:
        """Return the first events of a session above a number, ascending; not more than a limit.

        They are counted from the head, in either direction: it has the number of events that it reflects.
        """
        while True:
            head: tuple[int, int] | None = self._db.execute(SQL["counted"], (uri,)).get
            if head is None:
                return []
            last, counted = head
            names, numbers = self._find([uri], last if after >= counted else 0)
            pruned: int = max((self._db.execute(SQL["pruned"], (one,)).get for one in names), default=0)
            if pruned <= last:
                break  # else there is a newer head, and what only that one reflects is gone
        del numbers[: bisect_right(numbers, pruned)]
        first = counted + 1 - bisect_right(numbers, last)
        skipped = max(0, after + 1 - first)
        chosen = numbers[skipped : skipped + limit]
        if not chosen:
            return []
        places = dict(zip(chosen, count(first + skipped)))
        found = self._db.execute(SQL["times_by_number"], (table_of(chosen),))
        return [EventRow(places[seq], at, action) for seq, at, action in found]

    def replay(
        self, channels: Sequence[str], after: int, until: int, max_rows: int, max_bytes: int
    ) -> list[StoredRow] | None:
        """Return the rows of some channels between two numbers; `None` when too many or not all there."""
        names, numbers = self._find(channels, after)
        while numbers and numbers[-1] > until:
            numbers.pop()
        if len(numbers) > max_rows:
            return None
        rows: list[StoredRow] = []
        found = self._db.execute(SQL["rows_by_number"], (table_of(numbers),)) if numbers else ()
        for seq, channel, action, origin in found:
            max_bytes -= len(action) + len(origin or b"")
            if max_bytes < 0:
                return None
            rows.append(StoredRow(seq, names[channel], action, origin))
        # At last, for rows may be pruned at any moment before, and a mark only ever moves forward.
        if any((self._db.execute(SQL["pruned"], (channel,)).get or 0) > after for channel in names):
            return None
        return rows

    def _find(self, channels: Sequence[str], after: int) -> tuple[dict[int, str], array[int]]:
        """Return the names of channels by their ids, and their numbers above one, ascending.

        The tail is copied first: a locator that is written after that lists its numbers once more, while the
        other way round they could be missed.
        """
        names: dict[int, str] = {}
        for name in channels:
            channel: int | None = self._db.execute(SQL["channel_id"], (name,)).get
            if channel is not None:
                names[channel] = name
        tails = self._tail.copy(names)
        found = array("q")
        with self._db:  # one moment for all channels
            for channel, tail in zip(names, tails, strict=True):
                locators = self._db.execute(SQL["locators"], (channel, after))
                found.extend(numbers_after(after, (data for (data,) in locators), tail))
        return names, found if len(names) == 1 else array("q", sorted(found))
