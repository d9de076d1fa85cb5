"""What a host that was killed has started is ended by its keepers."""

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
        sys.executable, str(HOST), str(file), stdout=subprocess.PIPE
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
