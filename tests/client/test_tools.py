"""Tools that a client lends to a session."""

from __future__ import annotations

import asyncio
from typing import Any

from client.hosts import House, ScriptedHost, initialized, snapshot, soon
from requirements import proves
from serai.ahp.types import (
    ToolCallCancelledState,
    ToolCallCompletedState,
    ToolCallResponsePart,
    ToolCallResult,
    ToolCallState,
    ToolDefinition,
    ToolResultTextContent,
)
from serai.client import Client, ClientTool, SessionClient, ToolWaiting
from serai.host.turn import Turn

S = "ahp-session:/1"


async def caller(turn: Turn) -> None:
    """Calls the client's tool that the message names, and asks a person first when it says so."""
    assert turn.active_client is not None
    name, _, how = turn.message.text.partition(" ")
    call = await turn.tool(
        name,
        name,
        message=name,
        input=how or '{"of": "water"}',
        confirmed=None if how == "asking" else "not-needed",
        client_id=turn.active_client.client_id,
    )
    result = await call.result()
    texts = [one.text for one in result.content or () if isinstance(one, ToolResultTextContent)]
    await turn.say(f"{result.success}: {' '.join(texts)}{result.error.message if result.error else ''}")


def tool(name: str, run: Any) -> ClientTool:
    return ClientTool(ToolDefinition(name=name), run)


async def look_up(found: Any) -> str:
    return f"the {found['of']} is wet"


async def fail(_input: Any) -> str:
    raise ValueError("out of order")


async def plain(said: Any) -> ToolCallResult:
    return ToolCallResult(success=True, past_tense_message=repr(said))


async def said(session: SessionClient, text: str) -> str:
    return (await soon((await soon(session.prompt(text))).result())).text


def last_call(session: SessionClient) -> ToolCallState:
    [call] = [
        part for part in session.state.turns[-1].response_parts if isinstance(part, ToolCallResponsePart)
    ]
    return call.tool_call


async def lending(client: Client, *tools: ClientTool) -> SessionClient:
    session = await soon(client.create_session())
    await soon(session.lend(*tools, display_name="Editor"))
    return session


async def test_what_is_lent_runs_here_and_its_answer_reaches_the_agent() -> None:
    async with House(agent=caller) as house, house.client() as client:
        session = await lending(client, tool("lookup", look_up), tool("fail", fail), tool("plain", plain))
        active = session.state.active_client
        assert active is not None
        assert (active.client_id, active.display_name) == (client.client_id, "Editor")
        assert [one.name for one in active.tools] == ["lookup", "fail", "plain"]
        assert await said(session, "lookup") == "True: the water is wet"
        assert await said(session, "fail") == "False: out of order"
        assert await said(session, "plain no json") == "True: "
        call = last_call(session)
        assert isinstance(call, ToolCallCompletedState)
        assert call.past_tense_message == "'no json'"


@proves("ahp:session/toolCallConfirmed/denied/owner-denies-unknown-tool")
async def test_a_call_of_a_tool_that_is_not_here_is_denied() -> None:
    async with House(agent=caller) as house, house.client() as client:
        session = await lending(client, tool("lookup", look_up))
        assert await said(session, "sing asking") == "False: the call was denied"
        call = last_call(session)
        assert isinstance(call, ToolCallCancelledState)
        assert (call.reason, call.reason_message) == ("denied", "this client has no tool 'sing'")


@proves("ahp:session/toolCallConfirmed/denied/owner-denies-unknown-tool")
async def test_the_host_is_told_a_denial_and_where_that_comes_too_late_a_failure() -> None:
    host = ScriptedHost()
    client = host.client(S)
    opening = asyncio.ensure_future(client.open())
    peer = await host.connection()
    running = {
        "status": "running",
        "toolCallId": "c",
        "toolName": "sing",
        "displayName": "Sing",
        "invocationMessage": "sing",
        "confirmed": "not-needed",
        "toolClientId": "me",
    }
    turn = {
        "id": "t",
        "userMessage": {"text": "hi"},
        "responseParts": [{"kind": "toolCall", "toolCall": running}],
    }
    peer.answer(await peer.expect("initialize"), initialized(10))
    await soon(opening)
    try:
        following = asyncio.ensure_future(client.open_session(S))
        peer.answer(await peer.expect("subscribe"), {"snapshot": snapshot(10, activeTurn=turn)})
        await soon(following)
        denial = await peer.expect("dispatchAction")
        action = denial["params"]["action"]
        assert (action["type"], action["approved"], action["reason"]) == (
            "session/toolCallConfirmed",
            False,
            "denied",
        )
        peer.act(11, action, denial, reason="not_pending: it runs")
        failure = await peer.expect("dispatchAction")
        action = failure["params"]["action"]
        assert (action["type"], action["toolCallId"]) == ("session/toolCallComplete", "c")
        assert action["result"]["success"] is False
        assert "no tool 'sing'" in action["result"]["error"]["message"]
        peer.act(12, action, failure)
    finally:
        await soon(client.close())


async def test_a_tool_that_needs_a_yes_runs_after_it() -> None:
    async with House(agent=caller) as house, house.client() as client:
        session = await lending(client, tool("lookup", plain))
        turn = await soon(session.prompt("lookup asking"))
        async for event in turn:
            if isinstance(event, ToolWaiting):
                await soon(session.approve(event.call.tool_call_id))
        assert (await soon(turn.result())).text == "True: "


async def test_a_tool_is_cancelled_with_its_turn() -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def endless(_input: Any) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    async with House(agent=caller) as house, house.client() as client:
        session = await lending(client, tool("endless", endless))
        turn = await soon(session.prompt("endless"))
        await soon(begun.wait())
        await soon(session.cancel())
        await soon(ended.wait())
        assert (await soon(turn.result())).state == "cancelled"


async def test_a_tool_outlives_a_lost_connection_and_runs_once() -> None:
    begun, go_on = asyncio.Queue[None](), asyncio.Event()

    async def slow(_input: Any) -> str:
        begun.put_nowait(None)
        await go_on.wait()
        return "done"

    async with House(agent=caller) as house, house.client() as client:
        session = await lending(client, tool("slow", slow))
        turn = await soon(session.prompt("slow"))
        await soon(begun.get())
        house.cut()
        go_on.set()
        assert (await soon(turn.result())).text == "True: done"
        assert begun.empty()
