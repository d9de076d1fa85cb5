"""Notes of running children, so that the next start can end them if the host and its keepers were all killed.

A note is an empty file, named after the child's pid, which is also the number of its session, and its start
time. As long as one process of a session runs, the system gives its number to no other. Processes that have
left their session have no note; only a living keeper ends them.
"""

from __future__ import annotations

import os
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

_GRACE, _PATIENCE, _LOOK = 1.0, 5.0, 0.02
"""Seconds to wait after the signal to end, after the kill, and between two looks."""


class ChildNotes:
    """The notes of one host, readable by its owner alone.

    Args:
        directory: The folder of the notes, created when needed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, pid: int) -> None:
        """Write the note of a child that has just started."""
        if (process := _look(pid)) is not None:
            with suppress(OSError):  # only the keeper ends it then
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                (self._directory / f"{pid}-{process.start}").touch(mode=0o600)

    def remove(self, pid: int) -> None:
        """Remove the note of a child whose descendants have all ended."""
        for note in self._directory.glob(f"{pid}-*"):
            note.unlink(missing_ok=True)


def end_leftovers(directory: Path) -> list[int]:
    """End the noted sessions of a host that is gone. Returns the pids that were still running. Blocks.

    Args:
        directory: The folder of the notes; it need not exist. No running host may use it.
    """
    notes = {note: note.name.split("-") for note in directory.glob("*-*")}
    sessions = {int(pid): start for pid, start in notes.values()}
    found = _members(sessions)
    for step, limit in ((signal.SIGTERM, _GRACE), (signal.SIGKILL, _PATIENCE)):
        deadline = time.monotonic() + limit
        while (left := _members(sessions)) and time.monotonic() < deadline:
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, step)
                    os.kill(pid, signal.SIGCONT)  # a stopped one could not react
            time.sleep(_LOOK)
    for note in notes:
        note.unlink(missing_ok=True)
    return found


class _Process(NamedTuple):
    session: int
    start: str


def _look(pid: int) -> _Process | None:
    """Return a running process; `None` if it has ended, or where the system has no `/proc`."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else _Process(int(fields[3]), fields[19])


def _members(sessions: dict[int, str]) -> list[int]:
    """Return the running processes of these sessions, unless a session's number has another leader by now."""
    if not sessions or sys.platform != "linux":
        return []
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names are enough
    running = {pid: process for pid in pids if (process := _look(pid)) is not None}
    others = {pid for pid, start in sessions.items() if pid in running and running[pid].start != start}
    return [pid for pid, one in running.items() if one.session in sessions and one.session not in others]
