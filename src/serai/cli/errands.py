"""What a chat asks of its host, without waiting for it: Ctrl-C has to work meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from serai.cli.chat.asking import Decided
from serai.cli.hearing import Failed
from serai.errors import SeraiError

__all__ = ["Errands"]


class Errands:
    """What is under way.

    Args:
        failed: Is called with what went wrong.
        told: Is called with what to say when something is done.
    """

    def __init__(self, failed: Callable[[Failed], None], told: Callable[[str], None]) -> None:
        self._failed = failed
        self._told = told
        self._tasks: set[asyncio.Task[None]] = set()

    def do(
        self, work: Coroutine[Any, Any, Any], note: str | None = None, decided: Decided | None = None
    ) -> None:
        """Ask something of the host.

        Args:
            work: What does it.
            note: What to say when it is done.
            decided: The decision that it tells the host.
        """
        task = asyncio.create_task(self._run(work, note, decided))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def finish(self, timeout: float) -> None:  # noqa: ASYNC109 - what takes longer goes on
        """Wait for what is under way, for so many seconds."""
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=timeout)

    async def close(self) -> None:
        """Give up what is under way."""
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _run(self, work: Coroutine[Any, Any, Any], note: str | None, decided: Decided | None) -> None:
        try:
            await work
        except SeraiError as error:
            self._failed(Failed(error, decided))
        else:
            if note is not None:
                self._told(note)
