"""Prompts: how they are sent, stopped, and end."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from requirements import proves
from serai.acp.agent import Agent
from serai.acp.prompt import Finished, PromptFailure, PromptTurn
from serai.acp.session import AcpSession
from serai.acp.updates import AgentMessageChunk, RawUpdate, ToolCallUpdate
from serai.errors import (
    CapabilityNotSupportedError,
    ParseError,
    PromptInvalid,
    PromptUnderWay,
)

IMAGE = {"type": "image", "data": "", "mimeType": "image/png"}


async def finished(turn: PromptTurn) -> Finished:
    """Wait for the end of a prompt. Raises what it failed with."""
    while turn.outcome is None:  # noqa: ASYNC110 - the session's stream is for others
        await asyncio.sleep(0.005)
    if isinstance(turn.outcome, PromptFailure):
        raise turn.outcome.error
    return turn.outcome


async def test_updates_come_before_the_end_of_the_turn(session: AcpSession, converse: Any) -> None:
    conversation = await converse(session, "echo hello there")
    assert conversation.texts == ["hello there"]
    assert conversation.stop_reason == "end_turn"
    assert (await converse(session, "echo again")).texts == ["again"]


async def test_one_prompt_at_a_time_but_sessions_do_not_wait_for_each_other(
    agent: Agent, session: AcpSession, tmp_path: Path, converse: Any
) -> None:
    turn = session.prompt("silence")
    with pytest.raises(PromptUnderWay):
        session.prompt("echo no")
    other = agent.open_session(tmp_path)
    turn.cancel()
    assert (await finished(turn)).stop_reason == "cancelled"
    assert (await converse(await other, "echo yes")).stop_reason == "end_turn"


async def test_whatever_an_agent_says_survives(session: AcpSession, converse: Any) -> None:
    conversation = await converse(session, "kinds")
    raw = [item for item in conversation.items if isinstance(item, RawUpdate)]
    assert [(each.kind, each.raw) for each in raw] == [
        ("hologram", {"sessionUpdate": "hologram", "depth": 3}),
        ("plan", {"sessionUpdate": "plan", "entries": "not a list"}),
    ]
    assert conversation.texts == ["hi", "half \ufffd"]
    chunk = next(item for item in conversation.items if isinstance(item, AgentMessageChunk))
    assert (chunk.raw["novel"], chunk.raw["content"]["novel"]) == (2, 1)
    assert [item.tool_call_id for item in conversation.items if isinstance(item, ToolCallUpdate)] == ["t1"]
    assert conversation.end == Finished(
        "bored", {"inputTokens": 3}, {"stopReason": "bored", "usage": {"inputTokens": 3}}
    )
    assert session.title == "A title"


# -- parts that an agent cannot take -----------------------------------------------------------------------


async def test_a_prompt_of_which_nothing_is_left_is_not_sent(session: AcpSession, converse: Any) -> None:
    with pytest.raises(PromptInvalid):
        session.prompt([IMAGE])
    with pytest.raises(PromptInvalid):
        session.prompt([])
    with pytest.raises(ParseError):
        session.prompt("echo \ud83d")
    assert (await converse(session, "echo fine")).texts == ["fine"]


# -- cancelling --------------------------------------------------------------------------------------------


async def test_cancelling_answers_all_who_wait_at_once_and_tells_the_agent_once(
    session: AcpSession, person: Any, converse: Any
) -> None:
    person.patient = True
    turn = session.prompt("storm 100")
    async with asyncio.timeout(30):
        while len(person.requests) < 100:  # noqa: ASYNC110 - nobody announces the last
            await asyncio.sleep(0.005)
    for _ in range(3):
        turn.cancel()
    session.cancel()
    conversation = await converse(session)
    assert conversation.texts == ["100 cancelled, then cancelled; told to stop 1 time(s)"]
    assert conversation.stop_reason == "cancelled"
    assert person.given_up == 100
    assert len(person.requests) == 100


async def test_an_agent_that_calls_it_an_error_to_be_stopped_was_stopped(
    session: AcpSession, converse: Any
) -> None:
    session.prompt("stubborn").cancel()
    assert (await converse(session)).stop_reason == "cancelled"


# -- silence -----------------------------------------------------------------------------------------------


async def test_the_time_does_not_count_while_a_person_is_asked(
    start: Any, person: Any, tmp_path: Path
) -> None:
    person.patient = True
    agent = await start(inactivity_timeout=0.1)
    session = await agent.open_session(tmp_path)
    turn = session.prompt("permission 1")
    async with asyncio.timeout(30):
        await person.asked.wait()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.3):
            await finished(turn)
    turn.cancel()
    assert (await finished(turn)).stop_reason == "end_turn"


async def test_an_agent_that_tells_of_its_subagents_is_not_silent(
    start: Any, tmp_path: Path, converse: Any
) -> None:
    agent = await start(inactivity_timeout=0.2)
    session = await agent.open_session(tmp_path)
    assert (await converse(session, "busy_subagent child 0.5")).texts[-1] == "done"


# -- the session itself ------------------------------------------------------------------------------------


async def test_modes_and_options_are_set_and_remembered(session: AcpSession) -> None:
    await session.set_mode("do")
    assert session.modes is not None
    assert session.modes.value == "do"
    with pytest.raises(CapabilityNotSupportedError) as caught:
        await session.set_mode("fly")
    assert caught.value.capability == "mode:fly"
    await session.set_config_option("model", "large")
    assert session.config_options[1].value == "large"
    with pytest.raises(CapabilityNotSupportedError) as caught:
        await session.set_config_option("other", value=True)
    assert caught.value.capability == "setSessionConfigOption"


async def test_an_agent_that_took_a_value_and_says_nothing_more_has_it(start: Any, tmp_path: Path) -> None:
    agent = await start(set_option="nothing")
    session = await agent.open_session(tmp_path)
    for value in ("large", "small"):
        await session.set_config_option("model", value)
        _, option = session.config_options
        assert (option.value, option.raw["currentValue"], len(option.choices)) == (value, value, 2)
    await asyncio.gather(*(session.set_config_option("model", value) for value in ("small", "large")))
    assert session.config_options[1].value == "large"


@proves("wire:Session-capabilities/close-is-not-exit")
async def test_closing_a_session_ends_its_turn_and_its_stream(start: Any, tmp_path: Path) -> None:
    agent = await start(capabilities={"sessionCapabilities": {"close": {}}})
    session = await agent.open_session(tmp_path)
    turn = session.prompt("silence")
    await session.close()
    assert (await finished(turn)).stop_reason == "cancelled"
    assert isinstance([item async for item in session.updates()][-1], Finished)
    assert agent.open_sessions == {}
    assert agent.is_running


async def test_updates_that_nobody_takes_make_the_agent_wait_and_not_the_host(
    agent: Agent, session: AcpSession, converse: Any
) -> None:
    turn = session.prompt("flood 200 100000")
    async with asyncio.timeout(30):
        while not agent.is_held:  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.005)
    assert session._stream._weight < 12_000_000
    assert turn.outcome is None
    conversation = await converse(session)
    assert len(conversation.texts) == 200
    assert conversation.stop_reason == "end_turn"


# -- what an agent says about itself -----------------------------------------------------------------------
