"""Keepers: what they do for a child, and what happens when they are killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from machine.processes.watching import parent_of, runs, until, written_pid
from serai.machine.processes.child import Child, Exit
from serai.machine.processes.processes import Processes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="NOT CHECKED: only Linux has subreapers")

AWAY = "env -i setsid sh -c 'echo $$ > {file}; exec sleep 60' & "
"""Leaves the session, and takes nothing along that could be recognised."""


async def started(processes: Processes, file: Path) -> tuple[Child, int]:
    """A child, and the pid of what has left it."""
    script = AWAY.format(file=file) + "sleep 60"
    child = await processes.start(["/bin/sh", "-c", script], what="a parent")
    return child, await written_pid(file)


async def test_a_child_has_nothing_of_the_keepers_but_its_streams(processes: Processes) -> None:
    script = "grep -h -e SigIgn -e SigBlk /proc/self/status; ls /proc/self/fd; ps -o sid= -p $$"
    child = await processes.start(["/bin/sh", "-c", script], what="a child", stdout=subprocess.PIPE)
    assert child.stdout
    told = (await asyncio.to_thread(child.stdout.read)).decode().split()
    child.stdout.close()
    assert told[:2] == ["SigBlk:", "0" * 16]
    assert told[2] == "SigIgn:"
    assert int(told[3], 16) & 0x7FFFFFFF == 0  # those above 31 are nobody's business
    assert told[4:-1] == ["0", "1", "2", "3"]  # the last is the directory that is listed
    assert told[-1] == str(child.pid)
    await child.gone()


async def test_when_a_keeper_is_killed_its_child_is_ended(processes: Processes) -> None:
    child = await processes.start(["/bin/sh", "-c", "trap '' HUP TERM; sleep 60 & wait"], what="a parent")
    os.kill(parent_of(child.pid), signal.SIGKILL)
    assert await child.wait() == Exit()
    await child.gone()
    await until(lambda: not runs(child.pid))


async def test_signals_for_the_host_do_not_end_those_who_keep(processes: Processes, tmp_path: Path) -> None:
    child, other = await started(processes, tmp_path / "pid")
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        os.kill(parent_of(child.pid), number)
    assert (await processes.start(["true"], what="another")).pid
    assert all(map(runs, (parent_of(child.pid), other)))
