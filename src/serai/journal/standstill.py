"""What does not wait while the line stands still: nothing can be written, and that may last."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from typing import TypeAlias

from serai.errors import StorageUnavailable
from serai.journal.batches import Barrier, Entry, Item
from serai.store.contract import Batch

_log = logging.getLogger(__name__)

_MOST_ASIDE = 10_000
"""So much waits at most to be sent back when there are not even numbers for it; then who sends is cut off."""
_MOST_BYTES_ASIDE = 8 * 1024 * 1024
"""The same in bytes."""

_Write: TypeAlias = Callable[[Batch, Callable[[asyncio.Future[int]], None]], None]
"""Has a batch written, and then its outcome told."""


class Standstill:
    """Whether the line stands still, and what passes it then."""

    def __init__(self) -> None:
        self.reason: StorageUnavailable | None = None
        """Why nothing can be written at the moment."""
        self._since = 0.0
        self._aside: list[Item] = []
        self._patient: list[Item] = []
        self._bytes = 0
        """Of both."""

    def begin(self, reason: StorageUnavailable) -> None:
        """Nothing can be written, or still not."""
        if self.reason is None:
            self._since = time.monotonic()
            _log.error("nothing can be written, and clients are told so: %s", reason)
        self.reason = reason

    def end(self) -> list[Item]:
        """It can be written again. Returns what did not pass the line: it comes at its end."""
        _log.warning("it can be written again, after %.1f s", time.monotonic() - self._since)
        self.reason = None
        late = [*self._aside, *self._patient]
        self._aside, self._patient, self._bytes = [], [], 0
        return late

    def stay(self, line: list[Entry]) -> list[Entry]:
        """Tell those in a line who need not wait for room that there is none. Returns the others."""
        staying: list[Entry] = []
        for item in line:
            if isinstance(item, Barrier) and item.instead is not None and self.reason is not None:
                try:
                    item.instead(self.reason)
                except Exception:  # noqa: BLE001 - one who fails must not stop the journal for all
                    _log.exception("what was to happen on a full disk failed")
            else:
                staying.append(item)
        return staying

    # -- what is sent back ---------------------------------------------------------------------------------

    @property
    def is_crowded(self) -> bool:
        """Whether no more can be sent back: much waits already, for numbers or for room."""
        return len(self._aside) + len(self._patient) >= _MOST_ASIDE or self._bytes >= _MOST_BYTES_ASIDE

    def put_aside(self, item: Item, *, waits: bool = False) -> None:
        """Have something pass the line that is sent back to who dispatched it, unless it waits for room."""
        item.write()  # so that it is known how much there is
        (self._patient if waits else self._aside).append(item)
        self._bytes += item.size

    def tell_aside(self, write: _Write, publish: Callable[[list[Entry], int], None]) -> None:
        """Tell what passes the line, with numbers that need no room on the disk. `write` must not be busy."""
        items = self._aside[:]
        if not items:
            return

        def numbered(writing: asyncio.Future[int]) -> None:
            try:
                first = writing.result()
            except StorageUnavailable:
                return  # there are no more such numbers: it waits like all others
            del self._aside[: len(items)]
            self._bytes -= sum(item.size for item in items)
            publish([*items], first)
            self.tell_aside(write, publish)

        write(Batch(items=[None] * len(items)), numbered)
