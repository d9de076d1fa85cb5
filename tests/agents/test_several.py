"""Several agents for one question: after one another, at once, by stages, and in a pool."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agents.players import Players
from machine.processes.watching import until
from serai import agents
from serai.agents import AgentPool, CostTracker, OpenWay, Renewed, Stage, Why
from serai.agents.testing import EVERYTHING, ScriptedAgent
from serai.errors import (
    AgentClosed,
    AgentInactive,
    AgentNotInstalled,
    AgentOverloaded,
    AgentRequestFailed,
    AgentUnknown,
    AttemptsExhausted,
    AuthRequired,
    BudgetExceeded,
)


@pytest.fixture
def several(players: Players) -> Players:
    players.add_missing("absent")
    players.add("locked", new_error={"code": -32000, "message": "sign in"})
    players.add("busy", new_error={"code": -32603, "message": "the model is overloaded"})
    players.add("other")
    return players


# -- failover ----------------------------------------------------------------------------------------------


async def test_whoever_cannot_is_passed_over(several: Players) -> None:
    tried: list[str] = []
    answer = await agents.failover(
        "echo a", ["absent", "locked", "busy", "player", "other"], on_attempt=tried.append, **several.options
    )
    assert (answer.result.text, answer.winner) == ("a", "player")
    assert tried == ["absent", "locked", "busy", "player"]
    assert [type(one.error) for one in answer.attempts] == [
        AgentNotInstalled,
        AuthRequired,
        AgentOverloaded,
        type(None),
    ]


async def test_an_agent_that_falls_silent_is_passed_over(several: Players) -> None:
    several.add("last", answers=["here"])
    answer = await agents.failover("wait", ["player", "last"], inactivity_timeout=0.3, **several.options)
    assert (answer.result.text, answer.winner) == ("here", "last")
    assert isinstance(answer.attempts[0].error, AgentInactive)


async def test_when_nobody_can_all_reasons_are_told(several: Players) -> None:
    with pytest.raises(AttemptsExhausted, match=r"absent: .*; locked: .*sign in") as caught:
        await agents.failover("echo a", ["absent", "locked"], **several.options)
    assert [agent for agent, _ in caught.value.errors] == ["absent", "locked"]
    assert caught.value.to_wire()["errors"][1]["error"]["code"] == "auth_required"


async def test_an_error_that_another_agent_would_not_help_with_is_raised(several: Players) -> None:
    with pytest.raises(AgentRequestFailed):
        await agents.failover("fail -32603 oh", ["player", "other"], **several.options)
    with pytest.raises(AgentUnknown):
        await agents.failover("echo a", ["nobody", "other"], **several.options)
    answer = await agents.failover(
        "echo a", ["nobody", "other"], should_go_on=lambda _: True, **several.options
    )
    assert answer.winner == "other"
    with pytest.raises(ValueError, match="no agent"):
        await agents.failover("echo a", [])


# -- race --------------------------------------------------------------------------------------------------


async def test_the_first_answer_wins_and_the_others_are_gone(several: Players) -> None:
    several.add("quick", answers=["quick"])
    answer = await agents.race("wait", ["player", "absent", "quick", "other"], **several.options)
    assert (answer.result.text, answer.winner) == ("quick", "quick")
    player, absent, _, other = answer.attempts
    assert (player.agent, player.result, player.error) == ("player", None, None)
    assert isinstance(absent.error, AgentNotInstalled)
    assert other.agent == "other"
    several.add("late", answers=["late"])
    both = await agents.race("hi", ["quick", "late"], cancel_losers=False, **several.options)
    assert [each.result.text for each in both.attempts if each.result] == ["quick", "late"]


async def test_cancelling_a_race_cancels_all(several: Players) -> None:
    task = asyncio.create_task(agents.race("wait", ["player", "other"], **several.options))
    await until(lambda: several._record.exists() and several.methods.count("session/prompt") == 2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert several.methods.count("session/cancel") == 2


# -- cascade -----------------------------------------------------------------------------------------------


async def test_the_first_answer_that_does_is_taken(several: Players) -> None:
    async def long_enough(result: agents.AskResult) -> bool:
        return len(result.text) > 3

    several.add("short", answers=["no"])
    several.add("long", answers=["a long answer"])
    answer = await agents.cascade(
        "Well?",
        [
            Stage("absent"),
            Stage("short", lambda result: len(result.text) > 3),
            Stage("long", long_enough),
            "other",
        ],
        **several.options,
    )
    assert (answer.result.text, answer.winner, answer.stage) == ("a long answer", "long", 2)
    absent, short, _ = answer.attempts
    assert isinstance(absent.error, AgentNotInstalled)
    assert short.result is not None
    assert short.result.text == "no"


async def test_a_budget_ends_a_cascade(several: Players) -> None:
    stages = [Stage("player", lambda _: False), "other"]
    with pytest.raises(BudgetExceeded):
        await agents.cascade("cost 0.6", stages, costs=CostTracker(1), **several.options)


# -- pool --------------------------------------------------------------------------------------------------


async def test_a_pool_has_workers_in_turns_and_each_is_used_by_one_at_a_time(several: Players) -> None:
    async with agents.pool(["player", "other"], capacity=3, **several.options) as pool:
        results = await asyncio.gather(*(pool.ask("pid") for _ in range(7)))
        assert len({result.text for result in results}) == 3
        assert {result.agent for result in results} == {"player", "other"}
    assert several.methods.count("initialize") == 3


async def test_whoever_waits_is_served_in_order_and_may_give_up(several: Players) -> None:
    order: list[int] = []

    async def use(number: int) -> None:
        async with pool.worker() as session:
            order.append(number)
            await session.ask("echo a")

    async with agents.pool(["player"], **several.options) as pool:
        async with pool.worker():
            waiting = [asyncio.create_task(use(number)) for number in range(4)]
            await asyncio.sleep(0)
            waiting[1].cancel()
        await asyncio.wait(waiting)
        assert order == [0, 2, 3]


async def test_a_pool_that_cannot_be_filled_leaves_nothing(several: Players) -> None:
    with pytest.raises(AuthRequired):
        await agents.pool(["player", "locked"], capacity=4, **several.options)
    with pytest.raises(ValueError, match="capacity"):
        agents.pool(["player"], capacity=0, **several.options)


async def test_closing_a_pool_ends_what_runs_and_tells_who_waits(several: Players) -> None:
    pool = await agents.pool(["player"], **several.options)
    running = asyncio.create_task(pool.ask("wait"))
    waiting = asyncio.create_task(pool.ask("echo a"))
    await until(lambda: "session/prompt" in several.methods)
    await pool.close()
    await pool.close()
    for task in (running, waiting):
        with pytest.raises(AgentClosed):
            await task
    with pytest.raises(AgentClosed, match="the pool is closed"):
        await pool.ask("echo a")


# -- clients -----------------------------------------------------------------------------------------------


async def test_a_client_has_defaults_that_can_be_joined(several: Players) -> None:
    servers: list[Any] = [{"name": "a", "command": "/a"}, {"name": "b", "command": "/b"}]
    client = agents.client("player", meta={"one": 1}, mcp_servers=servers, model="large", **several.options)
    other = client.having(meta={"two": 2}, mcp_servers=[{"name": "b", "command": "/c"}])
    async with other.session() as session:
        assert session.acp.config_options[1].value == "large"
        opened = several.heard[-2]["params"]
    assert opened["_meta"] == {"one": 1, "two": 2}
    assert [(server["name"], server["command"]) for server in opened["mcpServers"]] == [
        ("a", "/a"),
        ("b", "/c"),
    ]
    assert (await client.ask("echo a")).text == "a"
    assert [type(event).__name__ async for event in client.stream("echo a")][-1] == "TurnFinished"
    assert not (await client.capabilities()).load_session
    async with client.host() as host:
        assert host.name == "player"


# -- workers whose agent has ended -------------------------------------------------------------------------


async def end(pool: AgentPool, agent: ScriptedAgent) -> str:
    """End the agent of a worker that has nothing to do; the id of its session."""
    async with pool.worker() as session:
        agent.exit(3)
        await until(lambda: not session.host.is_running)
        return session.id


async def test_a_worker_goes_on_in_its_session_where_the_agent_can() -> None:
    renewed: list[Renewed] = []
    agent = ScriptedAgent(["one", "two"], capabilities=EVERYTHING)
    async with agents.pool([agent], on_renewed=renewed.append) as pool:
        await pool.ask("go")
        before = await end(pool, agent)
        result = await pool.ask("go on")
        assert (result.text, result.session_id) == ("two", before)
    assert renewed == [Renewed(Why.GONE, OpenWay.RESUMED, before)]
