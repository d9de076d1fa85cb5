"""What an agent asks, and how it is answered."""

from __future__ import annotations

import asyncio
import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from serai.acp.agent import Agent
from serai.acp.client_side import ClientCapabilities, PermissionRequest
from serai.acp.session import AcpSession
from serai.errors import AgentClosed

SELECTED = {"outcome": {"outcome": "selected", "optionId": "yes"}}
CANCELLED = {"outcome": {"outcome": "cancelled"}}


async def test_ids_of_both_kinds_are_echoed_as_they_came(
    session: AcpSession, person: Any, converse: Any
) -> None:
    conversation = await converse(session, 'permission 0 7 "7" "text" 1.5')
    assert [json.loads(text) for text in conversation.texts] == [SELECTED] * 5
    request = person.requests[0]
    assert (request.session_id, request.tool_call.title, request.tool_call.tool_kind) == (
        session.id,
        "rm -rf /",
        "execute",
    )
    assert [(option.id, option.kind) for option in request.options] == [
        ("yes", "allow_once"),
        ("no", "reject_once"),
    ]


@pytest.mark.parametrize("method", ["_vendor/x", "terminal/create"])
async def test_what_the_client_does_not_have_is_answered_so(
    method: str, session: AcpSession, converse: Any
) -> None:
    conversation = await converse(session, f"asks {method}")
    assert json.loads(conversation.texts[0])["code"] == -32601


async def test_questions_are_asked_in_the_ways_that_the_client_has(
    start: Any, person: Any, tmp_path: Path, converse: Any
) -> None:
    person.has = ClientCapabilities(elicitation_form=True)
    agent = await start()
    session = await agent.open_session(tmp_path)
    form = await converse(session, 'asks elicitation/create {"message":"m","mode":"form"}')
    assert json.loads(form.texts[-1]) == {"action": "accept", "content": {"said": "m"}}
    url = await converse(session, 'asks elicitation/create {"message":"m","mode":"url"}')
    assert json.loads(url.texts[-1])["code"] == -32601


async def test_what_is_no_request_is_refused_and_the_conversation_goes_on(
    session: AcpSession, converse: Any
) -> None:
    conversation = await converse(session, "malformed")
    assert conversation.texts == ["-32600", "-32602", "-32600"]


async def test_a_cancel_also_gives_up_what_was_asked_under_the_id_of_a_session_that_nobody_opened(
    session: AcpSession, person: Any, converse: Any
) -> None:
    person.patient = True
    turn = session.prompt("subagent child")
    async with asyncio.timeout(30):
        await person.asked.wait()
    turn.cancel()
    conversation = await converse(session)
    assert json.loads(conversation.texts[-1]) == CANCELLED
    assert person.given_up == 1


async def test_nobody_is_asked_any_more_when_the_agent_is_gone(
    agent: Agent, session: AcpSession, person: Any, converse: Any
) -> None:
    person.patient = True
    session.prompt("permission 1")
    async with asyncio.timeout(30):
        await person.asked.wait()
    os.kill(agent.child.pid, signal.SIGKILL)
    assert isinstance((await converse(session)).error, AgentClosed)
    async with asyncio.timeout(30):
        while not person.given_up:  # noqa: ASYNC110 - nobody announces it
            await asyncio.sleep(0.005)


async def test_a_client_that_fails_is_no_secret_and_no_end(
    session: AcpSession, converse: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fail(_request: PermissionRequest) -> str:
        raise RuntimeError("inner secret")

    monkeypatch.setattr(session, "permit", fail)
    conversation = await converse(session, "permission 1")
    assert conversation.texts == ["null"]  # an error, and so no result
    assert conversation.stop_reason == "end_turn"


async def test_a_request_is_heard_between_what_came_before_it_and_what_came_after(
    agent: Agent, person: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    async def choose(_request: PermissionRequest) -> str:
        heard.append("asked")
        await asyncio.sleep(0)
        return "yes"

    monkeypatch.setattr(person, "request_permission", choose)
    session = await agent.open_session(tmp_path)

    def receive(item: Any, _size: int) -> None:
        heard.append(item.text)

    monkeypatch.setattr(session, "receive", receive)
    agent.feed(
        b"".join(
            json.dumps(message).encode() + b"\n"
            for message in (
                chunk(session.id, "before"),
                {"id": 1, "method": "session/request_permission", "params": permission(session.id)},
                chunk(session.id, "after"),
            )
        )
    )
    async with asyncio.timeout(30):
        while len(heard) < 3:  # noqa: ASYNC110 - nobody announces the last
            await asyncio.sleep(0)
    assert heard == ["before", "asked", "after"]


def chunk(session_id: str, text: str) -> dict[str, Any]:
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": text}}
    return {"method": "session/update", "params": {"sessionId": session_id, "update": update}}


def permission(session_id: str) -> dict[str, Any]:
    return {
        "sessionId": session_id,
        "toolCall": {"toolCallId": "t"},
        "options": [{"optionId": "yes", "name": "Yes", "kind": "allow_once"}],
    }
