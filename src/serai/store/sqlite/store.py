"""The store on an encrypted SQLite file.

Three threads, each with a connection of its own, do the blocking work: one writes, one reads, and one moves
what was committed from the log into the file. None of it runs on the event loop.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

import apsw

from serai.errors import SeraiError, StorageUnavailable
from serai.store.contract import Batch, Opening, Store, failed, settled
from serai.store.sqlite import care
from serai.store.sqlite.connection import read_fault
from serai.store.sqlite.engine import Engine
from serai.store.sqlite.reader import Reader
from serai.store.sqlite.writer import Tuning, Writer

__all__ = ["SqliteStore", "Tuning"]

T = TypeVar("T")

_USUAL = Tuning()


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
