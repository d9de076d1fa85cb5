"""A command that is run for its answer: nothing of it remains, however its caller leaves."""

from __future__ import annotations

import asyncio
import gc
import os
import sys
import warnings
from asyncio.subprocess import PIPE
from pathlib import Path

import pytest

from machine.processes.watching import LIMIT, children, content, runs, until, written_pid
from serai.machine.processes.child import to_its_end
from serai.machine.processes.processes import brief

STUBBORN = """
import os, pathlib, signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(f"{child.pid}\\n")
time.sleep(600)
"""

POLITE = """
import pathlib, signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
print("ready", flush=True)
signal.sigwait([signal.SIGTERM])
pathlib.Path(sys.argv[1]).write_text("bye")
sys.exit(3)
"""


@pytest.mark.parametrize("grace", [0, 0.05])
async def test_leaving_early_ends_all_that_it_started(tmp_path: Path, grace: float) -> None:
    file = tmp_path / "pid"
    async with asyncio.timeout(LIMIT):
        async with brief(
            sys.executable, "-c", STUBBORN, os.fspath(file), folder=None, environment={}, grace=grace
        ) as process:
            child = await written_pid(file)
        assert process.returncode is not None
        await until(lambda: not runs(child))


async def test_one_that_listens_is_given_time_to_end(tmp_path: Path) -> None:
    file = tmp_path / "said"
    async with asyncio.timeout(LIMIT):
        async with brief(
            sys.executable, "-c", POLITE, os.fspath(file), folder=None, environment={}, grace=LIMIT
        ) as process:
            assert process.stdout is not None
            await process.stdout.readline()
        assert (content(file), process.returncode) == ("bye", 3)


@pytest.mark.parametrize("steps", [0, 5])
def test_cancelled_twice_as_the_host_ends_it_leaves_neither_a_process_nor_a_pipe(steps: int) -> None:
    async def use() -> None:
        async with brief("sleep", "600", folder=None, environment=os.environ, stdin=PIPE) as process:
            await process.wait()

    async def host() -> None:
        using = asyncio.create_task(use())
        for _ in range(2):
            for _ in range(steps):
                await asyncio.sleep(0)
            using.cancel()
        with pytest.raises(asyncio.CancelledError):
            async with asyncio.timeout(LIMIT):
                await using

    before = children()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(host())
        gc.collect()
    assert [str(warning.message) for warning in told] == []
    assert not any(map(runs, children() - before))


@pytest.mark.parametrize("steps", [1, 2])
@pytest.mark.parametrize("grace", [0, LIMIT])
def test_a_loop_that_closes_while_it_is_ended_leaves_neither_a_process_nor_a_pipe(
    grace: float, steps: int
) -> None:
    runs_now = asyncio.Event()

    async def use() -> None:
        async with brief(
            "sleep", "600", folder=None, environment=os.environ, stdin=PIPE, grace=grace
        ) as process:
            runs_now.set()
            await process.wait()

    async def host() -> None:
        using = asyncio.create_task(use())
        async with asyncio.timeout(LIMIT):
            await runs_now.wait()
        using.cancel()
        for _ in range(steps):
            await asyncio.sleep(0)  # and nobody waits for its end

    before = children()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", ResourceWarning)
        asyncio.run(host())
        gc.collect()
    assert [str(warning.message) for warning in told] == []
    assert not any(map(runs, children() - before))


async def several_steps() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_work_is_waited_for_and_then_the_cancelling_is_told() -> None:
    may_end = asyncio.Event()
    waiting = asyncio.create_task(to_its_end(may_end.wait()))
    for _ in range(3):
        await several_steps()
        waiting.cancel()
    await several_steps()
    assert not waiting.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await to_its_end(may_end.wait())
