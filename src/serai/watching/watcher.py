"""What watches on one folder share: a thread that reads what the system tells, and hands it to each of them.

The thread also sets everything up and picks what each watch wants, so the event loop only ever gets what it
needs.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Protocol

from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError
from serai.watching.failures import watch_failed
from serai.watching.globs import PathFilter
from serai.watching.source import Event, Source, source_for

__all__ = ["Listener", "Watcher"]


class Listener(Protocol):
    """Who wants to hear of changes."""

    def hear(self, events: Sequence[Event]) -> Callable[[], None] | None:
        """Look at a batch, in the watcher's thread. What is returned is called on the event loop."""
        ...

    def end(self, error: ProtocolError | None) -> None:
        """Nothing comes any more. Called on the event loop."""
        ...


class Watcher:
    """One thread and one watch of the system, for any number of listeners. It begins at once.

    Args:
        root: The folder, without links in its path.
        recursive: Whether what is in its folders is meant too.
        filter: What it excludes is not watched at all.
        make_source: Where changes come from.
    """

    def __init__(
        self,
        root: str,
        *,
        recursive: bool,
        filter: PathFilter,  # noqa: A002 - it is the word for it
        make_source: Callable[..., Source] = source_for,
    ) -> None:
        self._root = root
        self._below = f"{root.rstrip('/')}/"
        self._recursive = recursive
        self._filter = filter
        self._loop = asyncio.get_running_loop()
        self._listeners: tuple[Listener, ...] = ()
        self._source = make_source(root, recursive=recursive, prunes=filter.prunes)
        self._stopping = False
        self._gone = False
        self.ready: asyncio.Future[None] = self._loop.create_future()
        """Done when everything is watched; fails with a `ProtocolError` when it cannot be."""
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done when the thread has nothing more to do."""
        self._thread = threading.Thread(target=self._run, name=f"watch {root}", daemon=True)
        self._thread.start()

    def covers(self, folder: str, *, recursive: bool, excludes: frozenset[str]) -> bool:
        """Whether all that someone else wants to hear of is told here anyway."""
        if self._stopping or self._gone or self.ended.done():
            return False
        if folder == self._root:
            return self._recursive >= recursive and self._filter.excludes <= excludes
        if not self._recursive or not folder.startswith(self._below):
            return False
        if recursive:
            return not self._filter.excludes
        return not self._filter.prunes(folder[len(self._below) :])

    def add(self, listener: Listener) -> None:
        """Tell someone from now on."""
        self._listeners = (*self._listeners, listener)

    async def remove(self, listener: Listener) -> None:
        """Tell someone no more. When nobody is left it ends, and this returns when its thread has.

        Cancelling is safe: it ends all the same.
        """
        self._listeners = tuple(other for other in self._listeners if other is not listener)
        if self._listeners or self._stopping:
            return
        self._stopping = True
        if not self.ended.done():
            self._source.stop()
        await asyncio.shield(self.ended)
        self._thread.join()  # it has said that it is done: this waits for nothing

    # -- the thread ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        error: ProtocolError | None = None
        try:
            self._source.open()
            self._tell(self._opened)
            while not self._gone and (events := self._source.read()):
                self._gone = (ResourceChangeType.DELETED, self._root) in events
                for listener in self._listeners:
                    if (told := listener.hear(events)) is not None:
                        self._tell(told)
        except ProtocolError as failed:
            error = failed
        except Exception as failed:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            error = watch_failed(self._root, repr(failed))
        finally:
            if not self._tell(lambda: self._finish(error)):
                self._source.close()

    def _tell(self, call: Callable[[], None]) -> bool:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop is closed, so nobody waits any more
            self._source.stop()
            return False
        return True

    # -- on the event loop ---------------------------------------------------------------------------------

    def _opened(self) -> None:
        if not self.ready.done():
            self.ready.set_result(None)

    def _finish(self, error: ProtocolError | None) -> None:
        self._source.close()
        self.ended.set_result(None)
        if not self.ready.done():
            self.ready.set_exception(error or watch_failed(self._root, "nobody wants it any more"))
            self.ready.exception()  # those who waited may have gone
        for listener in self._listeners:
            listener.end(error)
