"""The link to an agent: which way its session is opened, and that there is one agent at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from serai.acp.capabilities import AgentCapabilities
from serai.acp.session import OpenWay
from serai.acp.session_start import Link, Opened, Wanted
from serai.errors import (
    AgentClosed,
    AgentError,
    AuthRequired,
    CapabilityNotSupportedError,
    SessionLoadFailed,
)

BEFORE = Wanted("before")
BOTH = AgentCapabilities(resume_session=True, load_session=True)


class _Agent:
    def __init__(self, capabilities: AgentCapabilities) -> None:
        self.capabilities = capabilities
        self.is_running = True

    async def close(self) -> None:
        self.is_running = False


class _World:
    """Agents that offer something, and refuse some of it."""

    def __init__(self, offered: AgentCapabilities = BOTH, **refusals: AgentError) -> None:
        self.offered = offered
        self.refusals = refusals
        self.tried: list[OpenWay] = []
        self.agents: list[_Agent] = []
        self.trying = asyncio.Event()
        self.pause = asyncio.Event()
        self.pause.set()
        self.link: Link[Any] = Link(self.start, self.attempt, name="fake")

    async def start(self) -> Any:
        self.agents.append(_Agent(self.offered))
        return self.agents[-1]

    async def attempt(self, agent: Any, way: OpenWay, session_id: str | None) -> Any:
        self.tried.append(way)
        self.trying.set()
        await self.pause.wait()
        if (error := self.refusals.get(way.value)) is not None:
            agent.is_running = not isinstance(error, AgentClosed)
            raise error
        return session_id or "made"

    async def get(self, wanted: Wanted = BEFORE) -> Opened[Any]:
        return await self.link.get(unless_running(wanted))

    @property
    def running(self) -> int:
        return sum(agent.is_running for agent in self.agents)


def unless_running(wanted: Wanted) -> Callable[[Opened[Any] | None], Awaitable[Wanted | None]]:
    async def decide(running: Opened[Any] | None) -> Wanted | None:
        return None if running is not None else wanted

    return decide


REFUSED = SessionLoadFailed("no", agent="fake")
UNKNOWN = CapabilityNotSupportedError("sessionCapabilities.resume", agent="fake")
GONE = AgentClosed("it fell", agent="fake")


@pytest.mark.parametrize(
    ("world", "wanted", "way", "session"),
    [
        (_World, Wanted(), OpenWay.NEW, "made"),
        (_World, BEFORE, OpenWay.RESUMED, "before"),
        (lambda: _World(resumed=REFUSED), BEFORE, OpenWay.LOADED, "before"),
        (lambda: _World(resumed=UNKNOWN), BEFORE, OpenWay.LOADED, "before"),
        (lambda: _World(resumed=GONE), BEFORE, OpenWay.LOADED, "before"),
        (lambda: _World(resumed=REFUSED, loaded=REFUSED), BEFORE, OpenWay.RECREATED, "made"),
        (lambda: _World(AgentCapabilities()), BEFORE, OpenWay.RECREATED, "made"),
        (_World, Wanted("before", anew="it was taken back"), OpenWay.RECREATED, "made"),
        (
            lambda: _World(AgentCapabilities(fork_session=True)),
            Wanted("before", fork=True),
            OpenWay.FORKED,
            "before",
        ),
        (_World, Wanted("before", fork=True), OpenWay.RECREATED, "made"),
    ],
)
async def test_a_session_is_opened_in_the_best_way_that_the_agent_offers(
    world: Callable[[], _World], wanted: Wanted, way: OpenWay, session: str
) -> None:
    made = world()
    opened = await made.get(wanted)
    assert (opened.way, opened.session, made.running) == (way, session, 1)
    assert (opened.reason is not None) is (way is OpenWay.RECREATED)


async def test_an_agent_that_wants_a_sign_in_keeps_its_session_for_later() -> None:
    world = _World(resumed=AuthRequired("sign in", agent="fake"))
    with pytest.raises(AuthRequired):
        await world.get()
    assert (world.tried, world.running) == ([OpenWay.RESUMED], 0)


async def test_several_who_ask_at_the_same_moment_get_one_agent() -> None:
    world = _World()
    opened = await asyncio.gather(*(world.get() for _ in range(5)))
    assert len(world.agents) == 1
    assert all(each is opened[0] for each in opened)


async def test_an_agent_that_is_gone_is_started_again_and_one_that_is_dropped() -> None:
    world = _World()
    first = await world.get()
    first.agent.is_running = False
    second = await world.get()
    assert second is not first
    await world.link.drop(first)
    assert world.link.running is second
    await world.link.drop()
    assert (world.link.running, world.running) == (None, 0)


@pytest.mark.parametrize("how", ["cancel", "close"])
async def test_nothing_is_left_of_an_agent_whose_opening_is_stopped(how: str) -> None:
    world = _World()
    world.pause.clear()
    getting = asyncio.create_task(world.get())
    await world.trying.wait()
    if how == "close":
        await world.link.close()
        with pytest.raises(AgentClosed):
            await getting
        with pytest.raises(AgentClosed):
            await world.get()
    else:
        getting.cancel()
        await asyncio.wait([getting])
    assert (world.running, len(world.agents)) == (0, 1)
