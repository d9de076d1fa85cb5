"""How processes are ended: asked first, then made to."""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Awaitable, Callable, Iterable

from serai.machine.processes.census import Process, look, send

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
        hangup: Whether they get HUP first, and TERM after half of that time: an interactive shell ignores
            TERM, and ends its jobs when its terminal is closed.
    """
    left = await find()
    if not left:
        return []
    steps = (signal.SIGHUP, signal.SIGTERM) if hangup else (signal.SIGTERM,)
    for step in steps:
        await asyncio.to_thread(_send, left, step, signal.SIGCONT)
        left = await _gone(left, grace / len(steps))
    deadline = time.monotonic() + _PATIENCE
    while left := await find():
        if time.monotonic() > deadline:
            return left
        await asyncio.to_thread(_send, left, signal.SIGKILL)
        await _gone(left, _PATIENCE)
    return []


async def _gone(processes: Iterable[Process], limit: float) -> list[Process]:
    """Wait until they are gone, or the time is over. They are not all our children, so nobody tells us.

    Returns:
        Those that still run.
    """
    deadline = time.monotonic() + limit
    delay = _FIRST_LOOK
    left = list(processes)
    while left := await asyncio.to_thread(_running, left):
        remaining = deadline - time.monotonic()
        if remaining <= 0:
            break
        await asyncio.sleep(min(delay, remaining))
        delay = min(delay * 1.5, _LAST_LOOK)
    return left


# These look at the system, which takes long where it means to run `ps`: not for the event loop.


def _send(processes: list[Process], *signals: signal.Signals) -> None:
    for process in processes:
        send(process.identity, *signals)


def _running(processes: list[Process]) -> list[Process]:
    return [process for process in processes if _runs(process)]


def _runs(process: Process) -> bool:
    now = look(process.pid)
    return now is not None and not now.dead and now.started == process.started
