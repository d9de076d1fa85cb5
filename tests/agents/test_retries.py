"""Asking again, and new agents for a session."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from serai import agents
from serai.agents import CostTracker, OpenWay, Renewed, Retries, Why
from serai.agents.ask.retries import is_transient
from serai.agents.several import is_anothers_turn
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.errors import (
    AgentClosed,
    AgentError,
    AgentNotInstalled,
    AgentRequestFailed,
    AttemptsExhausted,
    CapabilityNotSupportedError,
    RateLimited,
    SessionLoadFailed,
)

AT_ONCE = Retries(waits=())


async def leave(turn: ScriptedTurn) -> None:
    turn.say("half an ans")
    turn.exit(3)


async def busy(turn: ScriptedTurn) -> None:
    turn.fail("429 Too Many Requests")


async def work(turn: ScriptedTurn) -> None:
    turn.tool("rm x", "delete", status="completed")
    turn.exit(3)


async def test_by_default_nothing_is_tried_again() -> None:
    agent = ScriptedAgent([leave, "never"])
    async with agents.session(agent) as session:
        for _ in range(2):
            with pytest.raises(AgentClosed):
                await session.ask("go")
    assert (agent.starts, len(agent.prompts)) == (1, 1)


async def test_an_agent_that_ended_is_started_anew_and_asked_again() -> None:
    told: list[tuple[int, AgentError]] = []
    renewed: list[Renewed] = []
    retries = Retries(waits=(), on_retry=lambda attempt, error: told.append((attempt, error)))
    agent = ScriptedAgent([leave, leave, "here"], capabilities=EVERYTHING)
    async with agents.session(agent, retries=retries, on_renewed=renewed.append) as session:
        before = session.id, session.host
        result = await session.ask("go")
        assert (result.text, result.session_id) == ("here", session.id)
        assert session.id == before[0]
        assert session.host is not before[1]
        assert session.host.is_running
    assert [(attempt, type(error)) for attempt, error in told] == [(1, AgentClosed), (2, AgentClosed)]
    assert renewed == [Renewed(Why.GONE, OpenWay.RESUMED, "session-1")] * 2
    assert agent.starts == 3


@pytest.mark.parametrize(
    ("capabilities", "context"),
    [
        ({"sessionCapabilities": {"resume": {}}}, OpenWay.RESUMED),
        ({"loadSession": True}, OpenWay.LOADED),
        ({}, OpenWay.RECREATED),
    ],
)
async def test_the_earlier_session_is_opened_where_that_is_possible(
    capabilities: dict[str, Any], context: OpenWay
) -> None:
    renewed: list[Renewed] = []
    warnings: list[str] = []
    agent = ScriptedAgent(["a", leave, "b"], capabilities=capabilities)
    async with agents.session(
        agent,
        retries=AT_ONCE,
        system_prompt="Be kind.",
        on_renewed=renewed.append,
        on_warning=warnings.append,
    ) as session:
        first = session.id
        await session.ask("one")
        assert (await session.ask("two")).text == "b"
        assert (session.id == first) is (context is not OpenWay.RECREATED)
        assert renewed == [Renewed(Why.GONE, context, session.id)]
    lost = context is OpenWay.RECREATED
    assert bool(warnings) is lost
    assert agent.prompts == ["Be kind.\n\none", "two", "Be kind.\n\ntwo" if lost else "two"]


async def test_an_agent_that_is_busy_goes_on_in_its_session() -> None:
    agent = ScriptedAgent([busy, "here"])
    async with agents.session(agent, retries=AT_ONCE) as session:
        assert (await session.ask("go")).text == "here"
    assert agent.starts == 1


async def test_in_the_end_all_errors_are_told() -> None:
    agent = ScriptedAgent([busy] * 3)
    with pytest.raises(AttemptsExhausted) as caught:
        await agents.ask(agent, "go", retries=Retries(2, waits=(0.0,)))
    assert caught.value.code == "retry_exhausted"
    assert [type(error) for _, error in caught.value.errors] == [RateLimited] * 3
    assert is_anothers_turn(caught.value)
    other = await agents.failover(
        "go", [agents.client(ScriptedAgent([busy] * 2), retries=Retries(1, waits=())), ScriptedAgent(["ok"])]
    )
    assert other.result.text == "ok"


async def test_a_turn_that_used_tools_is_not_repeated_unless_that_is_wanted() -> None:
    with pytest.raises(AgentClosed):
        await agents.ask(ScriptedAgent([work, "never"]), "go", retries=AT_ONCE)
    result = await agents.ask(
        ScriptedAgent([work, "again"]), "go", retries=Retries(waits=(), after_tools=True)
    )
    assert result.text == "again"


async def test_a_stream_is_not_tried_again_but_begins_with_an_agent_that_runs() -> None:
    agent = ScriptedAgent([leave, "here"])
    async with agents.session(agent, retries=AT_ONCE) as session:
        with pytest.raises(AgentClosed):
            await session.stream("go").result()
        assert (await session.stream("go").result()).text == "here"


async def test_what_was_chosen_holds_for_the_new_agent_too() -> None:
    agent = ScriptedAgent(["a", leave, "b"], modes=["ask", "do"], options={"model": ["small", "large"]})
    costs = CostTracker()
    async with agents.session(agent, retries=AT_ONCE, costs=costs) as session:
        await session.set_mode("do")
        await session.set_config_option("model", "large")
        await session.ask("one")
        await session.ask("two")
        assert session.acp.modes is not None
        assert session.acp.modes.value == "do"
    assert len(agent.asked("session/set_mode")) == 2
    assert costs.turns == 2


async def test_closing_ends_the_waiting_and_a_start_that_is_under_way() -> None:
    waiting = asyncio.Event()
    agent = ScriptedAgent([busy])
    patient = Retries(waits=(60,), on_retry=lambda _, __: waiting.set())
    session = await agents.session(agent, retries=patient)
    asking = asyncio.create_task(session.ask("go"))
    await waiting.wait()
    await session.close()
    with pytest.raises(AgentClosed):
        await asyncio.wait_for(asking, 5)

    agent = ScriptedAgent([leave])
    session = await agents.session(agent, retries=AT_ONCE)
    started = never_starts(agent)
    asking = asyncio.create_task(session.ask("go"))
    await started.wait()
    await asyncio.wait_for(session.close(), 5)
    with pytest.raises(AgentClosed):
        await asking


def never_starts(agent: ScriptedAgent) -> asyncio.Event:
    """From now on it does not come to start; the event says that someone has tried."""
    tried = asyncio.Event()

    async def launch(options: object) -> Any:
        del options
        tried.set()
        await asyncio.Event().wait()

    agent.launch = launch
    return tried


# -- after so many turns -----------------------------------------------------------------------------------


async def test_after_so_many_turns_the_agent_is_started_anew() -> None:
    renewed: list[Renewed] = []
    agent = ScriptedAgent(["1", "2", "3", "4", "5"], capabilities=EVERYTHING)
    async with agents.session(agent, recycle_after=2, on_renewed=renewed.append) as session:
        texts = [(await session.ask("go")).text for _ in range(4)]
        assert (await session.stream("go").result()).text == "5"
    assert texts == ["1", "2", "3", "4"]
    assert renewed == [Renewed(Why.TURN_LIMIT, OpenWay.RESUMED, "session-1")] * 2
    assert agent.starts == 3


# -- what may be gone later --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AgentClosed("gone"), True),
        (AgentRequestFailed("Internal error", data={"cause": "read ECONNRESET"}), True),
        (AgentRequestFailed("502 Bad Gateway"), True),
        (AgentRequestFailed("line 5024 is wrong"), False),
        (SessionLoadFailed("connection error"), False),
        (AgentNotInstalled("no"), False),
    ],
)
def test_what_may_be_gone_a_little_later(error: Exception, expected: bool) -> None:
    assert is_transient(error) is expected


# -- the first start ---------------------------------------------------------------------------------------


async def test_an_agent_that_does_not_start_is_started_again() -> None:
    agent = ScriptedAgent(["here"], fails={"initialize": {"code": -32603, "message": "not yet"}})
    retries = Retries(waits=(), on_retry=lambda _attempt, _error: agent.fails.clear())
    assert (await agents.ask(agent, "go", retries=retries)).text == "here"
    assert agent.starts == 2


# -- what cannot be chosen again ---------------------------------------------------------------------------


class Changing(ScriptedAgent):
    """Has other modes in its next process, when a test says so."""

    def change(self, *modes: str) -> None:
        self._modes = modes


async def test_a_mode_that_is_gone_does_not_cost_the_conversation() -> None:
    renewed: list[Renewed] = []
    agent = Changing(["one", "two"], capabilities=EVERYTHING, modes=("ask", "plan"))
    async with agents.session(
        agent, mode="plan", recycle_after=1, on_renewed=renewed.append, on_warning=lambda _: None
    ) as session:
        await session.ask("go")
        agent.change("ask")
        for _ in range(2):
            with pytest.raises(CapabilityNotSupportedError) as caught:
                await session.ask("go")
            assert caught.value.capability == "mode:plan"
        assert renewed == []
        agent.change("ask", "plan")
        assert (await session.ask("go")).text == "two"
        assert renewed == [Renewed(Why.TURN_LIMIT, OpenWay.RESUMED, session.id)]
    assert len(agent.asked("session/new")) == 1
    assert agent.asked("session/load") == []
