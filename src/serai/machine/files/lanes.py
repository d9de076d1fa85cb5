"""Short work and long work, in threads: what is short never waits for what is long.

All work begins as short. Before it changes anything it may find that it takes long: that there is a tree to
copy, or a large file, or that someone else is busy at the place. Then it says so (`takes_long`), and is begun
anew among the long work, of which only so much is done at once. Who calls it in no lane notices nothing.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import ParamSpec, TypeVar

from serai.errors import ProtocolError

__all__ = ["LARGE", "LONG_AT_ONCE", "MANY", "Lanes", "go_on", "is_brief", "notes_folder", "takes_long"]

P = ParamSpec("P")
T = TypeVar("T")

LARGE = 32 * 1024 * 1024
"""To read or copy more bytes than this takes long."""
MANY = 2_000
"""To list more entries than this takes long."""
LONG_AT_ONCE = 4
"""So much long work is done at once; the rest waits."""


class _TakesLong(Exception):
    """The work is none for the short lane. Nothing has been changed."""


_brief: ContextVar[bool] = ContextVar("brief", default=False)
_stopping: ContextVar[threading.Event | None] = ContextVar("stopping", default=None)
_notes: ContextVar[Path | None] = ContextVar("notes", default=None)


def is_brief() -> bool:
    """Whether this is the short lane."""
    return _brief.get()


def notes_folder() -> Path | None:
    """Where it is noted which drafts there are; see `leftovers`."""
    return _notes.get()


def takes_long(*, size: int | None = None, count: int | None = None) -> None:
    """What comes next takes long; where a size or a count is given, only when that is large.

    To be called before anything is changed, or where all that was changed is taken back.
    """
    is_short = (size is not None and size <= LARGE) or (count is not None and count <= MANY)
    if _brief.get() and not is_short:
        raise _TakesLong


def go_on() -> None:
    """Called now and then by long work that can be stopped.

    Raises:
        ProtocolError: The host is being closed.
    """
    stopping = _stopping.get()
    if stopping is not None and stopping.is_set():
        raise ProtocolError("the host is stopping")


class Lanes:
    """The threads of a host that wait for the disk on behalf of clients and agents.

    Args:
        notes: A folder of the host's own, where it is noted which drafts there are; see `leftovers`.
    """

    def __init__(self, notes: Path | None = None) -> None:
        self._notes = notes
        self._long = ThreadPoolExecutor(LONG_AT_ONCE, thread_name_prefix="long work")
        self._stopping = threading.Event()

    async def run(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Do something in a thread, and return what it returns.

        Cancelling does not stop what has begun: only nobody waits for it any more.
        """
        try:
            return await asyncio.to_thread(self._briefly, lambda: do(*args, **kwargs))
        except _TakesLong:
            return await self.run_long(do, *args, **kwargs)

    async def run_long(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """The same for what is known to take long."""
        context = copy_context()
        context.run(_stopping.set, self._stopping)
        context.run(_notes.set, self._notes)
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._long, lambda: context.run(do, *args, **kwargs))

    async def close(self) -> None:
        """Drop what waits, and wait for what has begun; that stops soon where it can."""
        self._stopping.set()
        await asyncio.to_thread(self._long.shutdown, wait=True, cancel_futures=True)

    def _briefly(self, do: Callable[[], T]) -> T:
        _brief.set(True)  # in the thread's own copy of the context
        _notes.set(self._notes)
        return do()
