"""What is left of a host that was killed is ended: by its keepers, and at the next start."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from machine.processes.watching import LIMIT, content, names, runs, until
from serai.machine.processes.census import ProcessIdentity
from serai.machine.processes.leftovers import ChildRecord, ChildRecords, end_leftovers

HOST = Path(__file__).with_name("dying_host.py")


class Dying:
    """A host that runs, and all that it has started."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        self.pids: list[int] = []
        self.keepers: list[int] = []

    async def kill(self) -> None:
        self.process.kill()
        await self.process.wait()

    def left(self) -> list[int]:
        return [pid for pid in self.pids if runs(pid)]


@pytest.fixture
async def host(records: Path, tmp_path: Path) -> AsyncIterator[Dying]:
    file = tmp_path / "pids"
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(HOST), str(records), str(file), stdout=subprocess.PIPE
    )
    dying = Dying(process)
    try:
        assert process.stdout
        async with asyncio.timeout(LIMIT):
            told = map(int, (await process.stdout.readline()).split())
        agent, terminal, *dying.keepers = told
        dying.pids = [agent, terminal, *map(int, content(file).split())]
        assert len(dying.left()) == 8
        assert len(dying.keepers) == 2
        yield dying
    finally:
        if process.returncode is None:
            await dying.kill()
        for pid in dying.keepers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)
        await until(lambda: not any(map(runs, dying.keepers)))  # they end the rest
        for pid in dying.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def test_a_host_that_is_killed_takes_everything_with_it(host: Dying, records: Path) -> None:
    await host.kill()
    await until(lambda: not host.left())
    await until(lambda: not any(map(runs, host.keepers)))
    assert await end_leftovers(records) == []
    assert names(records) == []


async def test_what_keepers_that_hang_still_hold_is_ended_by_the_next_start(
    host: Dying, records: Path
) -> None:
    for pid in host.keepers:
        os.kill(pid, signal.SIGSTOP)
    await host.kill()
    found = await end_leftovers(records, grace=0.2)
    assert host.left() == []
    assert {(leftover.what, leftover.ended) for leftover in found} == {
        ("the agent", True),
        ("the terminal", True),
    }


async def test_the_next_start_ends_what_is_left(host: Dying, records: Path) -> None:
    host.process.send_signal(signal.SIGSTOP)  # or it does something about it
    for pid in host.keepers:
        os.kill(pid, signal.SIGKILL)
    await host.kill()
    found = await end_leftovers(records, grace=0.2)
    if sys.platform == "linux":  # elsewhere a daemon without a keeper cannot be told from others
        assert host.left() == []
    assert len(host.left()) <= 2
    assert [leftover.ended for leftover in found] == [True] * len(found)
    assert {leftover.what for leftover in found} == {"the agent", "the terminal"}
    assert names(records) == []
    assert await end_leftovers(records) == []


async def test_what_belongs_to_a_host_that_runs_is_left_alone(host: Dying, records: Path) -> None:
    assert await end_leftovers(records) == []
    assert len(host.left()) == 8
    assert len(names(records)) == 2


GONE = ProcessIdentity(999_999_999, "gone")


async def test_a_later_process_with_the_same_pid_is_left_alone(
    sleeper: subprocess.Popen[bytes], records: Path
) -> None:
    ChildRecords(records).write(
        "other", ChildRecord("long gone", GONE, ProcessIdentity(sleeper.pid, "earlier"))
    )
    assert await end_leftovers(records) == []
    assert sleeper.poll() is None
    assert names(records) == []


def test_records_are_for_their_owner_alone_and_a_damaged_one_is_still_a_mark(records: Path) -> None:
    ChildRecords(records).write("one", ChildRecord("a shell"))
    assert stat.S_IMODE(records.stat().st_mode) == 0o700
    assert [stat.S_IMODE(file.stat().st_mode) for file in records.iterdir()] == [0o600]
    (records / "one.json").write_text("{")
    assert list(ChildRecords(records).all()) == ["one"]
