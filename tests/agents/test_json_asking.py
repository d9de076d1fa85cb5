"""An answer is sent back to the one who gave it: nobody comes in between, and nobody else is asked."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from serai import agents
from serai.agents import Renewed, Retries
from serai.agents.testing import ScriptedAgent, ScriptedTurn

LIMIT = 10.0
QUESTION = "How many files?"
AT_ONCE = Retries(waits=())


async def leave(turn: ScriptedTurn) -> None:
    turn.exit(3)


def kinds(agent: ScriptedAgent) -> list[str]:
    """What the agent was asked: the question itself, its repair, or something else."""
    return [
        "question" if QUESTION in each else "repair" if "cannot be used" in each else each
        for each in agent.prompts
    ]


async def test_an_agent_is_not_started_anew_before_it_has_mended_its_answer() -> None:
    renewed: list[Renewed] = []
    agent = ScriptedAgent(["many", "7", "later"])
    async with agents.session(
        agent, recycle_after=1, on_renewed=renewed.append, on_warning=lambda _: None
    ) as session:
        answer = await session.ask_json(QUESTION, int)
        assert (answer.data, answer.repaired) == (7, True)
        assert (agent.starts, renewed) == (1, [])
        assert (await session.ask("go on")).text == "later"
    assert kinds(agent) == ["question", "repair", "go on"]
    assert agent.starts == 2


async def test_after_an_agent_has_died_over_the_repair_all_of_it_is_asked_again() -> None:
    agent = ScriptedAgent(["many", leave, "7"])
    async with agents.session(agent, retries=AT_ONCE, on_warning=lambda _: None) as session:
        answer = await session.ask_json([QUESTION], int)
    assert (answer.data, answer.repaired) == (7, False)
    assert kinds(agent) == ["question", "repair", "question"]


@pytest.mark.parametrize("options", [{}, {"retries": AT_ONCE}], ids=["once", "retried"])
async def test_what_others_ask_meanwhile_waits_for_the_repair(options: Any) -> None:
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    async def wrong(turn: ScriptedTurn) -> None:
        is_asked.set()
        await may_answer.wait()
        turn.say("many")

    agent = ScriptedAgent([wrong, "7", "other", "8"])
    async with agents.session(agent, **options) as session, asyncio.timeout(LIMIT):
        asking = asyncio.create_task(session.ask_json(QUESTION, int))
        await is_asked.wait()
        other = asyncio.create_task(session.ask("other"))
        third = asyncio.create_task(session.ask_json("third", int))
        await asyncio.sleep(0)  # both stand in line
        may_answer.set()
        assert (await asking).data == 7
        assert (await other).text == "other"
        assert (await third).data == 8
    assert kinds(agent)[:3] == ["question", "repair", "other"]


async def test_who_is_cancelled_in_the_middle_lets_the_others_in() -> None:
    is_asked = asyncio.Event()

    async def wait(turn: ScriptedTurn) -> None:
        is_asked.set()
        await turn.is_cancelled.wait()

    agent = ScriptedAgent(["many", wait, "next"])
    async with agents.session(agent) as session, asyncio.timeout(LIMIT):
        asking = asyncio.create_task(session.ask_json(QUESTION, int))
        await is_asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await session.ask("go")).text == "next"
