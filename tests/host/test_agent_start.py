"""How the agent of a session is started: once, and while the turn's base is recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest

from harness.conversation import Conversation, frame
from hosts import WITHIN
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn
from serai.store.memory import MemoryStore


class Slow(CallbackHarness):
    """An agent that starts at once, and from its second start on when it is let."""

    def __init__(self) -> None:
        super().__init__("slow", self._tell)
        self.starts = 0
        self.started = asyncio.Event()
        self.may_start = asyncio.Event()

    async def _tell(self, turn: Turn) -> None:
        await turn.say("done")

    async def create(self, settings: Mapping[str, Any], context: Any) -> Any:
        self.starts += 1
        if self.starts > 1:
            self.started.set()
            await self.may_start.wait()
        return await super().create(settings, context)


@pytest.fixture
def harness() -> Slow:
    return Slow()


@pytest.fixture
async def asleep(harness: Slow) -> Any:
    """A session whose agent has to be started again."""
    store = MemoryStore()
    host = Host(store, [harness], frame)
    await host.open()
    uri = (await Conversation.begin(host, "slow")).session.uri
    await host.close()
    again = Host(store, [harness], frame)
    await again.open()
    session = await again.sessions.bring(uri)
    assert session is not None
    async with asyncio.timeout(WITHIN):
        yield Conversation(again, session)
    await again.close()


async def test_two_who_need_a_sleeping_session_start_one_agent(harness: Slow, asleep: Conversation) -> None:
    both = asyncio.gather(asleep.session.agent(), asleep.session.agent())
    await harness.started.wait()
    harness.may_start.set()
    one, other = await both
    assert one is other
    assert harness.starts == 2


async def test_the_agent_is_started_while_the_turns_base_is_recorded(
    harness: Slow, asleep: Conversation, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def record(_turn_id: str) -> None:
        await harness.started.wait()
        harness.may_start.set()

    monkeypatch.setattr(asleep.session.changes.bases, "turn_begins", record)
    async with asyncio.timeout(WITHIN):
        assert (await asleep.say("go")).state == "complete"
