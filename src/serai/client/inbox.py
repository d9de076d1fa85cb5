"""A queue for one reader, which ends: with a last item, or with an error."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Generic, TypeVar

from serai.errors import SeraiError

__all__ = ["Inbox"]

T = TypeVar("T")


class Inbox(Generic[T]):
    """Items for one task that reads them. Putting never waits; cancelling the reader loses nothing."""

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._news = asyncio.Event()
        self._ended = False
        self._error: SeraiError | None = None

    def __len__(self) -> int:
        return len(self._items)

    @property
    def last(self) -> T | None:
        """The item that was put last, if it still waits."""
        return self._items[-1] if self._items else None

    def put(self, item: T) -> None:
        """Add an item, unless this has ended."""
        if not self._ended:
            self._items.append(item)
            self._news.set()

    def end(self, error: SeraiError | None = None) -> None:
        """No more will come. The reader gets what waits, then the end or the error."""
        if not self._ended:
            self._ended, self._error = True, error
            self._news.set()

    async def get(self) -> T:
        """The next item.

        Raises:
            StopAsyncIteration: There will be none.
            SeraiError: There will be none, because of this.
        """
        while not self._items:
            if self._ended:
                if self._error is not None:
                    raise self._error
                raise StopAsyncIteration
            self._news.clear()
            await self._news.wait()
        return self._items.popleft()
