"""What an agent over ACP declares and offers, and what is refused because ACP has nothing like it."""

from __future__ import annotations

import asyncio
from typing import Any

from conformance.client import Client
from harness.acp.conftest import FORKS, RESUMES, Inn, notices, said, say
from hosts import WITHIN
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
    delivery = next(iter(agent._receipts))
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
    running = agent._link.last.agent.agent
    await client.request("disposeSession", session)
    assert running.exit is not None


async def test_a_session_that_is_put_out_of_memory_ends_its_agent_and_comes_back(
    inn: Inn, client: Client, tmp_path: Any
) -> None:
    session = await inn.begun(client, keep=str(tmp_path), capabilities=RESUMES)
    await say(client, session, "echo one")
    agent = await agent_of(inn, session)
    assert agent._link.last is not None
    running = agent._link.last.agent.agent
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
