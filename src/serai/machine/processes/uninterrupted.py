"""Work that must not stop half-way, for callers who may."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["to_its_end", "uninterrupted"]

T = TypeVar("T")

_under_way: set[asyncio.Task[Any]] = set()  # the loop itself would forget them


async def uninterrupted(work: Coroutine[Any, Any, T], undo: Callable[[T], Coroutine[Any, Any, object]]) -> T:
    """What the work returns. If this is cancelled, the work goes on to its end, and is undone then."""
    task = _keep(asyncio.create_task(work))
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:

        def done(task: asyncio.Task[T]) -> None:
            if not task.cancelled() and task.exception() is None:
                _keep(asyncio.create_task(undo(task.result())))

        task.add_done_callback(done)
        raise


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


def _keep(task: asyncio.Task[T]) -> asyncio.Task[T]:
    _under_way.add(task)
    task.add_done_callback(_under_way.discard)
    return task
