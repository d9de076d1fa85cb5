"""Processes of a test, and a look at what they leave behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from machine.processes.watching import children
from serai.machine.processes.processes import Processes


@pytest.fixture
async def processes() -> AsyncIterator[Processes]:
    """When they are closed, nothing of them may be left: no process, no zombie, no task."""
    before = children()
    processes = Processes()
    yield processes
    await processes.close(grace=1)
    assert not processes._children
    assert children() <= before
    assert asyncio.all_tasks() == {asyncio.current_task()}
