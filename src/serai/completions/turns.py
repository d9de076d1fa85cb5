"""Work that is done on the event loop, a bit at a time."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Generator
from typing import TypeVar

__all__ = ["in_turns"]

T = TypeVar("T")

_TURN = 0.002
"""So long it may work before others get their turn, in seconds."""


async def in_turns(work: Generator[None, None, T]) -> T:
    """Do work that yields now and then; returns what it returns. Cancelling ends it at its next pause.

    In a thread it would hold the interpreter's lock for longer: nobody gets it for 5 ms once it is taken.
    """
    begin = time.perf_counter()
    while True:
        try:
            next(work)
        except StopIteration as done:
            return done.value
        if time.perf_counter() - begin > _TURN:
            await asyncio.sleep(0)
            begin = time.perf_counter()
