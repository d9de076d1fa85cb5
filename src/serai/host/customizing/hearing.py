"""Hearing of changes in a few places of large folders, with one watch of the system for each folder.

A place such as `.claude/skills` is watched from its root on, and what lies beside the way to it is left out.
So a home with a million files costs a handful of watches, and a place that is not there yet is heard of as
soon as it is.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from serai.customizations import Watched
from serai.errors import ProtocolError
from serai.machine.watch.globs import PathFilter
from serai.machine.watch.source import Event
from serai.machine.watch.watcher import Watcher

__all__ = ["Ear", "hear_no_more", "listen"]


class _Places(PathFilter):
    """What is meant of a root: the places that are named, and the way to each of them."""

    def __init__(self, root: str, named: Sequence[Watched]) -> None:
        super().__init__()
        self._prefix = f"{root.rstrip('/')}/"
        self._root = root
        self._flat = {str(place.path): place.names for place in named if not place.recursive}
        self._deep = tuple(f"{str(place.path).rstrip('/')}/" for place in named if place.recursive)
        self._ways = {str(folder) for place in named for folder in (place.path, *place.path.parents)}

    def concerns(self, path: str) -> bool:
        """Whether a change at an absolute path is to be heard of."""
        folder, _, name = path.rpartition("/")
        is_named = name in self._flat.get(folder or "/", ())
        return is_named or f"{path}/".startswith(self._deep) or path == self._root

    def prunes(self, folder: str) -> bool:
        """See `PathFilter.prunes`."""
        path = f"{self._prefix}{folder}"
        return path not in self._ways and not self.concerns(path)


class Ear:
    """Hears of what changes below one folder. Made by `listen`.

    Args:
        root: The folder, without links in its path.
        named: The places in it that count.
        changed: Is called on the event loop when one of them may have changed.
        lost: Is called when nothing more will be heard: with the error, or `None` when the folder is gone.
    """

    def __init__(
        self,
        root: str,
        named: Sequence[Watched],
        changed: Callable[[], None],
        lost: Callable[[ProtocolError | None], None],
    ) -> None:
        self._places = _Places(root, named)
        self._changed = changed
        self._lost = lost
        self._is_open = False
        self._watcher = Watcher(root, recursive=True, filter=self._places)
        self._watcher.add(self)

    async def opened(self) -> None:
        """Wait until all that happens is heard of.

        Raises:
            ProtocolError: The system does not watch it.
        """
        await asyncio.shield(self._watcher.ready)
        self._is_open = True
        if self._watcher.ended.done():
            self._lost(None)

    async def close(self) -> None:
        """Hear no more. Returns when nothing of it is left; cancelling is safe."""
        self._is_open = False
        await self._watcher.remove(self)

    def hear(self, events: Sequence[Event]) -> Callable[[], None] | None:
        """The watcher's thread has a batch."""
        return self._changed if any(self._places.concerns(event.path) for event in events) else None

    def end(self, error: ProtocolError | None) -> None:
        """The watcher has nothing more to tell."""
        if self._is_open:
            self._lost(error)


async def listen(
    named: Sequence[Watched], changed: Callable[[], None], lost: Callable[[ProtocolError | None], None]
) -> list[Ear]:
    """Hear of changes in all places that are named, from the moment on that this returns.

    Cancelling is safe: nothing stays behind.

    Raises:
        ProtocolError: The system does not watch one of them.
    """
    ears = [Ear(root, named, changed, lost) for root in _roots(named)]
    try:
        for ear in ears:
            await ear.opened()
    except BaseException:
        await hear_no_more(ears)
        raise
    return ears


async def hear_no_more(ears: Sequence[Ear]) -> None:
    """Close all of them. When this is cancelled it waits for that first: it does not take long."""
    closing = asyncio.gather(*(ear.close() for ear in ears), return_exceptions=True)
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await closing
        raise


def _roots(named: Sequence[Watched]) -> list[str]:
    """The folders that no other one contains."""
    roots: list[str] = []
    for path in sorted(str(place.path) for place in named):
        if not any(f"{path}/".startswith(f"{root.rstrip('/')}/") for root in roots):
            roots.append(path)
    return roots
