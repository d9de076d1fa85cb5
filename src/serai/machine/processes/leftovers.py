"""What is left when a host and its keepers are killed at once: noted, so that the next start ends it.

A note is an empty file that is named after a child: its pid, which is also the number of its session, and
when it began. As long as anything of a session runs, no other gets its number. What has left its session has
no note; a keeper that lives ends that, too.
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
"""Seconds for what is left to end by itself, and then for what was killed to go; and between two looks."""


class ChildNotes:
    """The notes of one host. They are for its owner alone.

    Args:
        directory: Where they are. It is made when it is needed.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def add(self, pid: int) -> None:
        """Note a child that has just begun."""
        if (process := _look(pid)) is not None:
            with suppress(OSError):  # then its keeper alone sees to it
                self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
                (self._directory / f"{pid}-{process.start}").touch(mode=0o600)

    def remove(self, pid: int) -> None:
        """All that came of a child is gone."""
        for note in self._directory.glob(f"{pid}-*"):
            note.unlink(missing_ok=True)


def end_leftovers(directory: Path) -> list[int]:
    """End what the notes of a host that is gone speak of. Returns the pids of what ran. Blocks.

    Args:
        directory: Where the notes are; it need not exist. No host may use it now.
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
    """A process that runs; `None` for one that has ended, and where the system has no `/proc`."""
    try:
        fields = Path("/proc", str(pid), "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else _Process(int(fields[3]), fields[19])


def _members(sessions: dict[int, str]) -> list[int]:
    """What runs in these sessions, unless their leader is another by now."""
    if not sessions or sys.platform != "linux":
        return []
    pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]  # noqa: PTH208 - names are enough
    running = {pid: process for pid in pids if (process := _look(pid)) is not None}
    others = {pid for pid, start in sessions.items() if pid in running and running[pid].start != start}
    return [pid for pid, one in running.items() if one.session in sessions and one.session not in others]
