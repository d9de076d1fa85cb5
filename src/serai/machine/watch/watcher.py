"""What watches on one folder share: a source of changes, which are handed to each of them.

The source has a thread, which also sets everything up and picks what each watch wants. So the event loop only
ever gets what it needs.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Protocol

from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError
from serai.machine.watch.failures import watch_failed
from serai.machine.watch.folders import Identity
from serai.machine.watch.globs import PathFilter
from serai.machine.watch.source import Event, Source, source_for

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
    """One source of changes, for any number of listeners. It begins at once.

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
        self.root = root
        self._below = f"{root.rstrip('/')}/"
        self._recursive = recursive
        self._filter = filter
        self._loop = asyncio.get_running_loop()
        self._listeners: tuple[Listener, ...] = ()
        self._source = make_source(root, recursive=recursive, prunes=filter.prunes)
        self.identity: Identity | None = None
        """What the folder is that is watched, once it is."""
        self._stopping = False
        self._gone = False
        self.ready: asyncio.Future[None] = self._loop.create_future()
        """Done when everything is watched; fails with a `ProtocolError` when it cannot be."""
        self.ended: asyncio.Future[None] = self._loop.create_future()
        """Done when nothing more comes."""
        self._source.start(self)

    def covers(self, folder: str, *, recursive: bool, excludes: frozenset[str]) -> bool:
        """Whether all that someone else wants to hear of is told here anyway."""
        if self._stopping or self._gone or self.ended.done():
            return False
        if folder == self.root:
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
        """Tell someone no more. When nobody is left it ends, and this returns when nothing of it is left.

        Cancelling is safe: it ends all the same.
        """
        self._listeners = tuple(other for other in self._listeners if other is not listener)
        if self._listeners or self._stopping:
            return
        self._stopping = True
        if not self.ended.done():
            self._source.stop()
        await asyncio.shield(self.ended)
        self._source.join()  # it has said that it is done: this waits for nothing

    # -- in the source's thread ----------------------------------------------------------------------------

    def opened(self, identity: Identity) -> None:
        """See `Sink`."""
        self._tell(lambda: self._is_ready(identity))

    def told(self, events: Sequence[Event]) -> None:
        """See `Sink`."""
        if self._gone:
            return
        self._gone = any(
            event.kind is ResourceChangeType.DELETED and event.path == self.root for event in events
        )
        for listener in self._listeners:
            if (heard := listener.hear(events)) is not None:
                self._tell(heard)
        if self._gone:
            self._source.stop()

    def over(self, error: ProtocolError | None) -> None:
        """See `Sink`."""
        self._tell(lambda: self._finish(error))

    def _tell(self, call: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(call)
        except RuntimeError:  # the loop is closed, so nobody waits any more
            self._source.stop()

    # -- on the event loop ---------------------------------------------------------------------------------

    def _is_ready(self, identity: Identity) -> None:
        self.identity = identity
        if not self.ready.done():
            self.ready.set_result(None)

    def _finish(self, error: ProtocolError | None) -> None:
        self.ended.set_result(None)
        if not self.ready.done():
            self.ready.set_exception(error or watch_failed(self.root, "nobody wants it any more"))
            self.ready.exception()  # those who waited may have gone
        for listener in self._listeners:
            listener.end(error)
