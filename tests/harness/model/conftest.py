"""A server of models that follows a script."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from harness.model.model_server import ModelScriptServer, model_server


@pytest.fixture
async def scripted() -> AsyncIterator[ModelScriptServer]:
    """A server on loopback. Put replies into its script; when there are no more, it says `done`."""
    async with model_server() as server:
        yield server
