"""The agents of a pool: started together, ended together, and started anew as those of a session are."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from machine.processes.watching import until
from serai import agents
from serai.agents import AgentPool, Context, Renewed, Retries, Why
from serai.agents.testing import EVERYTHING, ScriptedAgent
from serai.errors import AgentInitFailed

LIMIT = 10.0


class Lingering(ScriptedAgent):
    """Is slow to open a session, and slow to end."""

    def __init__(self, **more: Any) -> None:
        super().__init__(**more)
        self.is_ending = asyncio.Event()
        self.may_end = asyncio.Event()

    async def play(self, wire: Any) -> None:
        send = wire.send

        def keep_back(**message: Any) -> None:
            if "sessionId" not in (message.get("result") or {}):
                send(**message)

        wire.send = keep_back
        try:
            await super().play(wire)
        finally:
            self.is_ending.set()
            while not self.may_end.is_set():
                try:
                    await self.may_end.wait()
                except asyncio.CancelledError:
                    continue


class Watched(ScriptedAgent):
    """Shows that it is gone."""

    is_gone = False

    async def play(self, wire: Any) -> None:
        try:
            await super().play(wire)
        finally:
            self.is_gone = True


class Failing(ScriptedAgent):
    """Does not start, when it may."""

    def __init__(self, **more: Any) -> None:
        super().__init__(fails={"initialize": {"code": -32603, "message": "no"}}, **more)
        self.may_fail = asyncio.Event()

    async def launch(self, options: Any) -> Any:
        await self.may_fail.wait()
        return await super().launch(options)


async def test_an_opening_that_fails_and_is_cancelled_then_ends_those_that_are_open() -> None:
    open_already, slow, failing = Watched(name="a"), Lingering(name="b"), Failing(name="c")
    opening = asyncio.create_task(agents.pool([open_already, slow, failing]).__aenter__())
    async with asyncio.timeout(LIMIT):
        for agent in (open_already, slow):
            await until(lambda agent=agent: "session/new" in agent.methods)
        failing.may_fail.set()
        await slow.is_ending.wait()
        opening.cancel()
        for _ in range(20):
            await asyncio.sleep(0)
        assert not opening.done()
        slow.may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await opening
        assert open_already.is_gone


# -- workers whose agent has ended -------------------------------------------------------------------------


async def end(pool: AgentPool, agent: ScriptedAgent) -> str:
    """End the agent of a worker that has nothing to do; the id of its session."""
    async with pool.worker() as session:
        agent.exit(3)
        await until(lambda: not session.host.is_running)
        return session.id


@pytest.mark.parametrize("retries", [0, Retries(waits=())])
async def test_a_worker_goes_on_in_its_session_where_the_agent_can(retries: Any) -> None:
    renewed: list[Renewed] = []
    agent = ScriptedAgent(["one", "two"], capabilities=EVERYTHING)
    async with agents.pool([agent], retries=retries, on_renewed=renewed.append) as pool:
        await pool.ask("go")
        before = await end(pool, agent)
        result = await pool.ask("go on")
        assert (result.text, result.session_id) == ("two", before)
    assert renewed == [Renewed(Why.GONE, Context.RESUMED, before)]


async def test_where_it_cannot_that_is_told() -> None:
    warnings: list[str] = []
    renewed: list[Renewed] = []
    agent = ScriptedAgent(["one", "two"])
    async with agents.pool([agent], on_renewed=renewed.append, on_warning=warnings.append) as pool:
        await pool.ask("go")
        before = await end(pool, agent)
        result = await pool.ask("go on")
        assert (result.text, result.session_id != before) == ("two", True)
        assert renewed == [Renewed(Why.GONE, Context.LOST, result.session_id)]
    [warning] = warnings
    assert "knows nothing of what was said before" in warning


@pytest.mark.parametrize(("can_load", "context"), [(True, Context.LOADED), (False, Context.LOST)])
async def test_a_worker_whose_agent_offers_to_resume_and_cannot_is_not_lost(
    can_load: bool, context: Context
) -> None:
    renewed: list[Renewed] = []
    can = {"loadSession": can_load, "sessionCapabilities": {"resume": {}}}
    missing = {"code": -32601, "message": "Method not found"}
    agent = ScriptedAgent(["one", "two"], capabilities=can, fails={"session/resume": missing})
    async with agents.pool([agent], on_renewed=renewed.append, on_warning=lambda _: None) as pool:
        await pool.ask("go")
        await end(pool, agent)
        result = await pool.ask("go on")
        assert result.text == "two"
        assert renewed == [Renewed(Why.GONE, context, result.session_id)]


async def test_a_worker_whose_agent_does_not_start_once_is_not_lost() -> None:
    agent = ScriptedAgent(["one", "two"], capabilities=EVERYTHING)
    async with agents.pool([agent]) as pool:
        await pool.ask("go")
        before = await end(pool, agent)
        agent.fails["initialize"] = {"code": -32603, "message": "not now"}
        with pytest.raises(AgentInitFailed):
            await pool.ask("go on")
        agent.fails.clear()
        result = await pool.ask("go on")
        assert (result.text, result.session_id) == ("two", before)


async def test_with_retries_it_is_started_again_before_it_is_handed_out() -> None:
    agent = ScriptedAgent(["one", "two"], capabilities=EVERYTHING)
    retries = Retries(waits=(), on_retry=lambda _attempt, _error: agent.fails.clear())
    async with agents.pool([agent], retries=retries) as pool:
        await pool.ask("go")
        await end(pool, agent)
        agent.fails["initialize"] = {"code": -32603, "message": "not now"}
        async with pool.worker() as session:
            assert session.host.is_running
            assert (await session.ask("go on")).text == "two"


async def test_a_session_that_its_user_has_closed_is_replaced_by_a_new_one() -> None:
    agent = ScriptedAgent(["one", "two"], capabilities=EVERYTHING)
    async with agents.pool([agent]) as pool:
        async with pool.worker() as session:
            await session.ask("go")
            await session.close()
            before = session.id
        result = await pool.ask("go on")
        assert (result.text, result.session_id != before) == ("two", True)
