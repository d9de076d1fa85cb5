"""Looks at a work tree and undoing in it take turns, whichever sessions they belong to.

While a file is undone it is away from its path for a moment. A look in that moment would miss it, and take it
for a new one later. So whoever undoes waits until nobody looks, and whoever looks until nothing is undone.
Any number may look at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

__all__ = ["Quiet", "quiet_in"]


class Quiet:
    """Many may look at once; who undoes is alone. Cancelling whoever waits is safe."""

    def __init__(self) -> None:
        self._door = asyncio.Lock()
        """Held while something is undone, or is about to be: so those who look later wait."""
        self._looking = 0
        self._nobody = asyncio.Event()
        self._nobody.set()

    @asynccontextmanager
    async def looking(self) -> AsyncGenerator[None]:
        """Nothing is undone in the block."""
        async with self._door:
            self._looking += 1
            self._nobody.clear()
        try:
            yield
        finally:
            self._looking -= 1
            if not self._looking:
                self._nobody.set()

    @asynccontextmanager
    async def undoing(self) -> AsyncGenerator[None]:
        """Nobody looks in the block. Looking in it would wait for itself."""
        async with self._door:
            await self._nobody.wait()
            yield


_QUIET: WeakValueDictionary[str, Quiet] = WeakValueDictionary()


def quiet_in(work_tree: str) -> Quiet:
    """The one of a work tree, named without links, for all in this process that hold it."""
    return _QUIET.setdefault(work_tree, Quiet())
