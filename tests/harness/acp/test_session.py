"""The agent of a session while its process comes and goes."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

from conformance.client import Client
from harness.acp.conftest import RESUMES, Inn, begin, ended, notices, said, say
from hosts import deliveries
from machine.processes.watching import until
from serai.harness.acp.session import AcpAgentSession

FULL: dict[str, Any] = {"modes": True, "options": True, "capabilities": RESUMES}


async def kill(inn: Inn, uri: str) -> AcpAgentSession:
    """Kill the agent's process as `kill -9` does, between the turns, and wait until it is gone."""
    session = inn.house.host.sessions.get(uri)
    assert session is not None
    agent = await session.agent()
    assert isinstance(agent, AcpAgentSession)
    assert agent._link.last is not None
    os.kill(agent._link.last.agent.agent.pid, signal.SIGKILL)
    await agent._link.last.agent.agent.wait_closed()
    return agent


async def test_a_turn_that_is_cancelled_while_the_agent_comes_back_does_not_disturb_the_next(
    inn: Inn, client: Client, tmp_path: Path
) -> None:
    inn.offer(
        **FULL,
        keep=str(tmp_path),
        silent_in=["session/set_mode"],
        timeouts={"inactivity_timeout": 1.0},
    )
    session = await inn.session(client)
    await say(client, session, "echo one")
    agent = await kill(inn, session)
    await client.dispatch(session, "configChanged", config={"mode": "do"})
    turn = await begin(client, session, "echo two")
    await until(lambda: agent._link.running is not None)  # and is asked for its mode
    await client.dispatch(session, "turnCancelled", turnId=turn)
    assert (await ended(client, session, turn)).state == "cancelled"
    assert said(await say(client, session, "echo three")) == "three"


async def test_what_an_agent_says_while_its_session_is_opened_in_a_turn_is_no_answer(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client, chatty=50)
    await say(client, session, "echo one")
    await kill(inn, session)
    turn = await say(client, session, "stops end_turn")
    assert said(turn) == ""
    assert notices(turn)[1:] == ["Between the turns Quick said: " + "welcome" * 50]
    evidence = [record.evidence["evidence"] for record in await deliveries(inn.house.host, session)]
    assert evidence == ["the first update", "the response to the prompt"]
    assert notices(await say(client, session, "echo two")) == []
