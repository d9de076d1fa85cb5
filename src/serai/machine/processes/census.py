"""What the system says of its processes: who they are, whose, and whether a pid still means the same one.

A pid is given out again after a while, so a process is known by its pid *and* its start time.

What a child starts is below its keeper (`keeper`). When the keepers were killed, too, it is known by its
*number*: a limit of resources, which every process inherits, whatever it forgets. One of them means nothing
since Linux 2.4, that of locks of files, and a child's is a number of its own. Elsewhere than on Linux there
is no such limit; what is still in the child's session is found there.

On Linux all of this is in `/proc`. Elsewhere it comes from `ps`, to the second.
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

from serai.machine.processes.environment import find_program

_PROC = Path("/proc")
_LIMIT = b"\nMax file locks "
_NUMBER_BYTES = 7
_FIELDS_BEFORE_NAME_END = 3
_PS = ("-o", "pid=,ppid=,pgid=,stat=,lstart=")


class ProcessIdentity(msgspec.Struct, frozen=True):
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
    number: int | None = None
    """Its limit of locks; `None` when it has none, or was not asked for it."""

    @property
    def identity(self) -> ProcessIdentity:
        """What tells it from all others."""
        return ProcessIdentity(self.pid, self.started)


def number_of(mark: str) -> int:
    """The limit of locks that a child with this mark has, and all that it starts."""
    return int.from_bytes(hashlib.blake2b(mark.encode(), digest_size=_NUMBER_BYTES).digest(), "big")


def look(pid: int) -> Process | None:
    """The process of that pid, without its number; `None` when there is none."""
    if sys.platform == "linux":
        return _from_proc(str(pid))
    return next(_from_ps("-p", str(pid)), None)


def census() -> list[Process]:
    """All processes that can be seen. It takes some milliseconds: not for the event loop."""
    if sys.platform != "linux":
        return list(_from_ps())
    found = [_from_proc(name, numbered=True) for name in os.listdir(_PROC) if name.isdigit()]  # noqa: PTH208 - the names are enough
    return [process for process in found if process is not None]


def identity_of(pid: int) -> ProcessIdentity:
    """Which process has that pid now."""
    process = look(pid)
    return ProcessIdentity(pid, process.started if process is not None else "")


def is_running(process: ProcessIdentity) -> bool:
    """Whether exactly this process still runs."""
    now = look(process.pid)
    return now is not None and not now.dead and now.started == process.started


def members(processes: Iterable[Process], mark: str, leader: ProcessIdentity | None) -> list[Process]:
    """Those of a child's processes that still run: what has its number, and what is in its session.

    Never among them are this process and those above it: a host may have been started in a terminal of the
    one before. `leader` is the child itself, if it is known.
    """
    number = number_of(mark)
    everyone = {process.pid: process for process in processes}
    spared = _line_of(os.getpid(), everyone)
    if leader is not None and leader.pid in everyone and everyone[leader.pid].started != leader.started:
        leader = None  # the pid is someone else's now, so nothing of the session was left
    return [
        process
        for process in everyone.values()
        if not process.dead
        and process.pid not in spared
        and (process.number == number or (leader is not None and leader.pid == process.session))
    ]


def send(process: ProcessIdentity, *signals: signal.Signals) -> None:
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


def _line_of(pid: int, everyone: dict[int, Process]) -> set[int]:
    line: set[int] = set()
    while pid > 1 and pid not in line:
        line.add(pid)
        pid = everyone[pid].parent if pid in everyone else 0
    return line


@cache
def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _from_proc(pid: str, *, numbered: bool = False) -> Process | None:
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
        number=_number(pid) if numbered else None,
    )


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
