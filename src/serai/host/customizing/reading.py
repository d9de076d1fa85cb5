"""Threads that read customisations: so many at a time, and a host that stops waits for none of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import ParamSpec, TypeVar

__all__ = ["Readers"]

_AT_ONCE = 2
"""So many read at the same time: the processor is for others too."""

P = ParamSpec("P")
T = TypeVar("T")


class Readers:
    """Runs what reads and changes nothing, so that it does no harm when it breaks off with the process.

    The threads of asyncio are waited for when the loop ends, and a stranger's files may take seconds.
    """

    def __init__(self) -> None:
        self._free = asyncio.Semaphore(_AT_ONCE)

    async def run(self, call: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Call something in a thread.

        Cancelling returns at once. The thread reads on, and keeps its place among those that may.
        """
        await self._free.acquire()
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[T] = loop.create_future()

        def settle(result: Callable[[], None]) -> None:
            self._free.release()
            if not outcome.done():
                result()

        def read() -> None:
            try:
                found = call(*args, **kwargs)
            except BaseException as error:  # noqa: BLE001 - whatever it is, it is for who waits
                failure = error
                result = lambda: outcome.set_exception(failure)  # noqa: E731 - it is told elsewhere
            else:
                result = lambda: outcome.set_result(found)  # noqa: E731 - the same
            with suppress(RuntimeError):  # the loop has ended, and nobody waits any more
                loop.call_soon_threadsafe(settle, result)

        try:
            Thread(target=read, name="customisations", daemon=True).start()
        except BaseException:
            self._free.release()
            raise
        return await outcome
