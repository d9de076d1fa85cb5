"""What the system says of its processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from serai.machine.processes import census as module
from serai.machine.processes.census import (
    Process,
    ProcessIdentity,
    census,
    look,
    members,
    number_of,
    send,
)

linux = pytest.mark.skipif(sys.platform != "linux", reason="NOT CHECKED: it needs /proc")


@linux
def test_what_forgets_everything_is_known_by_its_number() -> None:
    script = f"ulimit -S -x {number_of('mine')}; exec env -i setsid -f sleep 60 & wait"
    subprocess.run(["/bin/bash", "-c", script], check=True)
    found = [each for each in census() if each.number == number_of("mine")]
    try:
        assert len(found) == 1
        # What it is called by may still change: `setsid` gives it a group of its own when it runs.
        again = members(census(), "mine", None)
        assert [each.identity for each in again] == [each.identity for each in found]
        assert members(census(), "other", None) == []
    finally:
        for each in found:
            send(each.identity, signal.SIGKILL)


def test_ps_tells_the_same_as_proc(sleeper: subprocess.Popen[bytes]) -> None:
    told = {process.pid: process for process in module._from_ps()}
    for pid in (sleeper.pid, os.getpid()):
        seen = look(pid)
        assert seen is not None
        assert (told[pid].parent, told[pid].group, told[pid].session, told[pid].dead) == (
            seen.parent,
            seen.group,
            seen.session,
            seen.dead,
        )
    (alone,) = module._from_ps("-p", str(sleeper.pid))
    assert alone == told[sleeper.pid]
    assert alone.started
    assert list(module._from_ps("-p", "999999999")) == []


def test_a_signal_reaches_only_the_process_that_is_meant(sleeper: subprocess.Popen[bytes]) -> None:
    process = look(sleeper.pid)
    assert process is not None
    send(ProcessIdentity(sleeper.pid, "an earlier one"), signal.SIGKILL)
    send(ProcessIdentity(999_999_999, "nobody"), signal.SIGKILL)
    assert sleeper.poll() is None
    send(process.identity, signal.SIGTERM)
    assert sleeper.wait(10) == -signal.SIGTERM


def person(pid: int, session: int, *, parent: int = 1, mark: str = "") -> Process:
    number = number_of(mark) if mark else None
    return Process(pid, f"start-{pid}", parent, session, session, dead=False, number=number)


LEADER = ProcessIdentity(1_000_010, "start-1000010")


def pids(processes: list[Process], leader: ProcessIdentity | None = LEADER) -> list[int]:
    return [process.pid - 1_000_000 for process in members(processes, "mine", leader)]


def test_members_are_the_session_and_what_has_the_number() -> None:
    everyone = [
        person(1_000_010, 1_000_010),
        person(1_000_011, 1_000_010),
        person(1_000_012, 1_000_012, mark="mine"),
        person(1_000_013, 1_000_013, mark="other"),
        Process(1_000_014, "start", 1, 1_000_010, 1_000_010, dead=True),
    ]
    assert pids(everyone) == [10, 11, 12]
    assert pids(everyone, leader=None) == [12]


def test_this_process_and_those_above_it_are_never_members() -> None:
    ours = os.getpid()
    everyone = [
        person(1_000_010, 1_000_010),
        person(ours, 1_000_010, parent=1_000_010, mark="mine"),
        person(1_000_015, 1_000_010, parent=ours),
    ]
    assert pids(everyone) == [15]
