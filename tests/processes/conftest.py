"""Processes of a test, and a look at what they leave behind."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from processes.watching import names
from serai.processes.census import census
from serai.processes.processes import Processes


@pytest.fixture
def records(tmp_path: Path) -> Path:
    return tmp_path / "processes"


@pytest.fixture
async def processes(records: Path) -> AsyncIterator[Processes]:
    """When they are closed, nothing of them may be left: no process, no zombie, no record, no task."""
    before = {process.pid for process in census() if process.parent == os.getpid()}
    processes = Processes(records)
    yield processes
    await processes.close(grace=1)
    assert not processes.children
    assert [
        process for process in census() if process.parent == os.getpid() and process.pid not in before
    ] == []
    assert names(records) == []
    assert asyncio.all_tasks() == {asyncio.current_task()}
