"""A host in memory with the demo agent on it, and a conversation with that."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from harness.conversation import Conversation, frame
from serai.harness.demo import DemoHarness
from serai.host.host import Host
from serai.store.memory import MemoryStore


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    """A host whose demo agent speaks without a pause. When it is closed, nothing may be left running."""
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: faults.append(context))
    host = Host(MemoryStore(), [DemoHarness(pace="instant")], frame)
    await host.open()
    yield host
    await host.close()
    left = asyncio.all_tasks() - {asyncio.current_task()}
    assert not left, f"still running: {left}"
    assert not faults


@pytest.fixture
async def demo(host: Host) -> Conversation:
    """A conversation with the demo agent."""
    return await Conversation.begin(host, "demo")
