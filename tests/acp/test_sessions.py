"""How sessions are opened, and what is heard of them before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from requirements import proves
from serai.acp.agent import Agent
from serai.acp.session import OpenWay
from serai.acp.updates import AgentMessageChunk, UserMessageChunk
from serai.errors import AuthRequired, SessionCreateFailed, SessionLoadFailed

EARLIER = {"loadSession": True, "sessionCapabilities": {"resume": {}, "fork": {}, "list": {}}}


def texts(items: Any) -> list[str | None]:
    return [item.text for item in items if isinstance(item, AgentMessageChunk | UserMessageChunk)]


async def test_what_was_told_before_the_answer_is_delivered(agent: Agent, tmp_path: Path) -> None:
    session = await agent.open_session(tmp_path)
    assert session.commands == ({"name": "early", "description": ""},)
    updates = session.updates()
    items = [await anext(updates) for _ in range(2)]
    assert texts(items) == ["before the answer"]
    assert session.replayed == []
    assert agent.open_sessions == {session.id: session}


async def test_to_be_told_to_sign_in_says_how(start: Any, tmp_path: Path) -> None:
    agent = await start(
        new_error={"code": -32000, "message": "Authentication required"},
        methods=[{"id": "web", "name": "Web"}],
        login=["scripted", "login"],
    )
    with pytest.raises(AuthRequired) as caught:
        await agent.open_session(tmp_path)
    assert caught.value.login_command == ["scripted", "login"]
    assert caught.value.methods == ({"id": "web", "name": "Web"},)
    assert agent.is_running


@pytest.mark.parametrize("session_id", [5, None])
async def test_an_answer_without_an_id_is_no_session(session_id: Any, start: Any, tmp_path: Path) -> None:
    agent = await start(session_id=session_id)
    with pytest.raises(SessionCreateFailed):
        await agent.open_session(tmp_path)
    assert agent.open_sessions == {}


@proves("wire:Session-capabilities/load-works")
@pytest.mark.parametrize("way", [OpenWay.LOADED, OpenWay.RESUMED])
async def test_history_is_kept_apart_from_what_is_new(
    way: OpenWay, start: Any, tmp_path: Path, converse: Any
) -> None:
    agent = await start(capabilities=EARLIER)
    session = await agent.open_session(tmp_path, way, "old")
    # What comes at once after the answer may be history, and counts as such.
    assert texts(session.replayed) == ["what I asked", "what I said", "at once after the answer"]
    assert (await converse(session, "echo something new")).texts == ["something new"]
    assert session.id == "old"


async def test_a_session_that_is_lost_is_told_and_may_be_tried_again(start: Any, tmp_path: Path) -> None:
    agent = await start(capabilities=EARLIER)
    for _ in range(2):
        with pytest.raises(SessionLoadFailed) as caught:
            await agent.open_session(tmp_path, OpenWay.LOADED, "lost")
        assert caught.value.number == -32002
    assert agent.open_sessions == {}


async def test_a_session_is_opened_once(start: Any, tmp_path: Path) -> None:
    agent = await start(capabilities=EARLIER)
    session = await agent.open_session(tmp_path, OpenWay.LOADED, "old")
    with pytest.raises(SessionLoadFailed):
        await agent.open_session(tmp_path, OpenWay.RESUMED, "old")
    session.forget()
    assert (await agent.open_session(tmp_path, OpenWay.RESUMED, "old")).id == "old"


@proves("wire:Session-capabilities/list-works")
async def test_sessions_are_listed_page_after_page(start: Any, tmp_path: Path) -> None:
    agent = await start(capabilities=EARLIER)
    page = await agent.list_sessions(tmp_path)
    assert [(each.id, each.title) for each in page.sessions] == [("a", "A")]
    assert page.next_cursor == "2"
    assert (await agent.list_sessions(cursor="2")).next_cursor is None
    assert [each.id async for each in agent.stream_all_sessions()] == ["a", "b"]


async def test_an_agent_that_leads_in_circles_has_an_end(start: Any) -> None:
    agent = await start(capabilities=EARLIER, circle=True)
    assert [each.id async for each in agent.stream_all_sessions()] == ["a", "b"]
