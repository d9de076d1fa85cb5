"""What the system says of its processes: who they are, whose, and whether a pid still means the same one.

A pid is given out again after a while, so a process is known by its pid *and* its start time. A pid is not
given out while it is still the id of someone's session or group: a session whose leader is gone is still the
same one.

What a child starts carries its mark, in the environment. A program may be started without one (`env -i`), but
not without limits, which it inherits as well. One of them means nothing since Linux 2.4, and has no effect
whatever it is: that of locks of files. A child's is a number of its own.

On Linux all of this is in `/proc`. Elsewhere it comes from `ps`, to the second, without marks and numbers.
"""

from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import msgspec

from serai.machine.processes.programs import find_program

__all__ = ["MARK", "Identity", "Process", "census", "look", "members", "number_of", "send", "with_mark"]

MARK = "SERAI_CHILD"
"""The environment variable that a child and all that it starts carry: the ids of their records."""

_PROC = Path("/proc")
_LIMIT = b"\nMax file locks "
_NUMBER_BYTES = 7
_FIELDS_BEFORE_NAME_END = 3
_PS = ("-o", "pid=,ppid=,pgid=,stat=,lstart=")


class Identity(msgspec.Struct, frozen=True):
    """One process, for ever: no later one has the same pid and the same start."""

    pid: int
    started: str


class Process(msgspec.Struct, frozen=True):
    """A process as the system shows it now."""

    pid: int
    started: str
    parent: int
    group: int
    session: int
    dead: bool
    """It has ended, and its parent has not yet asked how."""
    marks: frozenset[str] = frozenset()
    number: int | None = None
    """Its limit of locks; `None` when it has none."""

    @property
    def identity(self) -> Identity:
        """What tells it from all others."""
        return Identity(self.pid, self.started)


def with_mark(environ: dict[str, str], mark: str) -> dict[str, str]:
    """An environment with one more mark. A host inside a terminal of another host keeps that one's marks."""
    outer = environ.get(MARK)
    return {**environ, MARK: f"{outer}:{mark}" if outer else mark}


def number_of(mark: str) -> int:
    """The limit of locks that a child with this mark has, and all that it starts."""
    return int.from_bytes(hashlib.blake2b(mark.encode(), digest_size=_NUMBER_BYTES).digest(), "big")


def look(pid: int) -> Process | None:
    """The process of that pid, without its marks; `None` when there is none."""
    if sys.platform == "linux":
        return _from_proc(str(pid))
    return next(_from_ps("-p", str(pid)), None)


def census() -> list[Process]:
    """All processes that can be seen. It takes some milliseconds: not for the event loop."""
    if sys.platform != "linux":
        return list(_from_ps())
    found: list[Process] = []
    for name in os.listdir(_PROC):  # noqa: PTH208 - the names are enough
        process = _from_proc(name) if name.isdigit() else None
        if process is not None:
            marks = _marks(name)
            number = _number(name) if marks is not None else None
            if marks or number is not None:
                process = msgspec.structs.replace(process, marks=marks or frozenset[str](), number=number)
            found.append(process)
    return found


def members(
    processes: Iterable[Process], mark: str, leader: Identity | None, keeper: Identity | None = None
) -> list[Process]:
    """Those of a child's processes that still run: all below its keeper, its session, and what has its mark.

    Below the keeper is everything, on Linux, for as long as the keeper lives. Without it, what left the
    session on purpose still has the mark, or the number at least. Never among them are this process and those
    above it: a host may have been started in a terminal of the one before.
    """
    number = number_of(mark)
    everyone = {process.pid: process for process in processes}
    spared = set(_line_of(os.getpid(), everyone))
    if leader is not None and leader.pid in everyone and everyone[leader.pid].started != leader.started:
        leader = None  # the pid is someone else's now, so nothing of the session was left
    kept = _below(keeper, everyone) if keeper is not None else frozenset[int]()
    return [
        process
        for process in everyone.values()
        if not process.dead
        and process.pid not in spared
        and (
            process.pid in kept
            or mark in process.marks
            or process.number == number
            or (leader is not None and leader.pid in (process.session, process.group))
        )
    ]


