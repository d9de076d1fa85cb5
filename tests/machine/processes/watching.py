"""Waiting for what other processes do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

LIMIT = 30.0


async def until(condition: Callable[[], bool], limit: float = LIMIT) -> None:
    """Wait for what nobody announces."""
    async with asyncio.timeout(limit):
        while not condition():  # noqa: ASYNC110 - nobody would set an event
            await asyncio.sleep(0.005)


def runs(pid: int) -> bool:
    state, _ = _all().get(pid, ("Z", 0))
    return state[0] not in "ZX"


def parent_of(pid: int) -> int:
    return _all()[pid][1]


def children() -> set[int]:
    """The pids of the children of this process, also of those that have ended and were not waited for."""
    return {pid for pid, (_, parent) in _all().items() if parent == os.getpid()}


def _all() -> dict[int, tuple[str, int]]:
    """The state and the parent of each process."""
    found: dict[int, tuple[str, int]] = {}
    if sys.platform == "linux":
        for name in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208 - the names are enough
            with contextlib.suppress(OSError):
                state, parent = Path("/proc", name, "stat").read_bytes().rpartition(b")")[2].split()[:2]
                found[int(name)] = state.decode(), int(parent)
    else:
        with subprocess.Popen(["/bin/ps", "-A", "-o", "pid=,stat=,ppid="], stdout=subprocess.PIPE) as ps:
            assert ps.stdout
            words = [line.decode().split() for line in ps.stdout]
        found = {int(pid): (state, int(parent)) for pid, state, parent in words if int(pid) != ps.pid}
    return found


async def written_pid(file: Path) -> int:
    """The pid that a process writes into a file, with a line end."""
    await until(lambda: content(file).endswith("\n"))
    return int(content(file))


def content(file: Path) -> str:
    return file.read_text() if file.exists() else ""
