"""A server of models that follows a script, and a session in which tools are used."""

from __future__ import annotations

import importlib
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path

import pytest

from harness.conversation import Conversation
from harness.model.model_server import ModelScriptServer, model_server
from harness.model.servers import model_host, talk
from harness.model.workbench import Workbench, workbench


@pytest.fixture(scope="session", autouse=True)
def imported() -> None:
    """What takes long to import is there before a test waits for anything."""
    for name in ("serai.harness.model.vendors", "pydantic_ai.models.openai"):
        importlib.import_module(name)


@pytest.fixture
async def scripted() -> AsyncIterator[ModelScriptServer]:
    """A server on loopback. Put replies into its script; when there are no more, it says `done`."""
    async with model_server() as server:
        yield server


@pytest.fixture
async def bench(tmp_path: Path) -> AsyncGenerator[Workbench]:
    """A session in a folder of its own, in which tools are used."""
    async with workbench(tmp_path) as opened:
        yield opened


@pytest.fixture
async def conversation(scripted: ModelScriptServer, tmp_path: Path) -> AsyncGenerator[Conversation]:
    """A session with the server's model, in a folder of its own."""
    async with model_host(scripted) as host:
        yield await talk(host, tmp_path)
