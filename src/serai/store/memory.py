"""A store in memory: for tests, and for hosts that may forget.

It runs the same SQL as on a disk, in a database without one. It keeps the contract in all but one thing:
nothing survives the process. Closing and opening it again behaves like a restart of the host, and `crash`
like the loss of one.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from serai.errors import SeraiError, StorageUnavailable
from serai.store.contract import Batch, Opening, Store, failed, settled
from serai.store.sqlite import care
from serai.store.sqlite.connection import Database
from serai.store.sqlite.locator import Tail
from serai.store.sqlite.migrations import migrate
from serai.store.sqlite.reader import Reader
from serai.store.sqlite.writer import Tuning, Writer

T = TypeVar("T")

_USUAL = Tuning()


class MemoryStore(Store):
    """A `Store` without a disk. Cancelling any of its methods is harmless: none of them waits."""

    def __init__(self, tuning: Tuning = _USUAL) -> None:
        self.failure: SeraiError | None = None
        """The error that `append` raises, until it is `None` again. Nothing is written meanwhile."""
        self._tuning = tuning
        self._db = Database(":memory:")
        migrate(self._db, tuning.migrations, path=Path("memory"), keep_copy=False)
        self._reader = Reader(self._db, Tail())
        self._open: Writer | None = None

    async def open(self) -> Opening:
        """See `Store`."""
        tail = Tail()
        self._reader = Reader(self._db, tail)
        self._open = Writer(self._db, tail, None, self._tuning)
        return self._open.begin()

    async def close(self) -> None:
        """See `Store`."""
        writer, self._open = self._open, None
        if writer is not None:
            writer.end()

    def crash(self) -> None:
        """Stop as a killed process does: the next `open` is not a clean one."""
        self._open = None

    @property
    def _writer(self) -> Writer:
        if self._open is None:
            raise StorageUnavailable("the store is not open")
        return self._open

    def append(self, batch: Batch) -> asyncio.Future[int]:
        """See `Store`."""
        try:
            writer = self._writer
            if self.failure is not None:
                raise self.failure
            return settled(writer.append(batch))
        except (SeraiError, ValueError) as error:
            return failed(error)

    async def _ask(self, job: Callable[[Reader], T]) -> T:
        return job(self._reader)

    async def _write(self, job: Callable[[Writer], T]) -> T:
        return job(self._writer)

    async def check(self, *, full: bool) -> list[str]:
        """See `Store`."""
        return care.check(self._db, full=full)
