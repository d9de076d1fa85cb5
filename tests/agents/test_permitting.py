"""A filter or a policy that gives up or takes its time: nobody waits for it who need not."""

from __future__ import annotations

import asyncio
import time

import pytest

from serai import agents
from serai.agents import PermissionAsked, PermissionPolicy, ToolFilter, ToolUse
from serai.agents.testing import ScriptedAgent, ScriptedTurn
from serai.errors import AgentClosed, PermissionTimedOut

LIMIT = 5.0


class Hesitant:
    """A filter's function that does not answer before it may."""

    def __init__(self) -> None:
        self.is_asked = asyncio.Event()
        self.may_answer = asyncio.Event()
        self.was_given_up = False

    async def __call__(self, _: ToolUse) -> bool:
        self.is_asked.set()
        try:
            await self.may_answer.wait()
        except asyncio.CancelledError:
            self.was_given_up = True
            raise
        return True

    @property
    def tools(self) -> ToolFilter:
        return ToolFilter(on_tool_use=self)


@pytest.fixture
async def hesitant() -> Hesitant:
    return Hesitant()


async def permit(turn: ScriptedTurn) -> None:
    turn.say(await turn.ask_permission("rm x"))


# -- whoever decides gives up ------------------------------------------------------------------------------


async def closed_dialog(_: object) -> bool:
    """Waits for what someone else has cancelled."""
    dialog: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
    dialog.cancel()
    return await dialog


async def test_a_policy_that_waited_for_what_was_cancelled_is_no_permission() -> None:
    warnings: list[str] = []
    agent = ScriptedAgent([permit, permit, "next"])
    async with (
        agents.session(agent, permissions=closed_dialog, on_warning=warnings.append) as session,
        asyncio.timeout(LIMIT),
    ):
        assert (await session.ask("go")).text == "cancelled"
        async with session.stream("go") as stream:
            assert (await stream.result()).text == "cancelled"
        assert (await session.ask("go")).text == "next"
    assert len(warnings) == 2
    assert "policy failed with CancelledError()" in warnings[0]


async def test_nor_is_a_filter_and_the_tool_is_denied() -> None:
    warnings: list[str] = []
    agent = ScriptedAgent([permit])
    tools = ToolFilter(on_tool_use=closed_dialog)
    async with asyncio.timeout(LIMIT):
        result = await agents.ask(agent, "go", tools=tools, on_warning=warnings.append)
    assert result.text == "reject_once"
    assert "the tool filter failed with CancelledError()" in warnings[0]


async def test_nor_in_a_race() -> None:
    async with asyncio.timeout(LIMIT):
        result = await agents.race("go", [ScriptedAgent([permit])], permissions=closed_dialog)
    assert result.result.text == "cancelled"


# -- a filter that takes its time --------------------------------------------------------------------------


@pytest.mark.parametrize("who", ["session", "stream"])
async def test_a_turn_is_cancelled_while_the_filter_is_still_looking(hesitant: Hesitant, who: str) -> None:
    agent = ScriptedAgent([permit, "next"])
    async with agents.session(agent, tools=hesitant.tools) as session, asyncio.timeout(LIMIT):
        stream = session.stream("go")
        following = asyncio.create_task(stream.result())
        await hesitant.is_asked.wait()
        (session if who == "session" else stream).cancel()
        result = await following
        assert (result.text, result.stop_reason) == ("cancelled", "cancelled")
        assert hesitant.was_given_up
        assert (await session.ask("again")).text == "next"


async def test_a_question_that_is_cancelled_stops_the_filter(hesitant: Hesitant) -> None:
    agent = ScriptedAgent([permit, "next"])
    async with agents.session(agent, tools=hesitant.tools) as session, asyncio.timeout(LIMIT):
        asking = asyncio.create_task(session.ask("go"))
        await hesitant.is_asked.wait()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        assert (await session.ask("again")).text == "next"
        assert hesitant.was_given_up


async def test_an_agent_that_ends_meanwhile_is_told_at_once(hesitant: Hesitant) -> None:
    agent = ScriptedAgent([permit])
    async with agents.session(agent, tools=hesitant.tools) as session, asyncio.timeout(LIMIT):
        asking = asyncio.create_task(session.ask("go"))
        await hesitant.is_asked.wait()
        agent.exit(3)
        with pytest.raises(AgentClosed):
            await asking


POLICIES: list[PermissionPolicy] = ["auto-allow", "stream", lambda _: True]


@pytest.mark.parametrize("policy", POLICIES)
async def test_the_time_for_an_answer_is_that_of_the_filter_too(
    hesitant: Hesitant, policy: PermissionPolicy
) -> None:
    stream = agents.stream(
        ScriptedAgent([permit]), "go", tools=hesitant.tools, permissions=policy, permission_timeout=0.05
    )
    async with asyncio.timeout(LIMIT):
        with pytest.raises(PermissionTimedOut, match="rm x"):
            await stream.result()


async def test_the_time_is_not_counted_twice(hesitant: Hesitant) -> None:
    """What the filter has used up is not there for whoever answers after it."""
    stream = agents.stream(
        ScriptedAgent([permit]), "go", tools=hesitant.tools, permissions="stream", permission_timeout=0.8
    )

    async def answer() -> float:
        await hesitant.is_asked.wait()
        began = time.monotonic()
        await asyncio.sleep(0.6)
        hesitant.may_answer.set()
        return began

    answering = asyncio.create_task(answer())
    with pytest.raises(PermissionTimedOut):
        await stream.result()
    assert time.monotonic() - await answering < 1.3


async def test_whoever_follows_sees_what_was_asked_when_the_filter_has_decided(hesitant: Hesitant) -> None:
    agent = ScriptedAgent([permit])
    seen: list[tuple[bool, bool]] = []
    async with (
        asyncio.timeout(LIMIT),
        agents.stream(agent, "go", tools=hesitant.tools, permissions="stream") as stream,
    ):
        asyncio.get_running_loop().call_later(0.05, hesitant.may_answer.set)
        async for event in stream:
            if isinstance(event, PermissionAsked):
                seen.append((hesitant.may_answer.is_set(), event.is_open))
                assert event.allow()
        assert (await stream.result()).text == "allow_once"
    assert seen == [(True, True)]


async def test_a_request_that_was_taken_back_is_seen_and_cannot_be_answered(hesitant: Hesitant) -> None:
    seen: list[PermissionAsked] = []
    async with (
        agents.session(ScriptedAgent([permit]), tools=hesitant.tools, permissions="stream") as session,
        asyncio.timeout(LIMIT),
    ):

        async def cancel() -> None:
            await hesitant.is_asked.wait()
            session.cancel()

        cancelling = asyncio.create_task(cancel())
        async with session.stream("go") as stream:
            async for event in stream:
                if isinstance(event, PermissionAsked):
                    seen.append(event)
                    assert not event.is_open
                    assert not event.allow()
            assert (await stream.result()).stop_reason == "cancelled"
        await cancelling
    assert len(seen) == 1
