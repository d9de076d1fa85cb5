"""The store on an encrypted SQLite file.

Three threads, each with a connection of its own, do the blocking work: one writes, one reads, and one moves
what was committed from the log into the file. None of it runs on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TypeVar

import apsw

from serai.errors import SeraiError, StorageFailed, StorageUnavailable, StorageUnreadable
from serai.store.contract import Batch, Opening, Store, failed, settled
from serai.store.sqlite import care
from serai.store.sqlite.connection import Database, beside, connect, read_fault, unreadable, write_fault
from serai.store.sqlite.file import prepare
from serai.store.sqlite.locator import Tail
from serai.store.sqlite.lock import FileLock
from serai.store.sqlite.migrations import migrate
from serai.store.sqlite.reader import Reader
from serai.store.sqlite.worker import Worker
from serai.store.sqlite.writer import Tuning, Writer

__all__ = ["SqliteStore", "Tuning"]

T = TypeVar("T")

_USUAL = Tuning()

# To how many bytes a log that grew longer is cut when it begins anew.
_LOG_LIMIT = 16 << 20

# The log begins anew once a checkpoint has reached its end, which one beside a busy writer never does. From
# this many times the usual size on, the writer does the little that is left.
_OVERDUE = 4


class SqliteStore(Store):
    """A `Store` in one file, encrypted with ChaCha20.

    Cancelling a read, a check or `prune` is harmless. Cancelling `append` or `close` does not stop
    them.

    Args:
        path: The database file; it is made when it is not there.
        key: 32 bytes, or a passphrase.
        tuning: Its configuration.
    """

    def __init__(self, path: Path, key: bytes | str, tuning: Tuning = _USUAL) -> None:
        self.path = path.resolve()
        """The database file."""
        self._key = key
        self._tuning = tuning
        self._engine: Engine | None = None
        self._closing: asyncio.Future[None] | None = None

    async def open(self) -> Opening:
        """See `Store`."""
        if self._engine is not None:
            raise StorageUnavailable("the store is open already")
        engine = Engine(self.path, self._key, self._tuning)
        engine.writing.start()
        try:
            opening = await engine.writing.run(engine.open)
        except BaseException:
            # When this was cancelled, it may have been opened all the same.
            engine.writing.post(engine.close)
            engine.writing.stop()
            raise
        self._engine, self._closing = engine, None
        return opening

    async def close(self) -> None:
        """See `Store`."""
        engine, self._engine = self._engine, None
        if engine is not None:
            self._closing = engine.writing.run(engine.close)
            engine.writing.stop()
        if self._closing is not None:
            await asyncio.shield(self._closing)

    def append(self, batch: Batch) -> asyncio.Future[int]:
        """See `Store`."""
        try:
            engine = self._opened()
            first = engine.writer.take_numbers(batch)
        except SeraiError as error:
            return failed(error)
        if first is not None:
            return settled(first)
        return engine.writing.run(partial(engine.writer.append, batch))

    # -- care ----------------------------------------------------------------------------------------------

    async def check(self, *, full: bool) -> list[str]:
        """See `Store`. It reads on a connection of its own: cancel it before the store is closed."""
        guest = self._opened().connect_guest()
        checking = asyncio.ensure_future(asyncio.to_thread(care.check, guest, full=full))
        try:
            problems = await asyncio.shield(checking)
        except asyncio.CancelledError:
            guest.interrupt()
            await asyncio.wait([checking])
            raise
        except apsw.Error as error:
            raise read_fault(error, self.path) from error
        finally:
            guest.close()
        return [f"{self.path}: {problem}" for problem in problems]

    # -- inside --------------------------------------------------------------------------------------------

    def _opened(self) -> Engine:
        if self._engine is None:
            raise StorageUnavailable("the store is not open")
        return self._engine

    async def _write(self, job: Callable[[Writer], T]) -> T:
        engine = self._opened()
        return await engine.writing.run(lambda: job(engine.writer))

    async def _ask(self, job: Callable[[Reader], T]) -> T:
        engine = self._opened()
        try:
            return await engine.reading.run(lambda: job(engine.reader))
        except apsw.Error as error:
            raise read_fault(error, self.path) from error


class Engine:
    """An open store. It is opened and closed in the thread that writes; all methods block."""

    writer: Writer
    reader: Reader

    def __init__(self, path: Path, key: bytes | str, tuning: Tuning) -> None:
        self._path = path
        self._given_key = key
        self._tuning = tuning
        self.writing = Worker("serai-store-writer")
        self.reading = Worker("serai-store-reader")
        self._checkpointing = Worker("serai-store-checkpoints")
        self._lock = FileLock(path)
        self._key = b""
        # In the order in which they are closed; the writer's is the last.
        self._connections: list[Database] = []
        # Held during every checkpoint: SQLite does not let one wait for another.
        self._checkpoint_lock = Lock()
        self._is_checkpointing = False
        # How many pages the writer had written in all when the last checkpoint was asked for.
        self._pages_before = 0
        self._opened = False

    def open(self) -> Opening:
        """Check, lock, migrate and start.

        Raises:
            StorageUnreadable: It cannot be opened; nothing is left open.
        """
        # The lock comes before the checks: they read without SQLite's own locks, and would take the page
        # that a living host is writing for a damaged one.
        self._lock.take()
        try:
            self._key = prepare(self._path, self._given_key, self._tuning.migrations)
            try:
                return self._start()
            except apsw.Error as error:
                raise unreadable(error, self._path) from error
            except OSError as error:
                raise StorageUnreadable(
                    f"{error.filename or self._path} cannot be written ({error.strerror})",
                    remedy="Check the folder's permissions and the free space",
                ) from error
        except BaseException:
            with suppress(apsw.Error):  # why it could not be opened is what counts
                self._release()
            raise

    def _start(self) -> Opening:
        has_log = beside(self._path, "-wal").exists()
        database = self._connect()
        database.pragma("journal_mode", "wal")
        migrate(database, self._tuning.migrations, path=self._path, keep_copy=True)
        database.wal_autocheckpoint(0)
        database.pragma("journal_size_limit", _LOG_LIMIT)
        self._database = database
        tail = Tail()
        self.reader = Reader(self._connect(), tail)
        self._beside_writer = self._connect()
        self.writer = Writer(
            database,
            tail,
            self._path,
            self._tuning,
            self._committed,
        )
        opening = self.writer.begin(has_log=has_log)
        self.reading.start()
        self._checkpointing.start()
        self.writing.chores = self.writer.do_chores
        self._opened = True
        return opening

    def connect_guest(self) -> Database:
        """Open a connection for a long read. Any thread may call this; the caller closes the connection."""
        return connect(self._path, self._key, vfs=self._tuning.vfs)

    def close(self) -> None:
        """Finish waiting jobs, record a clean stop, and release everything. Without `open`, do nothing.

        Raises:
            StorageFailed: The last sync failed. Everything is released; committed rows are in the log.
        """
        if not self._opened:
            return
        self.reading.stop()
        self._checkpointing.stop()
        self.reading.join()
        self._checkpointing.join()
        self.writing.chores = None
        try:
            self.writer.end()
        finally:
            try:
                self._release()
            except apsw.Error as error:
                raise write_fault(error, committing=False) from error

    def _committed(self, pages: int) -> None:
        """Start a checkpoint if it is time for one, given the number of pages written in all."""
        if pages - self._pages_before >= self._tuning.checkpoint_pages and not self._is_checkpointing:
            self._is_checkpointing, self._pages_before = True, pages
            self._checkpointing.post(self._checkpoint_beside_writer)

    def _checkpoint_beside_writer(self) -> None:
        log = self._checkpoint(self._beside_writer)
        self._is_checkpointing = False
        if log >= _OVERDUE * self._tuning.checkpoint_pages:
            self.writing.post(lambda: self._checkpoint(self._database))

    def _checkpoint(self, connection: Database) -> int:
        """Run a passive checkpoint. Returns the length of the log, in pages. It does not raise.

        A full disk does no harm: the log stays, and the next checkpoint tries again. A failed sync does.
        """
        try:
            with self._checkpoint_lock:
                return connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)[0]
        except apsw.Error as error:
            fault = write_fault(error, committing=False)
            if isinstance(fault, StorageFailed):
                fault.__cause__ = error
                self.writer.failure = self.writer.failure or fault
            return 0

    def _connect(self) -> Database:
        connection = connect(self._path, self._key, vfs=self._tuning.vfs)
        self._connections.insert(0, connection)
        # Before its first read a connection does not know that there is a log, and would never empty it.
        connection.pragma("user_version")
        connection.pragma("synchronous", "full")
        connection.pragma("secure_delete", 1)
        return connection

    def _release(self) -> None:
        """Close all connections, then release the lock. One failure does not stop the others."""
        with ExitStack() as last_to_first:
            last_to_first.callback(self._lock.release)
            for connection in reversed(self._connections):
                last_to_first.callback(connection.close)
