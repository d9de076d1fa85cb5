"""Asking again, and a new agent for a session: only where it was asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from machine.processes.watching import until
from serai import agents
from serai.agents import Context, CostTracker, Renewed, Retries, Why
from serai.agents.ask.retries import is_transient
from serai.agents.several.failover import is_anothers_turn
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.agents.testing.pipes import Ended, Wire
from serai.errors import (
    AgentClosed,
    AgentError,
    AgentNotInstalled,
    AgentRequestFailed,
    AttemptsExhausted,
    AuthRequired,
    RateLimited,
    SessionLoadFailed,
    UsageLimitReached,
)
from serai.machine.processes.child import Exit

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
    assert renewed == [Renewed(Why.GONE, Context.RESUMED, "session-1")] * 2
    assert agent.starts == 3


@pytest.mark.parametrize(
    ("capabilities", "context"),
    [
        ({"sessionCapabilities": {"resume": {}}}, Context.RESUMED),
        ({"loadSession": True}, Context.LOADED),
        ({}, Context.LOST),
    ],
)
async def test_the_earlier_session_is_opened_where_that_is_possible(
    capabilities: dict[str, Any], context: Context
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
        assert (session.id == first) is (context is not Context.LOST)
        assert renewed == [Renewed(Why.GONE, context, session.id)]
    lost = context is Context.LOST
    assert bool(warnings) is lost
    assert agent.prompts == ["Be kind.\n\none", "two", "Be kind.\n\ntwo" if lost else "two"]


async def test_a_session_that_cannot_be_opened_again_is_a_new_one() -> None:
    warnings: list[str] = []
    agent = ScriptedAgent(["a", leave, "b"], capabilities=EVERYTHING)
    async with agents.session(agent, retries=AT_ONCE, on_warning=warnings.append) as session:
        await session.ask("one")
        for method in ("session/load", "session/resume"):
            agent.fails[method] = {"code": -32002, "message": "it is gone"}
        assert (await session.ask("two")).text == "b"
        assert session.id == "session-2"
    assert "knows nothing of what was said before" in warnings[0]


REOPENING = ("session/resume", "session/load")


class Frail(ScriptedAgent):
    """Does not survive to be asked for an earlier session."""

    def answer(self, method: str, params: Mapping[str, Any]) -> Any:
        if method in REOPENING:
            raise Ended(Exit(code=3))
        return super().answer(method, params)


class Taciturn(ScriptedAgent):
    """Never answers who asks for an earlier session."""

    async def play(self, wire: Wire) -> None:
        receive = wire.receive

        async def hear() -> dict[str, Any] | None:
            while (message := await receive()) is not None:
                if message.get("method") not in REOPENING:
                    break
                self.requests.append(message)
            return message

        wire.receive = hear
        await super().play(wire)


@pytest.mark.parametrize("kind", [Frail, Taciturn])
async def test_an_agent_that_fails_over_the_earlier_session_is_started_again_for_a_new_one(
    kind: type[ScriptedAgent],
) -> None:
    renewed: list[Renewed] = []
    agent = kind(["a", leave, "b"], capabilities=EVERYTHING)
    async with agents.session(
        agent, retries=AT_ONCE, on_renewed=renewed.append, inactivity_timeout=0.3
    ) as session:
        await session.ask("one")
        assert (await session.ask("two")).text == "b"
        assert renewed == [Renewed(Why.GONE, Context.LOST, "session-2")]
        assert session.host.is_running
    assert [method for method in agent.methods if method in REOPENING] == list(REOPENING)
    assert agent.starts == 4  # at first, for each of the two ways, and for the new session


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


async def test_other_errors_are_raised_as_they_are() -> None:
    async def spent(turn: ScriptedTurn) -> None:
        turn.fail("usage limit reached")

    with pytest.raises(UsageLimitReached):
        await agents.ask(ScriptedAgent([spent, "never"]), "go", retries=3)


async def test_the_waits_grow() -> None:
    assert [Retries().wait(attempt) for attempt in (1, 2, 3, 4)] == [0.5, 1.0, 2.0, 2.0]


async def test_what_is_asked_meanwhile_waits() -> None:
    agent = ScriptedAgent([leave, "one", "two"])
    async with agents.session(agent, retries=AT_ONCE) as session:
        results = await asyncio.gather(session.ask("a"), session.ask("b"))
    assert [result.text for result in results] == ["one", "two"]


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
        assert session.modes is not None
        assert session.modes.current == "do"
    assert len(agent.asked("session/set_mode")) == 2
    assert costs.turns == 2


async def test_costs_go_on_where_they_were() -> None:
    def telling(usd: float) -> Callable[[ScriptedTurn], Any]:
        async def turn(turn: ScriptedTurn) -> None:
            turn.usage(cost_usd=usd)
            if turn.number == 1:
                turn.exit(3)

        return turn

    for capabilities, spent in ((EVERYTHING, 1.5), ({}, 2.5)):
        costs = CostTracker()
        agent = ScriptedAgent([telling(1.0), telling(1.5)], capabilities=capabilities)
        await agents.ask(agent, "go", retries=AT_ONCE, costs=costs)
        assert costs.spent_usd == spent


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


async def test_cancelling_while_an_agent_starts_anew_leaves_a_session_that_can_be_used() -> None:
    agent = ScriptedAgent([leave, "b"])
    launch = agent.launch
    async with agents.session(agent, retries=AT_ONCE) as session:
        started = never_starts(agent)
        asking = asyncio.create_task(session.ask("two"))
        await started.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        agent.launch = launch
        assert (await session.ask("three")).text == "b"


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
    assert renewed == [Renewed(Why.TURN_LIMIT, Context.RESUMED, "session-1")] * 2
    assert agent.starts == 3


async def test_an_agent_is_not_started_anew_under_a_session_that_came_of_it() -> None:
    agent = ScriptedAgent(["1", "2", "3"], capabilities=EVERYTHING)
    async with agents.session(agent, recycle_after=1) as session:
        await session.ask("go")
        async with await session.fork() as fork:
            await session.ask("go")
            assert fork.host.is_running
        await session.ask("go")
    assert agent.starts == 2


async def test_recycling_is_off_by_default_and_not_for_agents_with_several_sessions() -> None:
    agent = ScriptedAgent(["1", "2", "3"])
    async with agents.host(agent, recycle_after=1, retries=AT_ONCE) as host, await host.new_session() as one:
        for _ in range(3):
            await one.ask("go")
        agent.exit()
        await until(lambda: not host.is_running)
        with pytest.raises(AgentClosed):
            await one.ask("go")
    assert agent.starts == 1


# -- what may be gone later --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (AgentClosed("gone"), True),
        (RateLimited("429"), True),
        (AgentRequestFailed("fetch failed"), True),
        (AgentRequestFailed("Internal error", data={"cause": "read ECONNRESET"}), True),
        (AgentRequestFailed("502 Bad Gateway"), True),
        (AgentRequestFailed("line 5024 is wrong"), False),
        (SessionLoadFailed("connection error"), False),
        (UsageLimitReached("spent"), False),
        (AgentNotInstalled("no"), False),
        (ValueError("fetch failed"), False),
    ],
)
def test_what_may_be_gone_a_little_later(error: Exception, expected: bool) -> None:
    assert is_transient(error) is expected


# -- the first start ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "fails",
    [
        {"initialize": {"code": -32603, "message": "not yet"}},
        {"session/new": {"code": -32603, "message": "429 Too Many Requests"}},
    ],
)
async def test_an_agent_that_does_not_start_is_started_again(fails: Any) -> None:
    agent = ScriptedAgent(["here"], fails=fails)
    retries = Retries(waits=(), on_retry=lambda _attempt, _error: agent.fails.clear())
    assert (await agents.ask(agent, "go", retries=retries)).text == "here"
    assert agent.starts == 2


async def test_one_that_never_starts_is_given_up() -> None:
    agent = ScriptedAgent(fails={"session/new": {"code": -32603, "message": "429 Too Many Requests"}})
    with pytest.raises(AttemptsExhausted):
        await agents.ask(agent, "go", retries=Retries(limit=2, waits=()))
    assert agent.starts == 3
    signed_out = ScriptedAgent(fails={"session/new": {"code": -32000, "message": "sign in"}})
    with pytest.raises(AuthRequired):
        await agents.ask(signed_out, "go", retries=AT_ONCE)
    assert signed_out.starts == 1
