"""Agents that are installed, as agents of the host, while their processes come and go."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
from pathlib import Path
from typing import Any

from conformance.client import Client
from harness.acp.conftest import FORKS, QUICK, RESUMES, Inn, notices, said, say
from hosts import WITHIN, deliveries
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import Finder
from serai.agents.catalogue.programs import Surroundings
from serai.harness.acp.harness import offer_installed
from serai.harness.acp.session import AcpAgentSession

STEERS: dict[str, Any] = {"meta": {"steering": {"supported": True}}}


async def agent_of(inn: Inn, uri: str) -> AcpAgentSession:
    session = inn.house.host.sessions.get(uri)
    assert session is not None
    agent = await session.agent()
    assert isinstance(agent, AcpAgentSession)
    return agent


# -- what is declared --------------------------------------------------------------------------------------


async def test_a_repeated_delivery_prompts_nobody_and_has_the_same_receipt(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    agent = await agent_of(inn, session)
    await say(client, session, "echo once")
    assert agent._taken is not None
    delivery, _ = agent._taken
    context: Any = type("Context", (), {"id": delivery})()
    message: Any = None
    assert (await agent.receive_message(message, context)).status == "delivered"
    assert said(await say(client, session, "recall")) == '["echo once"]'


async def test_a_fork_by_the_contract_is_another_session_of_the_host(
    inn: Inn, client: Client, tmp_path: Any
) -> None:
    session = await inn.begun(client, keep=str(tmp_path), capabilities=FORKS)
    await say(client, session, "echo one")
    forked = await (await agent_of(inn, session)).fork()
    assert isinstance(forked, AcpAgentSession)
    other = inn.house.host.identities.get(forked.identity.id).session
    assert other is not None
    assert other != session
    await client.subscribe(other)
    assert said(await say(client, other, "recall")) == '["echo one"]'


# -- processes ---------------------------------------------------------------------------------------------


async def test_the_process_ends_with_the_session(inn: Inn, client: Client) -> None:
    session = await inn.begun(client)
    agent = await agent_of(inn, session)
    assert agent._link.last is not None
    running = agent._link.last.agent
    await client.request("disposeSession", session)
    assert running.exit is not None


async def test_a_session_that_is_put_out_of_memory_ends_its_agent_and_comes_back(
    inn: Inn, client: Client, tmp_path: Any
) -> None:
    session = await inn.begun(client, keep=str(tmp_path), capabilities=RESUMES)
    await say(client, session, "echo one")
    agent = await agent_of(inn, session)
    assert agent._link.last is not None
    running = agent._link.last.agent
    await client.close()
    again = await inn.connect("again", "ahp-root://")
    async with asyncio.timeout(WITHIN):
        while not inn.house.host.sessions.put_out(session):
            await again.ping()
        while running.exit is None:
            await again.ping()
    await again.subscribe(session)
    turn = await say(again, session, "recall")
    assert (said(turn), "resumed" in notices(turn)[0]) == ('["echo one"]', True)


# -- what is refused ---------------------------------------------------------------------------------------


async def test_switching_a_customisation_is_rejected_since_it_cannot_reach_the_agent(
    inn: Inn, client: Client
) -> None:
    session = await inn.begun(client)
    await client.dispatch(session, "customizationToggled", id="x", enabled=False)
    reason = (await client.hear("customizationToggled"))["rejectionReason"]
    assert reason.startswith("capability_unsupported")


async def test_a_program_that_is_gone_is_no_session_and_says_how_to_get_it(inn: Inn, client: Client) -> None:
    session = await inn.begun(client, argv=("/nowhere/agent",))
    error = client.session(session).creation_error
    assert error is not None
    assert error.error_type == "agent_not_installed"


# -- others ------------------------------------------------------------------------------------------------


FULL: dict[str, Any] = {"modes": True, "options": True, "capabilities": RESUMES}


async def kill(inn: Inn, uri: str) -> AcpAgentSession:
    """Kill the agent's process as `kill -9` does, between the turns, and wait until it is gone."""
    session = inn.house.host.sessions.get(uri)
    assert session is not None
    agent = await session.agent()
    assert isinstance(agent, AcpAgentSession)
    assert agent._link.last is not None
    os.kill(agent._link.last.agent.child.pid, signal.SIGKILL)
    watching = agent._link.last.agent.watching
    assert watching is not None
    await watching
    return agent


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


TOLD = '{"options": true}'


def program(folder: Path) -> AgentDefinition:
    """An agent that is installed as a program."""
    path = folder / "quick-agent"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo 9.9 && exit\nexec {shlex.join(QUICK)} "$@"\n')
    path.chmod(0o755)
    return AgentDefinition(id="quick", label="Quick", ways=(Way(program=str(path), args=(TOLD,)),))


MISSING = AgentDefinition(id="missing", label="Missing", ways=(Way(program="/nowhere/at-all"),))


def finder(folder: Path) -> Finder:
    return Finder(Surroundings(environ={"PATH": "/usr/bin:/bin"}, home=folder))


async def test_what_is_installed_is_offered_and_what_is_not_is_not(
    inn: Inn, client: Client, tmp_path: Path
) -> None:
    host = inn.house.host
    host.agent_list.look_for(offer_installed(host, [MISSING, program(tmp_path)], finder(tmp_path)))
    await client.until(lambda: len(client.root.agents) == 2)
    assert [(one.provider, one.display_name) for one in client.root.agents][1] == ("quick", "Quick")
    assert said(await say(client, await inn.session(client), "echo hi")) == "hi"


async def test_what_was_learned_of_an_agent_outlives_the_host(
    inn: Inn, client: Client, tmp_path: Path
) -> None:
    async def offer() -> None:
        await offer_installed(inn.house.host, [program(tmp_path)], finder(tmp_path))

    await offer()
    await client.until(lambda: len(client.root.agents) == 2)
    assert client.root.agents[1].models == []
    await inn.session(client)
    await client.until(lambda: client.root.agents[1].models)
    await inn.restart()
    await offer()
    again = await inn.connect("again", "ahp-root://")
    assert [model.id for model in again.root.agents[-1].models] == ["small", "large"]
