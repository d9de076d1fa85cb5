"""Moving what was committed from the log into the database file, beside the writer and not in its way."""

from __future__ import annotations

from collections.abc import Callable
from threading import Lock

import apsw

from serai.errors import StorageFailed
from serai.store.connection import write_fault
from serai.store.database import Database
from serai.store.worker import Worker

__all__ = ["CHECKPOINT_PAGES", "Checkpoints"]

CHECKPOINT_PAGES = 2_000
"""After how many new pages in the log a checkpoint runs: about 4 MB."""

# The log begins anew once a checkpoint has reached its end, which one beside a busy writer never does. From
# this many times the usual size on, the writer does the little that is left.
_OVERDUE = 4


class Checkpoints:
    """Passive checkpoints on a connection and a thread of their own.

    Args:
        connection: A connection that nobody else uses.
        worker: The thread.
        lock: Held during every checkpoint: SQLite does not let one wait for another.
        pages: After how many new pages in the log a checkpoint runs.
        finish: Called when the writer should do a checkpoint itself.
        fail: Called when the database file could not be synced.
    """

    def __init__(
        self,
        connection: Database,
        worker: Worker,
        lock: Lock,
        *,
        pages: int,
        finish: Callable[[], None],
        fail: Callable[[StorageFailed], None],
    ) -> None:
        self._db = connection
        self._worker = worker
        self._lock = lock
        self._pages = pages
        self._finish = finish
        self._fail = fail
        self._running = False
        # How many pages the writer had written in all when the last checkpoint was asked for.
        self._before = 0

    def committed(self, written: int) -> None:
        """There was a commit, and the writer has written so many pages in all. It does not block."""
        if written - self._before >= self._pages and not self._running:
            self._running = True
            self._before = written
            self._worker.post(self._run)

    def _run(self) -> None:
        log = checkpoint(self._db, self._lock, self._fail)
        self._running = False
        if log >= _OVERDUE * self._pages:
            self._finish()


def checkpoint(connection: Database, lock: Lock, fail: Callable[[StorageFailed], None]) -> int:
    """One passive checkpoint; returns how long the log was, in pages. It does not raise.

    A full disk does no harm: the log stays, and the next checkpoint tries again. A failed sync does.
    """
    try:
        with lock:
            log, _ = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
    except apsw.Error as error:
        fault = write_fault(error, committing=False)
        if isinstance(fault, StorageFailed):
            fault.__cause__ = error
            fail(fault)
        return 0
    return max(log, 0)
