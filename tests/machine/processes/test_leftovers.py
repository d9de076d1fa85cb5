"""What is left of a host that was killed is ended: by its keepers, and at the next start."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from machine.processes.watching import LIMIT, content, runs, until
from serai.machine.processes.leftovers import end_leftovers

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
async def host(tmp_path: Path) -> AsyncIterator[Dying]:
    file = tmp_path / "pids"
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(HOST), str(file), str(tmp_path / "notes"), stdout=subprocess.PIPE
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
        await until(lambda: not any(map(runs, dying.keepers)))  # they end the rest
        for pid in dying.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


async def test_a_host_that_is_killed_takes_everything_with_it(host: Dying) -> None:
    await host.kill()
    await until(lambda: not host.left())
    await until(lambda: not any(map(runs, host.keepers)))


@pytest.mark.skipif(sys.platform != "linux", reason="NOT CHECKED: sessions are looked for in /proc")
async def test_what_is_left_when_keepers_are_killed_too_is_ended_by_the_next_start(
    host: Dying, tmp_path: Path
) -> None:
    host.process.send_signal(signal.SIGSTOP)  # or it does something about it
    for pid in host.keepers:
        os.kill(pid, signal.SIGKILL)
    await host.kill()
    await until(lambda: not any(map(runs, host.pids[:2])))
    assert await asyncio.to_thread(end_leftovers, tmp_path / "notes")
    left = host.left()
    assert len(left) == 4  # what has left its session, by setsid and as a daemon
    assert list((tmp_path / "notes").iterdir()) == []
    assert await asyncio.to_thread(end_leftovers, tmp_path / "notes") == []
    assert host.left() == left


def test_a_later_session_of_the_same_number_is_left_alone(tmp_path: Path) -> None:
    sleeper = subprocess.Popen(["/bin/sleep", "600"], start_new_session=True)
    try:
        (tmp_path / f"{sleeper.pid}-1").touch()
        assert end_leftovers(tmp_path) == []
        assert sleeper.poll() is None
        assert list(tmp_path.iterdir()) == []
    finally:
        sleeper.kill()
        sleeper.wait()
