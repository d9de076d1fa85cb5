"""What a host needs of the machine that it runs on, and what an earlier one has left running there."""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from serai.changes.git import find_git
from serai.errors import SeraiError
from serai.machine.processes.census import census, members
from serai.machine.processes.records import Records
from serai.machine.terminals.environment import default_shell
from serai.machine.terminals.pty import open_pty

__all__ = ["Finding", "bad", "machine_findings", "process_findings"]

_LIMITS = Path("/proc/sys/fs/inotify")
_FEW_WATCHES = 8192


class Finding(NamedTuple):
    """One line of the report."""

    subject: str
    well: bool
    says: str
    remedy: str = ""


def bad(subject: str, error: SeraiError) -> Finding:
    """What an error says of a subject."""
    return Finding(subject, well=False, says=error.message, remedy=error.remedy or "")


def machine_findings() -> Iterator[Finding]:
    """Git, watching and terminals."""
    yield _git()
    yield _watches()
    yield _terminals()


def _git() -> Finding:
    try:
        git = asyncio.run(find_git())
    except SeraiError as error:
        return bad("git", error)
    return Finding("git", well=True, says=f"{'.'.join(map(str, git.version))} ({git.program})")


def _watches(limits: Path = _LIMITS) -> Finding:
    """How many folders may be watched. Elsewhere than on Linux the system sets no such limit."""
    if sys.platform != "linux":
        return Finding("watching", well=True, says="this system has no limit of its own")
    watches = _number(limits / "max_user_watches")
    if watches is None:
        return Finding("watching", well=False, says=f"{limits} cannot be read: is there inotify?")
    says = f"{watches:,} folders may be watched (fs.inotify.max_user_watches)"
    if watches < _FEW_WATCHES:
        return Finding(
            "watching",
            well=False,
            says=says,
            remedy="Large projects need more: sysctl -w fs.inotify.max_user_watches=524288",
        )
    return Finding("watching", well=True, says=says)


def _number(file: Path) -> int | None:
    try:
        return int(file.read_text("ascii"))
    except (OSError, ValueError):
        return None


def _terminals() -> Finding:
    try:
        open_pty(80, 24).close()
    except OSError as error:
        return Finding(
            "terminals",
            well=False,
            says=f"the system gives no pseudo-terminal: {error.strerror}",
            remedy="Is /dev/pts mounted, and is kernel.pty.max large enough?",
        )
    return Finding("terminals", well=True, says=f"there are some; their shell is {default_shell(os.environ)}")


# -- processes ---------------------------------------------------------------------------------------------


def process_findings(home: Path) -> Iterator[Finding]:
    """Processes of a host that is gone. They are told, and left alone."""
    records = Records(home / "processes").orphaned()
    everyone = census() if records else []
    for mark, record in records.items():
        left = members(everyone, mark, record.child)
        pids = ", ".join(str(process.pid) for process in left)
        if pids:
            yield Finding(
                "leftovers",
                well=False,
                says=f"{record.what} still runs ({pids}), and its host is gone",
                remedy="The next 'serai serve' on this home ends it",
            )
