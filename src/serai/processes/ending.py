"""How processes are ended: asked first, then made to."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterable

from serai.processes.census import Process, look, send

__all__ = ["end_processes"]

_PATIENCE = 5.0
"""How long a killed process may take to go, in seconds. With a broken disk it may take for ever."""
_FIRST_LOOK = 0.002
_LAST_LOOK = 0.05


async def end_processes(
    find: Callable[[], Awaitable[list[Process]]], *, grace: float, hangup: bool = False
) -> list[Process]:
    """End all processes that `find` finds, also those that appear meanwhile. Returns those that would not go.

    They get TERM, then as long as `grace` (seconds), then KILL. A stopped one is continued, so that it can
    react.

    Args:
        find: Finds those that still run.
        grace: How long they may take to end by themselves.
        hangup: Whether they get HUP too, as from a terminal that is closed: an interactive shell ignores
            TERM.
    """
    left = await find()
    if not left:
        return []
    polite = (signal.SIGHUP,) if hangup else ()
    for process in left:
        send(process.identity, *polite, signal.SIGTERM, signal.SIGCONT)
    await _gone(left, grace)
    deadline = time.monotonic() + _PATIENCE
    while left := await find():
        if time.monotonic() > deadline:
            return left
        for process in left:
            send(process.identity, signal.SIGKILL)
        await _gone(left, _PATIENCE)
    return []


async def _gone(processes: Iterable[Process], limit: float) -> None:
    """Wait until they are gone, or the time is over. They are not all our children, so nobody tells us."""
    deadline = time.monotonic() + limit
    delay = _FIRST_LOOK
    left = list(processes)
    while left := [process for process in left if _runs(process)]:
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            return
        await asyncio.sleep(min(delay, remaining))
        delay = min(delay * 1.5, _LAST_LOOK)


def _runs(process: Process) -> bool:
    now = look(process.pid)
    return now is not None and not now.dead and now.started == process.started
