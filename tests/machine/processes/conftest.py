"""Processes of a test, and a look at what they leave behind."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from machine.processes.watching import children, names, until
from serai.machine.processes.census import MARK, census
from serai.machine.processes.processes import Processes


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return tmp_path / "processes"


@pytest.fixture
async def processes(records: Path) -> AsyncIterator[Processes]:
    """When they are closed, nothing of them may be left: no process, no zombie, no record, no task."""
    before = children()
    processes = Processes(records)
    yield processes
    await processes.close(grace=1)
    assert not processes.children
    assert children() <= before
    assert names(records) == []
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.fixture
async def sleeper() -> AsyncIterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, with the marks `outer` and `mark`."""
    process = subprocess.Popen(  # noqa: ASYNC220 - it takes a millisecond
        ["/bin/sleep", "60"], start_new_session=True, env={**os.environ, MARK: "outer:mark"}
    )
    if sys.platform == "linux":  # a program has started before its environment can be seen
        await until(lambda: any(each.pid == process.pid and "mark" in each.marks for each in census()))
    yield process
    process.kill()
    process.wait()
