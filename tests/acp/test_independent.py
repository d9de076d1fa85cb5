"""Our client and an agent on the Python SDK, which shares no code with it."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest

from serai.acp.agent import Agent
from serai.acp.client_side import (
    ClientCapabilities,
    CreateTerminal,
    Elicitation,
    ElicitationAnswer,
    TerminalExit,
    TerminalOutput,
    TerminalRequest,
)
from serai.acp.session import OpenWay
from serai.acp.updates import (
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    PlanUpdate,
    ToolCall,
    ToolCallUpdate,
    UsageUpdate,
)
from serai.errors import AuthRequired, SessionLoadFailed

INDEPENDENT = (sys.executable, str(Path(__file__).parent / "agents/independent.py"))


@pytest.fixture
async def agent(start: Any, person: Any) -> Agent:
    person.has = ClientCapabilities(
        read_text_file=True, write_text_file=True, terminal=True, elicitation_form=True
    )
    return await start(INDEPENDENT, cancel_timeout=0.5)


async def test_sessions_are_made_opened_listed_and_closed(agent: Agent, tmp_path: Path) -> None:
    assert agent.capabilities.fork_session
    assert agent.capabilities.additional_directories
    assert not agent.capabilities.mcp.sse
    assert agent.handshake.agent_info["name"] == "independent"
    session = await agent.open_session(
        tmp_path,
        mcp_servers=[
            {"name": "own", "command": "/bin/x"},
            {"name": "far", "type": "http", "url": "http://x"},
        ],
        additional_directories=[Path("/more")],
    )
    async with asyncio.timeout(30):
        updates = session.updates()
        first, second = await anext(updates), await anext(updates)
    assert session.commands[0]["description"] == str(tmp_path)
    assert isinstance(first, AvailableCommandsUpdate)
    assert getattr(second, "text", None) == "own far /more"

    await session.set_mode("do")
    assert session.modes is not None
    assert session.modes.value == "do"
    await session.set_config_option("model", "large")
    assert session.config_options[1].value == "large"
    await session.close()

    loaded = await agent.open_session(tmp_path, OpenWay.LOADED, "old")
    assert [update.kind for update in loaded.replayed] == ["user_message_chunk", "agent_message_chunk"]
    resumed = await agent.open_session(tmp_path, OpenWay.RESUMED, "older")
    assert [getattr(update, "text", None) for update in resumed.replayed] == ["told although nobody asked"]
    forked = await agent.open_session(tmp_path, OpenWay.FORKED, "old")
    assert (forked.id, len(forked.replayed)) == ("old-fork", 1)
    assert [each.id async for each in agent.stream_all_sessions()] == ["old-0", "old-1", "old-2"]
    with pytest.raises(SessionLoadFailed):
        await agent.open_session(tmp_path, OpenWay.LOADED, "lost")

    await agent.authenticate("key")
    with pytest.raises(AuthRequired) as caught:
        await agent.authenticate("other")
    assert [method["id"] for method in caught.value.methods] == ["key"]
    assert await agent.request("_own", {"a": 1}) == {"method": "own", "a": 1}


async def test_turns_are_followed_asked_about_served_and_stopped(
    agent: Agent, tmp_path: Path, person: Any, converse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve_terminals(person, monkeypatch)
    session = await agent.open_session(tmp_path)
    assert (await converse(session, "say one two three")).texts[-3:] == ["one", "two", "three"]

    work = await converse(session, "work")
    kinds = [type(item) for item in work.items]
    assert kinds[:5] == [AgentThoughtChunk, PlanUpdate, ToolCall, ToolCallUpdate, UsageUpdate]
    done = work.items[3]
    assert isinstance(done, ToolCallUpdate)
    assert done.status == "completed"
    assert [each["type"] for each in done.content or []] == ["content", "diff", "terminal"]
    assert work.end.usage["inputTokens"] == 3
    assert session.title == "Work"
    assert person.requests[0].tool_call.title == "ls"

    assert (await converse(session, "files")).texts == ["-32002"]
    assert person.files["/copy"] == person.files["/notes"]
    assert (await converse(session, "terminal")).texts == ["listing False 0"]
    assert (await converse(session, "elicit")).texts == ["accept {'name': 'Ada'}"]
    assert isinstance((await converse(session, "fail")).error, AuthRequired)

    turn = session.prompt("wait")
    turn.cancel()
    assert (await converse(session)).stop_reason == "cancelled"

    person.patient, seen = True, len(person.requests)
    turn = session.prompt("storm 50")
    async with asyncio.timeout(30):
        while len(person.requests) < seen + 50:  # noqa: ASYNC110 - nobody announces the last
            await asyncio.sleep(0.005)
    turn.cancel()
    stormy = await converse(session)
    assert (stormy.texts, stormy.stop_reason) == (["cancelled"], "cancelled")


def serve_terminals(person: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal that has run `ls` already, and someone called Ada."""

    async def create(request: CreateTerminal) -> str:
        assert (request.command, request.args, request.env or []) == ("ls", ["-l"], [])
        return "t1"

    async def output(_request: TerminalRequest) -> TerminalOutput:
        return TerminalOutput("listing", exit_status=TerminalExit(exit_code=0))

    async def exit_(_request: TerminalRequest) -> TerminalExit:
        return TerminalExit(exit_code=0)

    async def nothing(request: TerminalRequest) -> None:
        assert request.terminal_id == "t1"

    async def ada(request: Elicitation) -> ElicitationAnswer:
        assert request.requested_schema is not None
        return ElicitationAnswer("accept", {"name": "Ada"})

    monkeypatch.setattr(person, "create_terminal", create)
    monkeypatch.setattr(person, "terminal_output", output)
    monkeypatch.setattr(person, "wait_for_terminal_exit", exit_)
    monkeypatch.setattr(person, "kill_terminal", nothing)
    monkeypatch.setattr(person, "release_terminal", nothing)
    monkeypatch.setattr(person, "create_elicitation", ada)
