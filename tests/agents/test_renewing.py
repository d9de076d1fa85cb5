"""A new agent for a session: what it tells of before is no answer, and one that fails is tried again."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from machine.processes.watching import until
from serai import agents
from serai.agents import Context, Renewed, Why
from serai.agents.testing import EVERYTHING, ScriptedAgent, ScriptedTurn
from serai.agents.testing.pipes import Ended
from serai.errors import AgentError, AgentInitFailed, CapabilityNotSupportedError, RateLimited, SeraiError
from serai.machine.processes.child import Exit

LIMIT = 10.0


class Forgetful(ScriptedAgent):
    """Answers when an earlier session is opened, and tells its history a little later."""

    def answer(self, method: str, params: Any) -> Any:
        answer = super().answer(method, params)
        if method in ("session/load", "session/resume", "session/fork"):
            loop = asyncio.get_running_loop()
            loop.call_later(0.01, self._retell, answer["sessionId"])
        return answer

    def _retell(self, session_id: str) -> None:
        self.tell(session_id, "agent_message_chunk", content={"type": "text", "text": "of old"})
        self.tell(session_id, "tool_call", toolCallId="old", title="rm x", kind="delete", status="completed")


async def takes_its_time(turn: ScriptedTurn) -> None:
    await asyncio.sleep(0.1)  # history that is not waited for would come now
    turn.say("new")


@pytest.mark.parametrize("how", ["load", "resume", "fork"])
async def test_history_that_is_told_after_the_answer_is_not_part_of_the_next(how: Any) -> None:
    warnings: list[str] = []
    tools = agents.ToolFilter(block_kinds=["delete"])
    agent = Forgetful(["one", takes_its_time], capabilities=EVERYTHING)
    async with agents.session(agent) as session:
        await session.ask("go")
        earlier: dict[str, Any] = {how: session.id}
    async with agents.session(agent, tools=tools, on_warning=warnings.append, **earlier) as session:
        assert [update.kind for update in session.history] == ["agent_message_chunk", "tool_call"]
        result = await session.ask("go on")
    assert (result.text, result.tool_uses) == ("new", ())
    assert warnings == []


async def test_nor_when_the_agent_was_started_anew() -> None:
    renewed: list[Renewed] = []
    agent = Forgetful(["one", takes_its_time], capabilities=EVERYTHING)
    async with agents.session(agent, recycle_after=1, on_renewed=renewed.append) as session:
        await session.ask("go")
        assert (await session.ask("go on")).text == "new"
    assert [one.context for one in renewed] == [Context.RESUMED]


# -- ways that the agent refuses ---------------------------------------------------------------------------

MISSING = {"code": -32601, "message": "Method not found"}
TOO_LONG = {"code": -32603, "message": "cannot restore: the context window of the model is exceeded"}
NO_FILE = {"code": -32002, "message": "no session file /var/sessions/503/x.json"}


@pytest.mark.parametrize("refusal", [MISSING, TOO_LONG, NO_FILE])
@pytest.mark.parametrize(
    ("ways", "context"),
    [(["resume"], Context.LOADED), (["resume", "load"], Context.LOST)],
)
async def test_an_agent_that_refuses_one_way_is_asked_for_the_next(
    refusal: dict[str, Any], ways: list[str], context: Context
) -> None:
    renewed: list[Renewed] = []
    fails = {f"session/{way}": refusal for way in ways}
    agent = ScriptedAgent(["one", "two", "three"], capabilities=EVERYTHING, fails=fails)
    async with agents.session(
        agent, retries=1, on_renewed=renewed.append, on_warning=lambda _: None
    ) as session:
        await session.ask("go")
        agent.exit(3)
        await until(lambda: not session.host.is_running)
        assert (await session.ask("go")).text == "two"
        assert renewed == [Renewed(Why.GONE, context, session.id)]
        assert (await session.ask("go")).text == "three"
    assert agent.starts == 2


@pytest.mark.parametrize(
    ("method", "problem", "error"),
    [
        ("session/resume", "429 Too Many Requests", RateLimited),
        ("initialize", "not now", AgentInitFailed),
    ],
    ids=["rate limit", "no start"],
)
async def test_a_session_that_can_be_opened_later_is_not_given_up(
    method: str, problem: str, error: type[SeraiError]
) -> None:
    renewed: list[Renewed] = []
    agent = ScriptedAgent(["one", "two"], capabilities=EVERYTHING)
    async with agents.session(agent, recycle_after=1, on_renewed=renewed.append) as session:
        await session.ask("go")
        agent.fails[method] = {"code": -32603, "message": problem}
        for _ in range(2):
            with pytest.raises(error):
                await session.ask("go")
        agent.fails.clear()
        assert (await session.ask("go")).text == "two"
        assert renewed == [Renewed(Why.TURN_LIMIT, Context.RESUMED, session.id)]
    assert len(agent.asked("session/new")) == 1


# -- what cannot be chosen again ---------------------------------------------------------------------------


class Changing(ScriptedAgent):
    """Has other modes in its next process, when a test says so."""

    def change(self, *modes: str) -> None:
        self._modes = modes


@pytest.mark.parametrize("modes", [("ask",), ()])
async def test_a_mode_that_is_gone_does_not_cost_the_conversation(modes: tuple[str, ...]) -> None:
    renewed: list[Renewed] = []
    agent = Changing(["one", "two"], capabilities=EVERYTHING, modes=("ask", "plan"))
    async with agents.session(
        agent, mode="plan", recycle_after=1, on_renewed=renewed.append, on_warning=lambda _: None
    ) as session:
        await session.ask("go")
        agent.change(*modes)
        if not modes:
            agent.fails["session/set_mode"] = {"code": -32601, "message": "what is a mode?"}
        for _ in range(2):
            with pytest.raises(CapabilityNotSupportedError) as caught:
                await session.ask("go")
            assert caught.value.capability == ("mode:plan" if modes else "setSessionMode")
        assert renewed == []
        agent.change("ask", "plan")
        agent.fails.clear()
        assert (await session.ask("go")).text == "two"
        assert renewed == [Renewed(Why.TURN_LIMIT, Context.RESUMED, session.id)]
    assert len(agent.asked("session/new")) == 1
    assert agent.asked("session/load") == []


async def test_an_agent_that_can_do_less_in_its_next_process_is_asked_for_what_it_can() -> None:
    class Reduced(ScriptedAgent):
        def answer(self, method: str, params: Any) -> Any:
            if method == "session/resume":  # it was there, and is gone with the process that did not survive
                self._capabilities = {}
                raise Ended(Exit(code=3))
            return super().answer(method, params)

    renewed: list[Renewed] = []
    agent = Reduced(["one", "two"], capabilities=EVERYTHING)
    async with agents.session(
        agent, recycle_after=1, on_renewed=renewed.append, on_warning=lambda _: None
    ) as session:
        await session.ask("go")
        assert (await session.ask("go")).text == "two"
        assert [one.context for one in renewed] == [Context.LOST]


# -- a renewal that does not come to its end ---------------------------------------------------------------


class Reluctant(ScriptedAgent):
    """Does not start while it is told not to."""

    def __init__(self, *told: Any, **more: Any) -> None:
        super().__init__(*told, **more)
        self.is_awaited = asyncio.Event()
        self.waits = False

    async def launch(self, options: Any) -> Any:
        if self.waits:
            self.is_awaited.set()
            await asyncio.Event().wait()
        return await super().launch(options)


async def test_a_renewal_that_is_cancelled_is_made_up_for_by_the_next_turn() -> None:
    renewed: list[Renewed] = []
    agent = Reluctant(["one", "two", "three"], capabilities=EVERYTHING)
    async with agents.session(agent, recycle_after=2, on_renewed=renewed.append) as session:
        await session.ask("go")
        await session.ask("go")
        agent.waits = True
        asking = asyncio.create_task(session.ask("go"))
        async with asyncio.timeout(LIMIT):
            await agent.is_awaited.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
        agent.waits = False
        assert (await session.ask("go")).text == "three"
        assert renewed == [Renewed(Why.TURN_LIMIT, Context.RESUMED, session.id)]


async def test_an_agent_that_ends_of_itself_before_its_turns_are_over_is_not_started_anew() -> None:
    async def leave(turn: ScriptedTurn) -> None:
        turn.exit(3)

    agent = ScriptedAgent([leave, "never"], capabilities=EVERYTHING)
    async with agents.session(agent, recycle_after=5) as session:
        for _ in range(2):
            with pytest.raises(AgentError):
                await session.ask("go")
    assert agent.starts == 1
