"""What an agent's process may do to itself and to us."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from serai.acp.agent import Agent
from serai.acp.client_side import ClientCapabilities
from serai.acp.process import connection as acp_connection
from serai.acp.prompt import PromptFailure
from serai.acp.session import AcpSession
from serai.errors import AgentClosed, LineTooLong


async def test_noise_is_skipped(agent: Agent, session: AcpSession, converse: Any) -> None:
    conversation = await converse(session, "noise")
    assert conversation.texts == ["through the noise"]
    assert agent.is_running


@pytest.mark.usefixtures("short_graces")
async def test_an_agent_that_closes_its_output_and_lives_on_is_ended(
    agent: Agent, session: AcpSession, converse: Any
) -> None:
    error = (await converse(session, "mute")).error
    assert isinstance(error, AgentClosed)
    assert error.signal == 9  # it ignores TERM
    assert not agent.is_running


async def test_an_answer_may_take_as_long_as_a_person_who_is_asked_before_it(
    start: Any, person: Any, tmp_path: Path
) -> None:
    person.patient, person.has = True, ClientCapabilities(elicitation_form=True)
    agent = await start(inactivity_timeout=0.25, consults={})
    opening = asyncio.create_task(agent.open_session(tmp_path))
    async with asyncio.timeout(30):
        await person.asked.wait()
    await asyncio.wait([opening], timeout=0.4)
    assert not opening.done()
    person.released.set()
    async with asyncio.timeout(30):
        await opening


async def test_a_line_without_end_ends_the_agent(
    agent: Agent, session: AcpSession, converse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(acp_connection, "LONGEST_LINE", 4 << 20)
    error = (await converse(session, "endless 8")).error
    assert isinstance(error, LineTooLong)
    assert "was ended" in str(error)
    assert agent.exit is not None


async def test_an_agent_that_writes_much_to_its_log_does_not_hang(
    agent: Agent, session: AcpSession, converse: Any
) -> None:
    conversation = await converse(session, "log 2000000")
    assert conversation.texts == ["logged"]
    assert len(agent.stderr_tail.splitlines()) == 64


async def test_an_agent_that_does_not_read_is_still_ended(agent: Agent, session: AcpSession) -> None:
    agent.notify("_large", {"text": "x" * 10_000_000})
    turn = session.prompt("silence")
    await agent.close()
    assert isinstance(turn.outcome, PromptFailure)
    assert isinstance(turn.outcome.error, AgentClosed)
