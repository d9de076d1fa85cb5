"""Fixtures of the relay's tests."""

from __future__ import annotations

from collections.abc import AsyncGenerator

import pytest

from relay.workspaces import Inn, inn


@pytest.fixture
async def house() -> AsyncGenerator[Inn]:
    """A host with a demo agent and its relay."""
    async with inn() as opened:
        yield opened
