"""Agents for tests, in a catalogue of the test's own."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from agents.machine import Machine
from machine.processes.watching import children, until
from serai.agents.catalogue.agents import Catalogue
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import Finder
from serai.agents.testing import EVERYTHING

PLAYER = Path(__file__).with_name("playing_agent.py")
ALL: dict[str, Any] = dict(EVERYTHING)
"""The capabilities of an agent that can do everything."""


class Players:
    """Makes agents that play, and the options to find them with."""

    def __init__(self, root: Path) -> None:
        machine = Machine(root / "machine")
        for folder in (machine.root, machine.home, machine.bin, root / "project"):
            folder.mkdir()
        self.project = root / "project"
        self.warnings: list[str] = []
        self._finder = Finder(machine.surroundings)
        self._catalogue = Catalogue([])
        self._record = root / "record"
        self.add("player")

    def add(self, name: str, *, way: dict[str, Any] | None = None, env: Any = None, **told: Any) -> str:
        """Make an agent that was told something: `add("able", capabilities=ALL)`. Returns its name."""
        told.setdefault("record", str(self._record))
        args = ("-I", "-S", "-u", str(PLAYER), json.dumps(told))
        return self._put(name, Way(program=sys.executable, args=args, **(way or {})), env=env)

    def add_missing(self, name: str) -> str:
        """An agent that is not installed."""
        return self._put(name, Way(program="no-such-program"), install="pip install it")

    def _put(self, name: str, way: Way, *, env: Any = None, **more: Any) -> str:
        definition = AgentDefinition(id=name, label=name.title(), ways=(way,), env=env or {}, **more)
        self._catalogue = self._catalogue.adding(definition)
        return name

    def native(self, name: str) -> str:
        """An agent that takes a system prompt of its own."""
        self.add(name)
        before = self._catalogue.definition_for(name)
        return self._put(name, before.ways[0], native_system_prompt=True)

    @property
    def options(self) -> dict[str, Any]:
        """What makes the agents be found, and warnings be heard."""
        return {
            "catalogue": self._catalogue,
            "finder": self._finder,
            "cwd": self.project,
            "on_warning": self.warnings.append,
        }

    @property
    def heard(self) -> list[dict[str, Any]]:
        """All that agents were told, in its order."""
        return [json.loads(line) for line in self._record.read_text().splitlines()]

    @property
    def methods(self) -> list[str]:
        """The same, by name."""
        return [message["method"] for message in self.heard]


@asynccontextmanager
async def nothing_left(temporary: Path) -> AsyncGenerator[None]:
    """After the block there is no process, no task and no folder that was not there before."""
    before = children()
    yield
    assert children() <= before
    own = asyncio.current_task()
    await until(lambda: asyncio.all_tasks() == {own})
    assert not [name for name in os.listdir(temporary) if name.startswith("serai-")]  # noqa: PTH208 - a quick look
