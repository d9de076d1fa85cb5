"""Waiting for what other processes do."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path

from serai.machine.processes.census import census, look

__all__ = ["LIMIT", "children", "content", "names", "runs", "until", "written_pid"]

LIMIT = 30.0


async def until(condition: Callable[[], bool], limit: float = LIMIT) -> None:
    """Wait for what nobody announces."""
    async with asyncio.timeout(limit):
        while not condition():  # noqa: ASYNC110 - nobody would set an event
            await asyncio.sleep(0.005)


def runs(pid: int) -> bool:
    process = look(pid)
    return process is not None and not process.dead


def children() -> set[int]:
    """The pids of the children of this process, also of those that have ended and were not waited for."""
    return {process.pid for process in census() if process.parent == os.getpid()}


async def written_pid(file: Path) -> int:
    """The pid that a process writes into a file, with a line end."""
    await until(lambda: content(file).endswith("\n"))
    return int(content(file))


def content(file: Path) -> str:
    return file.read_text() if file.exists() else ""


def names(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()] if directory.is_dir() else []
