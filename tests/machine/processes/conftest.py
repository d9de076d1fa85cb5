"""Processes of a test, and a look at what they leave behind."""

from __future__ import annotations

import asyncio
import resource
import subprocess
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from machine.processes.watching import children, names
from serai.machine.processes.census import number_of
from serai.machine.processes.keeper import take_number
from serai.machine.processes.processes import Processes

RLIMIT_LOCKS = 10


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
def sleeper() -> Iterator[subprocess.Popen[bytes]]:
    """A process in a session of its own, with the number of the mark `mark` where there are numbers."""
    before = resource.getrlimit(RLIMIT_LOCKS)
    take_number(number_of("mark"))
    try:
        process = subprocess.Popen(["/bin/sleep", "60"], start_new_session=True)
    finally:
        resource.setrlimit(RLIMIT_LOCKS, before)
    yield process
    process.kill()
    process.wait()
