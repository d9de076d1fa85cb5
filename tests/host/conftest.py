"""Conversations with agents of a host."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from harness.conversation import Conversation, frame
from hosts import WITHIN
from serai.ahp.types import SessionInputRequest
from serai.harness.callback import STEERABLE, CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn
from serai.store.memory import MemoryStore


@pytest.fixture
async def talk() -> AsyncIterator[Conversation]:
    """A conversation with an agent that can be steered, and works for ever, or asks, when it is told so."""

    async def answer(turn: Turn) -> None:
        await turn.say(turn.message.text)
        if turn.message.text == "work":
            await asyncio.Event().wait()
        if turn.message.text == "ask":
            await turn.ask(SessionInputRequest(id="q", message="Well?"))

    harness = CallbackHarness("works", answer, capabilities=STEERABLE)
    host = Host(MemoryStore(), [harness], frame)
    await host.open()
    try:
        async with asyncio.timeout(WITHIN):
            yield await Conversation.begin(host, "works")
    finally:
        await host.close()
