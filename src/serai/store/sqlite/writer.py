"""The writer of batches: one transaction each, on one connection, in one thread."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import apsw

from serai.errors import Fenced, StorageFailed, StorageUnavailable
from serai.store.contract import Batch, Opening, Row, day_of
from serai.store.sqlite import relay
from serai.store.sqlite.connection import SQL, Database, beside, write_fault
from serai.store.sqlite.file import HighWater
from serai.store.sqlite.locator import Group, Tail
from serai.store.sqlite.migrations import MIGRATIONS, Migration
from serai.store.sqlite.prune import Piece, delete, find


@dataclass(frozen=True, slots=True)
class Tuning:
    """The configuration of a store."""

    block: int = 1 << 20
    """Numbers that are set aside at a time; after a crash the rest of a block is never given out."""
    locator_interval: int = 4_000
    """Rows after which the tail is written to locators."""
    checkpoint_pages: int = 2_000
    """New pages in the log after which a checkpoint runs: about 4 MB."""
    migrations: Sequence[Migration] = MIGRATIONS
    """The schema's history."""
    vfs: str | None = None
    """The file system layer of SQLite; `None` for the default one."""
    now: Callable[[], float] = time.time
    """The clock, in seconds since 1970."""


_ROWS_PER_STATEMENT = 64

# Only every so often it is looked up how much was written: whoever waits for a batch is not kept waiting.
_COMMITS_UNTOLD = 10

# What was written without a sync gets one after this time.
_SYNC_AFTER = 1.0

_INSERT = SQL["insert_rows"]
_VALUES = _INSERT[_INSERT.index("VALUES ") + len("VALUES ") :]
_INSERTS = [_INSERT + f", {_VALUES}" * more for more in range(_ROWS_PER_STATEMENT)]
_VALUES_PER_ROW = 5
_VALUES_PER_STATEMENT = _VALUES_PER_ROW * _ROWS_PER_STATEMENT


