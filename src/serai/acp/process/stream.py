"""What happens in a session, on its way to whoever follows it; and what is told of sessions not known yet."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from typing import TypeAlias

from serai.acp.prompt import Finished, PromptFailure
from serai.acp.updates import Update

__all__ = ["FULL", "MOST_UNKNOWN", "Item", "Limbo", "Stream"]

_log = logging.getLogger(__name__)

Item: TypeAlias = Update | Finished | PromptFailure
"""An update, or the end of a turn."""

FULL = 8 * 1024 * 1024
"""How much may wait for its taker, in bytes of lines, before the agent has to wait."""
_OVERHEAD = 256
"""What an item weighs beside its line."""


class Stream:
    """The items of a session in their order. They are handed to a callback, or wait to be taken.

    Args:
        hear: Is given every item as it comes. Without it, items wait.
        filled: Is told when too much waits, and when that is over.
    """

    def __init__(self, hear: Callable[[Item], None] | None, filled: Callable[[bool], None]) -> None:
        self._hear = hear
        self._filled = filled
        self._items: deque[tuple[Item, int]] = deque()
        self._weight = 0
        self._full = False
        self._ended = False
        self._news: asyncio.Future[None] | None = None

    def put(self, item: Item, size: int = 0) -> None:
        """Something has happened."""
        if self._hear is not None:
            try:
                self._hear(item)
            except Exception:  # noqa: BLE001 - the others must hear the next ones all the same
                _log.exception("an update was not dealt with")
            return
        weight = size + _OVERHEAD
        self._items.append((item, weight))
        self._weight += weight
        if self._weight > FULL and not self._full:
            self._full = True
            self._filled(True)
        self._wake()

    def end(self) -> None:
        """Nothing more will happen. What waits can still be taken."""
        self._ended = True
        self._wake()

    async def take(self) -> AsyncIterator[Item]:
        """What happens, until the session ends. One taker at a time; stopping it loses nothing."""
        while True:
            while self._items:
                item, weight = self._items.popleft()
                self._weight -= weight
                if self._full and self._weight < FULL // 2:
                    self._full = False
                    self._filled(False)
                yield item
            if self._ended:
                return
            self._news = asyncio.get_running_loop().create_future()
            try:
                await self._news
            finally:
                self._news = None

    def _wake(self) -> None:
        if self._news is not None and not self._news.done():
            self._news.set_result(None)


MOST_UNKNOWN = 16 * 1024 * 1024
"""How much is kept of sessions that nobody knows yet, in bytes of lines."""


class Limbo:
    """Updates that wait for their session: several agents tell of one before they answer the request for it.

    When it is too much, the session that was heard of first loses all of it.

    Args:
        lost: Is told the id of a session whose updates were given up.
    """

    def __init__(self, lost: Callable[[str], None]) -> None:
        self._lost = lost
        self._updates: dict[str, list[tuple[Update, int]]] = {}
        self._weight = 0

    def put(self, session_id: str, update: Update, size: int) -> None:
        """Keep an update."""
        self._updates.setdefault(session_id, []).append((update, size))
        self._weight += size + _OVERHEAD
        while self._weight > MOST_UNKNOWN and self._updates:
            oldest = next(iter(self._updates))
            self.take(oldest)
            self._lost(oldest)

    def take(self, session_id: str) -> list[tuple[Update, int]]:
        """What waits for a session, with the sizes. It is taken."""
        taken = self._updates.pop(session_id, [])
        self._weight -= sum(size + _OVERHEAD for _, size in taken)
        return taken
