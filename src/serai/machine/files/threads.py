"""The threads that wait for the disk, and the locks that serialise changes to one place."""

from __future__ import annotations

import asyncio
import os
import threading
import unicodedata
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import ParamSpec, TypeAlias, TypeVar
from weakref import WeakValueDictionary

from serai.errors import ProtocolError
from serai.machine.files.place import Place
from serai.machine.safe_paths import Identity, identity

P = ParamSpec("P")
T = TypeVar("T")

AT_ONCE = 64
"""Most commands at once. A copy of a large tree occupies one of them, so that short ones need not wait."""


class FileThreads:
    """The threads of a host that wait for the disk on behalf of clients and agents.

    Args:
        notes: A folder of the host's own for notes about drafts; see `machine.draft`.
    """

    def __init__(self, notes: Path | None = None) -> None:
        self.notes = notes
        self.stopping = threading.Event()
        self._pool = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="files")

    async def run(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call a function in a thread, and return its result.

        Cancelling stops only the waiting: a call that has begun goes on to its end.
        """
        context = copy_context()
        context.run(_threads.set, self)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._pool, lambda: context.run(do, *args, **kwargs))

    async def close(self) -> None:
        """Drop the calls that wait, and wait for those that run; a copy of a tree stops at its next file."""
        self.stopping.set()
        await asyncio.to_thread(self._pool.shutdown, wait=True, cancel_futures=True)


_threads: ContextVar[FileThreads | None] = ContextVar("threads", default=None)


def notes_folder() -> Path | None:
    """Return the folder for notes about drafts."""
    threads = _threads.get()
    return threads.notes if threads is not None else None


def check_not_stopping() -> None:
    """Stop work that takes long when the host closes. Such work calls this now and then.

    Raises:
        ProtocolError: The host is being closed.
    """
    threads = _threads.get()
    if threads is not None and threads.stopping.is_set():
        raise ProtocolError("the host is stopping")


_Where: TypeAlias = tuple[Identity, str]
_locks: WeakValueDictionary[_Where, threading.Lock] = WeakValueDictionary()
_guard = threading.Lock()


@contextmanager
def locked_places(*places: Place) -> Generator[None]:
    """Lock some places against changes by others in this process. Other programs may change them."""
    with ExitStack() as held:
        for where in sorted({_where(place) for place in places}):  # in one order, to avoid a deadlock
            with _guard:
                lock = _locks.setdefault(where, threading.Lock())
            held.enter_context(lock)
        yield


def _where(place: Place) -> _Where:
    # Names that are the same on some file systems share a lock on all of them.
    name = unicodedata.normalize("NFKC", place.name.casefold()).casefold()
    return identity(os.fstat(place.here)), name
