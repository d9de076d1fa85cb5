"""Ticks of the event loop, for connections that write once in each."""

from __future__ import annotations

import asyncio
import logging
from typing import Protocol

__all__ = ["Ticker", "Ticking", "give_up"]

logger = logging.getLogger(__name__)


class Ticking(Protocol):
    """Who writes at the end of a tick."""

    transport: asyncio.Transport

    def tick(self) -> None:
        """The tick ends."""
        ...


class Ticker:
    """Counts ticks of the event loop, and lets connections write at their ends: one callback for them all."""

    def __init__(self) -> None:
        self.number = 0
        """Which tick this is. It stands still while nobody writes."""
        self.is_due = False
        """Whether its end is expected: something was written."""
        self._waiting: list[Ticking] = []

    def add(self, one: Ticking) -> None:
        """Call its `tick` soon, once."""
        self._waiting.append(one)
        self.expect_end()

    def expect_end(self) -> None:
        """Something was written: see to it that the tick ends."""
        if not self.is_due:
            self.is_due = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self.is_due = False
        self.number += 1
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            try:
                one.tick()
            except Exception as error:  # noqa: BLE001 - whatever it is, the others get theirs
                give_up(one, error)


def give_up(one: Ticking, error: Exception) -> None:
    """A connection cannot be written to: end it."""
    logger.error("a connection could not be written to", exc_info=error)
    one.transport.abort()