def send(process: Identity, *signals: signal.Signals) -> None:
    """Send signals to exactly this process; one that is gone, or is not ours to end, gets none."""
    try:
        handle = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        handle = None  # no such thing here: between the look and the signal a pid could change hands
    try:
        found = look(process.pid)
        if found is None or found.started != process.started:
            return
        for number in signals:
            if handle is None:
                os.kill(process.pid, number)
            else:
                signal.pidfd_send_signal(handle, number)
    except (ProcessLookupError, PermissionError):
        pass
    finally:
        if handle is not None:
            os.close(handle)


def _below(top: Identity, everyone: dict[int, Process]) -> set[int]:
    """The pids of all below a process; none when it is gone."""
    found = everyone.get(top.pid)
    if found is None or found.started != top.started:
        return set()
    children: dict[int, list[int]] = {}
    for process in everyone.values():
        children.setdefault(process.parent, []).append(process.pid)
    below: set[int] = set()
    todo = [top.pid]
    while todo:
        more = [pid for pid in children.get(todo.pop(), ()) if pid not in below]
        below.update(more)
        todo += more
    return below


def _line_of(pid: int, everyone: dict[int, Process]) -> Iterator[int]:
    seen: set[int] = set()
    while pid > 1 and pid not in seen:
        seen.add(pid)
        yield pid
        process = everyone.get(pid)
        pid = process.parent if process is not None else 0


@cache
def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _from_proc(pid: str) -> Process | None:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - a census opens hundreds of them
            data = file.read()
    except OSError:
        return None
    # The name, in brackets, may hold anything; after the last bracket come the fields from the third on.
    fields = data.rpartition(b")")[2].split()
    if len(fields) <= 22 - _FIELDS_BEFORE_NAME_END:
        return None
    return Process(
        pid=int(pid),
        started=f"{_boot()}:{int(fields[22 - _FIELDS_BEFORE_NAME_END])}",  # clock ticks since the boot
        parent=int(fields[1]),
        group=int(fields[2]),
        session=int(fields[3]),
        dead=fields[0] in (b"Z", b"X"),
    )


def _marks(pid: str) -> frozenset[str] | None:
    """Its marks; `None` when they cannot be seen, as of another user's process."""
    try:
        with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - the same
            data = file.read()
    except OSError:
        return None
    prefix = MARK.encode() + b"="
    if prefix not in data:
        return frozenset()
    for entry in data.split(b"\0"):
        if entry.startswith(prefix):
            return frozenset(entry.removeprefix(prefix).decode("ascii", "replace").split(":"))
    return frozenset()


def _number(pid: str) -> int | None:
    try:
        with open(f"/proc/{pid}/limits", "rb") as file:  # noqa: PTH123 - the same
            data = file.read()
    except OSError:
        return None
    limits = data.partition(_LIMIT)[2].split(maxsplit=1)
    return int(limits[0]) if limits and limits[0].isdigit() else None


def _from_ps(*which: str) -> Iterator[Process]:
    command = [find_program("ps", os.environ) or "/bin/ps", *_PS, *(which or ("-A",))]
    try:
        told = subprocess.run(  # noqa: S603 - the system's own ps
            command, capture_output=True, text=True, check=False, env={**os.environ, "LC_ALL": "C"}
        ).stdout
    except OSError:
        return
    for line in told.splitlines():
        pid, parent, group, state, *started = line.split()
        try:
            session = os.getsid(int(pid))
        except OSError:
            continue
        yield Process(
            pid=int(pid),
            started=" ".join(started),
            parent=int(parent),
            group=int(group),
            session=session,
            dead=state.startswith("Z"),
        )
