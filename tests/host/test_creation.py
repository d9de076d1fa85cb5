"""What a session begins with that goes on from another one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from serai.ahp.commands import CreateSessionParams, SessionForkSource
from serai.ahp.types import SessionConfigPropertySchema, SessionConfigSchema, UserMessage
from serai.errors import InvalidParams
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.session.session import Session
from serai.host.turn import Turn
from serai.store.memory import MemoryStore

WITHIN = 30.0


def agent(name: str, **types: str) -> CallbackHarness:
    async def answer(turn: Turn) -> None:
        await turn.say("done")

    properties = {
        setting: SessionConfigPropertySchema(type=kind, title=setting) for setting, kind in types.items()
    }
    return CallbackHarness(name, answer, schema=SessionConfigSchema(type="object", properties=properties))


@pytest.fixture
async def host() -> AsyncIterator[Host]:
    agents = [
        agent("one", style="string", size="string", loud="boolean"),
        agent("two", style="string", size="number"),
    ]
    host = Host(MemoryStore(), agents, lambda message: message)
    await host.open()
    async with asyncio.timeout(WITHIN):
        yield host
    await host.close()


async def create(host: Host, name: str, provider: str, **params: Any) -> Session:
    wanted = CreateSessionParams(channel=f"ahp-session:/{name}", provider=provider, **params)
    session = await host.create(wanted, "c")
    await session.ready()
    return session


async def test_a_fork_inherits_what_its_agent_has_and_nothing_else(host: Host) -> None:
    config = {"style": "plain", "size": "large", "loud": True}
    source = await create(host, "source", "one", config=config)
    turn = await source.converse(UserMessage(text="go"), "c")
    fork = SessionForkSource(session=source.uri, turn_id=turn.id)
    same = await create(host, "same", "one", fork=fork, config={"style": "fine"})
    assert same.live.head.config is not None
    assert same.live.head.config.values == {**config, "style": "fine"}
    other = await create(host, "other", "two", fork=fork)
    assert other.live.head.config is not None
    assert other.live.head.config.values == {"style": "plain"}
    with pytest.raises(InvalidParams, match=r"config\.loud: there is no such setting"):
        await create(host, "third", "two", fork=fork, config={"loud": True})