class Writer:
    """Writes the database. All methods block, and belong to one thread.

    Args:
        connection: A connection to the database; nobody else writes.
        tail: The tail, which gets the numbers after each commit, for readers.
        path: The database file; `None` when it is in memory.
        tuning: The configuration of the store.
        committed: Called now and then with the number of pages written in all.
    """

    def __init__(
        self,
        connection: Database,
        tail: Tail,
        path: Path | None,
        tuning: Tuning,
        committed: Callable[[int], None] = lambda _pages: None,
    ) -> None:
        self._path = path
        self._high_water = HighWater(path)
        self._db = connection
        self._tail = tail
        self._committed = committed
        self._block = tuning.block
        self._interval = tuning.locator_interval
        self._clock = time.monotonic
        self._now = tuning.now
        # Held while a batch is written, for the one method that other threads may call.
        self._lock = Lock()
        # The next number to be given out, and the first one that is not set aside on the disk.
        self._next: int = 1
        self._ceiling: int = 1
        # The last day whose first number is written down. A clock that goes back begins no other day.
        self._day: int = 0
        self._channels: dict[str, int] = {}
        self._epochs: dict[str, int | None] = {}
        # Whether commits sync now, and since when something is committed but not synced.
        self._full = True
        self._unsynced_since: float | None = None
        self._log: int | None = None
        # How many commits were not told of yet.
        self._commits = 0
        self.failure: StorageFailed | None = None
        """The reason why nothing is written any more. Another thread may set it."""

    # -- opening and closing -------------------------------------------------------------------------------

    def begin(self, *, has_log: bool = True) -> Opening:
        """Find the tail, set numbers aside and record the start.

        Args:
            has_log: Whether the log was there before the database was opened.

        Raises:
            apsw.Error: The database cannot be read or written.
            OSError: The high-water mark cannot be written.
        """
        state: tuple[int, int, int] = self._db.execute(SQL["state"]).get
        _, located, clean = state
        last: int = max(self._db.execute(SQL[query]).get for query in ("last_number", "last_pruned"))
        log_lost = self._high_water.misses_log(state[0], clean=bool(clean), has_log=has_log)
        # Only damage can put a row beyond the ceiling. It must not lead to a second one of the same number.
        ceiling: int = max(state[0], last + 1, self._high_water.read())
        self._tail.add((channel, [seq]) for seq, channel in self._db.execute(SQL["tail"], (located,)))
        opening = Opening(last, ceiling, bool(clean) and not log_lost, log_lost)
        self._day = int(self._db.execute(SQL["last_day"]).get)
        day = self._new_day()
        with self._db:
            self._db.execute(SQL["open_state"], (ceiling + self._block,))
            self._db.execute(SQL["add_opening"], (last, ceiling))
            # Of rows from before days were counted nobody knows the age: they count from the first day on.
            self._write_day(day, ceiling if self._day else 0)
        self._day = day or self._day
        self._next = ceiling
        self._ceiling = ceiling + self._block
        self._high_water.write(self._ceiling)
        if self._path is not None:
            # The log exists now. SQLite holds no lock on it, so a descriptor of our own disturbs nothing.
            self._log = os.open(beside(self._path, "-wal"), os.O_RDONLY)
        return opening

    def end(self) -> None:
        """Record a clean stop, unless it is not known what was written."""
        with contextlib.suppress(apsw.Error, OSError):  # then the next start is not a clean one
            self._high_water.write(self._next)
            if self.failure is None:
                self._sync_with(full=True)
                self._db.execute(SQL["close_state"], (self._next,))
        if self._log is not None:
            os.close(self._log)
            self._log = None

    # -- writing -------------------------------------------------------------------------------------------

    def append(self, batch: Batch) -> int:
        """Write a batch and return the number of its first item.

        Raises:
            Fenced: A session has another epoch; nothing was written.
            StorageFailed: It is not known what was written, now or earlier.
            StorageUnavailable: Nothing was written; the same batch may be tried again.
            ValueError: A turn's ordinal was used before, or a head names an item that is not there.
        """
        with self._lock:
            return self._append(batch)

    def take_numbers(self, batch: Batch) -> int | None:
        """Append a batch that needs nothing but numbers; return `None` for any other.

        It does not block: any thread may call it.

        Raises:
            Fenced: A session has another epoch.
            StorageFailed: It is not known what was written earlier.
        """
        if _has_content(batch) or not self._lock.acquire(blocking=False):
            return None
        try:
            if (
                self._next + len(batch.items) > self._ceiling
                or not batch.epochs.keys() <= self._epochs.keys()
            ):
                return None
            return self._append(batch)
        finally:
            self._lock.release()

    def _append(self, batch: Batch) -> int:
        if self.failure is not None:
            raise self.failure
        first = self._next
        after = first + len(batch.items)
        self._refuse(batch)
        crossing = after > self._ceiling
        if not crossing and not _has_content(batch):
            self._next = after
            return first
        # Some are always left, for what is told while the disk is full.
        crossing = crossing or (batch.durable and self._ceiling - after < self._block // 2)
        ceiling = after + self._block if crossing else self._ceiling
        if crossing:
            self._raise_high_water(ceiling)
        now = self._clock()
        waiting = self._unsynced_since
        durable = batch.durable or crossing or (waiting is not None and now - waiting >= _SYNC_AFTER)
        day = self._new_day()
        groups, located = self._transact(
            batch, first, durable=durable, ceiling=ceiling if crossing else None, day=day
        )
        self._next, self._ceiling = after, ceiling
        self._day = day or self._day
        self._commits += 1
        self._unsynced_since = None if durable else now if waiting is None else waiting
        self._channels.update((name, channel) for name, (channel, _) in groups.items())
        for session in batch.sessions:
            self._epochs[session.uri] = session.epoch
        if located:
            self._tail.clear()
        else:
            self._tail.add(groups.values())
        return first

    def _raise_high_water(self, ceiling: int) -> None:
        try:
            self._high_water.write(ceiling)
        except OSError as error:
            raise StorageUnavailable(
                f"the mark beside the database cannot be written now ({error.strerror})",
                remedy="Make room on its disk, or check its permissions",
            ) from error

    def _transact(
        self, batch: Batch, first: int, *, durable: bool, ceiling: int | None, day: int | None
    ) -> tuple[dict[str, Group], bool]:
        """Write and commit. Returns the numbers of channels by name, and whether they are in locators."""
        committing = False
        try:
            self._sync_with(full=durable)
            groups, values = self._sort(batch.items, first)
            located = bool(values) and len(self._tail) + len(values) // _VALUES_PER_ROW >= self._interval
            alone = not located and ceiling is None and day is None and not batch.has_more
            if alone and not self._db.in_transaction and len(values) <= _VALUES_PER_STATEMENT:
                # The one statement is a transaction by itself: the shortest way for a stream of deltas.
                committing = True
                self._insert(values)
                return groups, False
            self._begin()
            self._insert(values)
            if located:
                self._write_locators(groups.values())
            if ceiling is not None:
                self._db.execute(SQL["raise_ceiling"], (ceiling,))
            self._write_day(day, first)
            self._write_more(batch, first)
            committing = True
            self._db.execute("COMMIT")
        except apsw.ConstraintError as error:
            self._roll_back()
            raise ValueError(
                f"the ordinal of a turn was used before, or a value is wrong ({error})"
            ) from error
        except apsw.Error as error:
            raise self._fault(error, committing=committing) from error
        except BaseException:
            self._roll_back()
            raise
        return groups, located

    def do_chores(self) -> float | None:
        """Do the work that no batch waits for: report the written pages, and sync what has waited.

        Returns the seconds until the next call, `None` for not before the next batch. It does not raise.
        """
        if self._commits >= _COMMITS_UNTOLD:
            self._commits = 0
            self._committed(self._db.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0])
        if self._unsynced_since is None or self.failure is not None or self._log is None:
            return None
        wait = self._unsynced_since + _SYNC_AFTER - self._clock()
        if wait > 0:
            return wait
        try:
            os.fsync(self._log)
        except OSError as error:
            self.failure = StorageFailed(f"the database could not be synced ({error})")
            self.failure.__cause__ = error
        self._unsynced_since = None
        return None

    def _refuse(self, batch: Batch) -> None:
        for uri, epoch in batch.epochs.items():
            if uri not in self._epochs:
                try:
                    self._epochs[uri] = self._db.execute(SQL["epoch"], (uri,)).get
                except apsw.Error as error:
                    raise write_fault(error, committing=False) from error
            stored = self._epochs[uri]
            if stored is not None and stored != epoch:
                raise Fenced(f"{uri} is owned under epoch {stored}, not {epoch}")
        for head in batch.heads:
            if not -1 <= head.seq < len(batch.items):
                raise ValueError("a head reflects an item that is not in its batch")

    def _sort(
        self, items: Iterable[Row | None], first: int
    ) -> tuple[dict[str, Group], list[int | bytes | None]]:
        """Return the numbers of each channel, by its name, and the values of all rows that are kept."""
        groups: dict[str, Group] = {}
        values: list[int | bytes | None] = []
        at = round(self._now() * 1000)
        for seq, row in enumerate(items, first):
            if row is None:
                continue
            name, action, origin = row
            group = groups.get(name)
            if group is None:
                group = groups[name] = (self._channels.get(name) or self._find_channel(name), [])
            channel, numbers = group
            numbers.append(seq)
            values += (seq, channel, action, origin, at)
        return groups, values

    def _find_channel(self, name: str) -> int:
        """Return the id of a channel. It is not kept here yet: a rollback would take it away again."""
        self._begin()
        channel: int | None = self._db.execute(SQL["channel_id"], (name,)).get
        return self._db.execute(SQL["add_channel"], (name,)).get if channel is None else channel

    def _insert(self, values: list[int | bytes | None]) -> None:
        for start in range(0, len(values), _VALUES_PER_STATEMENT):
            chunk = values[start : start + _VALUES_PER_STATEMENT]
            self._db.execute(_INSERTS[len(chunk) // _VALUES_PER_ROW - 1], chunk)

    def _write_locators(self, groups: Collection[Group]) -> None:
        self._db.executemany(SQL["add_locator"], self._tail.locators(groups))
        self._db.execute(SQL["set_located"], (max(numbers[-1] for _, numbers in groups),))

    def _write_more(self, batch: Batch, first: int) -> None:
        blobs = batch.blobs
        written: tuple[tuple[str, Sequence[Any]], ...] = (
            ("put_session", batch.sessions),
            ("truncate_turns", batch.truncations),
            ("add_turn", batch.turns),
            ("put_head", [head._replace(seq=first + head.seq) for head in batch.heads]),
            ("dispose_session", [(uri,) for uri in batch.disposed]),
            ("put_mark", batch.marks),
            ("put_client", batch.clients),
            ("add_blob", [(blob.digest, blob.content_type, blob.data) for blob in blobs]),
            ("use_blob", [(blob.session or "", blob.digest) for blob in blobs]),
        )
        for query, rows in written:
            if rows:
                self._db.executemany(SQL[query], rows)
        if batch.relay:
            relay.write(self._db, batch.relay, first)

    def _new_day(self) -> int | None:
        """Return today, if nothing was written today yet."""
        today = day_of(self._now())
        return today if today > self._day else None

    def _write_day(self, day: int | None, first: int) -> None:
        if day is not None:
            self._db.execute(SQL["add_day"], (day, first))

    # -- care ----------------------------------------------------------------------------------------------

    def prune(self, first_day: int, whole: Collection[str], after: int) -> Piece:
        """Delete a piece of the rows before a day, after a number. See `find`.

        It is not synced: later syncs include it, and if it is lost it is done again.

        Raises:
            StorageFailed: It is not known what was written, now or earlier.
            StorageUnavailable: Nothing was deleted.
        """
        with self._lock:
            if self.failure is not None:
                raise self.failure
            began = self._clock()
            committing = False
            try:
                piece = find(self._db, first_day, whole, after)
                if piece.numbers:
                    self._sync_with(full=False)
                    self._begin()
                    delete(self._db, piece)
                    committing = True
                    self._db.execute("COMMIT")
            except apsw.Error as error:
                raise self._fault(error, committing=committing) from error
            except BaseException:
                self._roll_back()
                raise
            for channel, last in piece.last.items():
                self._tail.prune(channel, last)
            self._commits = _COMMITS_UNTOLD  # it may have been much
            piece.seconds = self._clock() - began
            return piece

    def index_words(self) -> bool:
        """Index some messages and turns for searching. Returns whether more are left.

        It is not synced: if it is lost it is done again.

        Raises:
            StorageUnavailable: Nothing was indexed.
        """
        with self._lock:
            if self.failure is not None:
                raise self.failure
            try:
                self._sync_with(full=False)
                return relay.index_words(self._db)
            except apsw.Error as error:
                raise self._fault(error, committing=True) from error

    def _begin(self) -> None:
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")

    def _sync_with(self, *, full: bool) -> None:
        if full is not self._full:
            self._db.execute("PRAGMA synchronous=FULL" if full else "PRAGMA synchronous=NORMAL")
            self._full = full

    def _fault(self, error: apsw.Error, *, committing: bool) -> StorageUnavailable | StorageFailed:
        fault = write_fault(error, committing=committing)
        if not self._roll_back():
            fault = StorageFailed(f"a transaction could not be rolled back ({error})")
        if isinstance(fault, StorageFailed):
            self.failure = fault
        return fault

    def _roll_back(self) -> bool:
        """Roll back what SQLite has not rolled back by itself. Returns whether that worked."""
        try:
            if self._db.in_transaction:
                self._db.execute("ROLLBACK")
        except apsw.Error:
            return False
        return True


def _has_content(batch: Batch) -> bool:
    """Tell whether a batch has anything to write but numbers."""
    return any(batch.items) or batch.has_more
