"""What is read of the lines that an agent writes."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import given, strategies as st

from serai.acp.agent import Agent
from serai.acp.client_side import ClientSide
from serai.acp.process.connection import Launch
from serai.acp.updates import AgentMessageChunk, RawUpdate, Update
from serai.jsonrpc import Notification


class SessionUpdate(NamedTuple):
    session_id: str
    update: Update


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def update(**fields: Any) -> bytes:
    return line(method="session/update", params={"sessionId": "s", "update": fields})


class Hearing(Agent):
    """An agent without a process, that keeps what it says."""

    def __init__(self) -> None:
        super().__init__(Launch(()), {"client": ClientSide(), "mask": str, "warn": print})
        self.heard_of: list[Any] = []

    def updated(self, session_id: str, update: Update, size: int) -> None:  # noqa: ARG002 - as it is called
        self.heard_of.append(SessionUpdate(session_id, update))

    def notified(self, message: Notification) -> None:
        self.heard_of.append(message)

    def _write(self, line: bytes) -> None:
        self.heard_of.append(json.loads(line))


def read(written: bytes) -> Any:
    """What a line is: an update, a request, a notification, a refusal that was sent; `None` for noise."""
    agent = Hearing()
    agent.feed(written + b"\n")
    return agent.heard_of[0] if agent.heard_of else None


@given(
    st.dictionaries(
        st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error"]),
        st.none()
        | st.booleans()
        | st.integers()
        | st.sampled_from(["session/update", "x"])
        | st.dictionaries(
            st.sampled_from(["sessionId", "update"]),
            st.text() | st.dictionaries(st.just("sessionUpdate"), st.text()),
        ),
    )
)
def test_every_object_is_a_message_or_noise(message: dict[str, Any]) -> None:
    read(json.dumps(message).encode())


def test_an_update_is_read_into_its_type_and_keeps_what_is_unknown() -> None:
    read_update = read(
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "hi"}, new=1)
    )
    assert isinstance(read_update, SessionUpdate)
    chunk = read_update.update
    assert isinstance(chunk, AgentMessageChunk)
    assert (read_update.session_id, chunk.text, chunk.kind) == ("s", "hi", "agent_message_chunk")
    assert chunk.raw == {
        "sessionUpdate": "agent_message_chunk",
        "content": {"type": "text", "text": "hi"},
        "new": 1,
    }


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"sessionUpdate": "hologram", "depth": 3}, "hologram"),
        ({"sessionUpdate": "plan", "entries": 7}, "plan"),
        ({"sessionUpdate": 5}, ""),
        ({}, ""),
    ],
)
def test_an_update_that_is_not_known_survives(fields: dict[str, Any], kind: str) -> None:
    message = read(update(**fields))
    assert isinstance(message, SessionUpdate)
    assert message.update == RawUpdate(kind, fields)
    assert message.update.raw == fields


def test_an_update_with_an_id_is_a_request() -> None:
    params = {"sessionId": "s", "update": {"sessionUpdate": "current_mode_update", "currentModeId": "m"}}
    refusal = read(line(id=1, method="session/update", params=params))
    assert (refusal["id"], refusal["error"]["code"]) == (1, -32601)


@pytest.mark.parametrize(
    ("written", "text"), [(b"caf\xe9", "caf\ufffd"), (b"NaN \xff", "NaN \ufffd"), (b"\xe2\x82", "\ufffd")]
)
def test_a_byte_that_is_no_text_does_not_cost_the_rest(written: bytes, text: str) -> None:
    message = read(
        update(sessionUpdate="agent_message_chunk", content={"type": "text", "text": "@"}).replace(
            b"@", written
        )
    )
    assert isinstance(message, SessionUpdate)
    assert isinstance(message.update, AgentMessageChunk)
    assert message.update.text == text
    assert message.update.raw["content"]["text"] == text


@pytest.mark.parametrize(
    ("strange", "seen"), [(b'"caf\xe9"', "caf\ufffd"), (b"NaN", None), (b"1e999", "left out")]
)
def test_a_field_that_nobody_knows_may_be_strange(strange: bytes, seen: Any) -> None:
    content = {"type": "text", "text": "hi"}
    message = read(update(sessionUpdate="agent_message_chunk", content=content, new=5).replace(b"5", strange))
    assert isinstance(message, SessionUpdate)
    assert isinstance(message.update, AgentMessageChunk)
    assert message.update.text == "hi"
    assert message.update.raw.get("new", "left out") == seen
