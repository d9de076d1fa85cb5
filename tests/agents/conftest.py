"""What the tests of the agents share."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from agents.machine import Machine
from agents.players import Players, nothing_left


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    machine.home.mkdir()
    machine.bin.mkdir()
    return machine


@pytest.fixture
async def players(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Players]:
    """Agents that do as they are told. At the end nothing of them may be left."""
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    own = asyncio.current_task()

    def give_up() -> None:
        for task in asyncio.all_tasks() - {own}:
            task.cancel("it took too long")

    timer = asyncio.get_running_loop().call_later(20, give_up)
    async with nothing_left(temporary):
        yield Players(tmp_path)
    timer.cancel()
