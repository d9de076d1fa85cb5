"""Turns that are stopped, and that fail."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import (
    ModelConnectionError,
    ModelRequestTimeout,
)
from pydantic_ai.settings import ModelSettings

from agents.players import Players
from machine.processes.watching import until
from models.conversing import Making, answer_of
from serai.errors import AgentClosed


async def test_cancelling_a_run_cancels_the_turn_and_ends_the_agent(model: Making, players: Players) -> None:
    running = asyncio.create_task(Agent(model()).run("wait"))
    await until(lambda: players._record.exists() and "session/prompt" in players.methods)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert players.methods[-1] == "session/cancel"  # and the fixture sees that nothing is left


async def test_a_run_can_be_cancelled_while_the_agent_starts(players: Players, model: Making) -> None:
    players.add("silent", silent=True)
    running = asyncio.create_task(Agent(model("silent")).run("echo a"))
    await until(lambda: players._record.exists() and "initialize" in players.methods)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running


async def test_a_request_that_takes_too_long_leaves_nothing(model: Making) -> None:
    agent = Agent(model(), model_settings=ModelSettings(request_timeout=0.3))
    with pytest.raises(ModelRequestTimeout):
        await agent.run("wait")


async def test_a_stream_that_takes_too_long_leaves_nothing(model: Making) -> None:
    agent = Agent(model(), model_settings=ModelSettings(request_timeout=0.3))
    with pytest.raises(ModelRequestTimeout):
        async with agent.run_stream_events("wait") as events:
            [_ async for _ in events]


async def test_an_agent_that_ends_in_a_turn_fails_it(model: Making) -> None:
    with pytest.raises(ModelConnectionError) as raised:
        await Agent(model()).run("crash")
    assert isinstance(raised.value.__cause__, AgentClosed)
    assert raised.value.in_stream
    assert raised.value.provider_error_code == "connection_closed"


async def test_a_refusal_is_one_for_pydantic_ai(model: Making) -> None:
    result = await Agent(model()).run("refuse")
    assert answer_of(result.all_messages()).finish_reason == "content_filter"
