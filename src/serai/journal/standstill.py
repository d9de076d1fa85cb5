"""The standstill of the journal while nothing can be written, and the rejections that pass it."""

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

MOST_BYTES_ASIDE = 8 * 1024 * 1024
"""Largest size of the rejections that wait for numbers, in bytes. Past it, their senders are disconnected."""
_Write: TypeAlias = Callable[[Batch, Callable[[asyncio.Future[int]], None]], None]
"""Writes a batch, and then calls back with the outcome."""


class Standstill:
    """The state of the line while nothing can be written, and the rejections that do not wait for room."""

    def __init__(self) -> None:
        self.reason: StorageUnavailable | None = None
        """The reason why nothing can be written at the moment."""
        self._since = 0.0
        self._aside: list[Item] = []
        self.bytes_aside = 0

    def begin(self, reason: StorageUnavailable) -> None:
        """Begin the standstill, or go on with it for a new reason."""
        if self.reason is None:
            self._since = time.monotonic()
            _log.error("nothing can be written, and clients are told so: %s", reason)
        self.reason = reason

    def end(self) -> list[Item]:
        """End the standstill. Returns the rejections that have not been sent: they join the line."""
        _log.warning("it can be written again, after %.1f s", time.monotonic() - self._since)
        self.reason = None
        late, self._aside, self.bytes_aside = self._aside, [], 0
        return late

    def stay(self, line: list[Entry]) -> list[Entry]:
        """Tell those in a line who do not wait for room that there is none. Returns the others."""
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

    def put_aside(self, item: Item) -> None:
        """Let a rejection pass the line."""
        self._aside.append(item)
        self.bytes_aside += len(item.write())

    def tell_aside(self, write: _Write, publish: Callable[[list[Entry], int], None]) -> None:
        """Publish the rejections, with numbers that need no room on the disk. `write` must not be busy."""
        items = self._aside[:]
        if not items:
            return

        def numbered(writing: asyncio.Future[int]) -> None:
            try:
                first = writing.result()
            except StorageUnavailable:
                return  # there are no more such numbers: it waits like all others
            del self._aside[: len(items)]
            self.bytes_aside -= sum(item.size for item in items)
            publish([*items], first)
            self.tell_aside(write, publish)

        write(Batch(items=[None] * len(items)), numbered)
