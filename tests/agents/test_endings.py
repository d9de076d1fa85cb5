"""How things end: completely, whoever loses patience, and without a trace in what follows."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from serai import agents
from serai.agents.testing import ScriptedAgent, ScriptedTurn
from serai.errors import AgentClosed, AgentInactive

LIMIT = 10.0


class SlowToEnd(ScriptedAgent):
    """Ends when it may."""

    def __init__(self, *told: Any, **more: Any) -> None:
        super().__init__(*told, **more)
        self.is_ending = asyncio.Event()
        self.may_end = asyncio.Event()
        self.is_gone = False

    async def play(self, wire: Any) -> None:
        try:
            await super().play(wire)
        finally:
            self.is_ending.set()
            while not self.may_end.is_set():
                try:
                    await self.may_end.wait()
                except asyncio.CancelledError:
                    continue
            self.is_gone = True


async def several_steps() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_whoever_is_cancelled_while_the_agent_ends_returns_when_it_is_gone() -> None:
    agent = SlowToEnd(["a"])
    using = asyncio.create_task(agents.ask(agent, "go"))
    async with asyncio.timeout(LIMIT):
        await agent.is_ending.wait()
        using.cancel()
        await several_steps()
        assert not using.done()
        agent.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await using
    assert agent.is_gone


async def test_after_a_silent_turn_the_next_one_waits_until_the_agent_has_stopped() -> None:
    async def silent(turn: ScriptedTurn) -> None:
        await turn.cancelled()
        turn.say("too late")

    agent = ScriptedAgent([silent, "next"])
    async with agents.session(agent, inactivity_timeout=0.05) as session:
        with pytest.raises(AgentInactive):
            await session.ask("go")
        assert (await session.ask("again")).text == "next"


async def test_after_a_silent_turn_of_an_agent_that_does_not_stop_there_is_an_end() -> None:
    async def deaf(turn: ScriptedTurn) -> None:
        await asyncio.Event().wait()
        turn.say("never")

    agent = ScriptedAgent([deaf, "next"])
    async with agents.session(agent, inactivity_timeout=0.05, cancel_timeout=0.05) as session:
        with pytest.raises(AgentInactive):
            await session.ask("go")
        with pytest.raises(AgentClosed):
            await session.ask("again")


# -- callbacks that fail -----------------------------------------------------------------------------------


def object_to(warning: str) -> None:
    raise ValueError(warning)


async def test_whoever_objects_to_a_warning_does_so_before_anything_is_sent() -> None:
    agent = ScriptedAgent(["a"])
    async with agents.session(agent, on_warning=object_to) as session:
        with pytest.raises(ValueError, match="dropped: image"):
            await session.ask([agents.image(b"x"), "look"])
        assert agent.prompts == []
        assert (await session.ask("go")).text == "a"
