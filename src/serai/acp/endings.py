"""Ends that are waited for, whoever loses patience."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

__all__ = ["to_its_end"]

T = TypeVar("T")


async def to_its_end(work: Awaitable[T]) -> T:
    """What the work returns. Cancelling this changes nothing until the work is done, and is raised then.

    It is for work that is over soon in any case, such as ending a process.
    """
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            cancelled = error
    if cancelled is not None:
        if not task.cancelled():
            task.exception()  # it is known now: nobody else is told
        raise cancelled
    return task.result()
