"""Updates that are nearly right: one odd field does not take the rest along."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serai.acp import PermissionRequest, RawUpdate, SessionInfoUpdate
from serai.acp.requests import HANDLERS
from serai.acp.updates import Update, read_update

CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}
CALL = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls"}
ENTRY = {"type": "content", "content": {"type": "text", "text": "out"}}
PLAN = {"sessionUpdate": "plan", "entries": [{"content": "look"}]}
USAGE = {"sessionUpdate": "usage_update", "used": 3, "size": 10}


def read(update: dict[str, Any]) -> Update:
    """What comes of an update on the wire."""
    return read_update(json.loads(json.dumps(update)))


@pytest.mark.parametrize(
    ("base", "odd", "field", "value"),
    [
        (CHUNK, {"_meta": 5}, "text", "hi"),
        (CHUNK, {"content": "ho"}, "text", "ho"),
        (CHUNK, {"content": [CHUNK["content"]]}, "text", "hi"),
        (CHUNK, {"messageId": 7}, "message_id", "7"),
        (CHUNK, {"messageId": {}}, "message_id", None),
        (CALL, {"toolCallId": 7}, "tool_call_id", "7"),
        (CALL, {"kind": 5}, "tool_kind", None),
        (CALL, {"title": {"text": "x"}}, "title", None),
        (CALL, {"status": 1}, "title", "ls"),
        (CALL, {"content": [None, ENTRY]}, "content", [ENTRY]),
        (CALL, {"content": ENTRY}, "content", [ENTRY]),
        (CALL, {"content": "out"}, "content", None),
        (CALL, {"locations": [None, {"path": "/a"}]}, "locations", [{"path": "/a"}]),
        (PLAN, {"entries": [None, {"content": "look"}]}, "entries", [{"content": "look"}]),
        (USAGE, {"cost": {"amount": None}}, "used", 3),
        (USAGE, {"cost": {"amount": None}}, "cost", None),
        (USAGE, {"used": "many"}, "size", 10),
        (USAGE, {"used": -1}, "used", None),
        (USAGE, {"size": 10**400}, "size", None),
        (USAGE, {"cost": {"amount": -3}}, "cost", None),
        (USAGE, {"cost": {"amount": 10**400, "currency": "USD"}}, "cost", None),
        (USAGE, {"cost": {"amount": 1e300}}, "used", 3),
    ],
)
def test_an_odd_field_is_left_out_alone(
    base: dict[str, Any], odd: dict[str, Any], field: str, value: Any
) -> None:
    update = read({**base, **odd})
    assert update.kind == base["sessionUpdate"]
    assert getattr(update, field) == value


@pytest.mark.parametrize(
    ("told", "title"),
    [
        ("T\nnew\0line", "T new line"),
        ("\x1b]0;x\x07 Work\u2028\x85", "]0;x  Work"),
        ("👩\u200d💻 mit Ümläut", "👩\u200d💻 mit Ümläut"),
        ("\n", ""),
        (None, None),
    ],
)
def test_a_title_is_one_line_without_what_a_terminal_obeys(told: str | None, title: str | None) -> None:
    for odd in ({}, {"updatedAt": 5}):
        update = read({"sessionUpdate": "session_info_update", "title": told, **odd})
        assert isinstance(update, SessionInfoUpdate)
        assert update.title == title


@pytest.mark.parametrize(
    "update",
    [
        {"sessionUpdate": "tool_call", "title": "no id"},
        {"sessionUpdate": "plan", "entries": "not a list"},
        {"sessionUpdate": "agent_message_chunk", "content": None},
        {"sessionUpdate": 5},
    ],
)
def test_what_tells_nothing_stays_as_it_came(update: dict[str, Any]) -> None:
    assert isinstance(read(update), RawUpdate)


def permission(options: Any, **call: Any) -> PermissionRequest:
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c", **call}, "options": options}
    return HANDLERS["session/request_permission"].read(params)


def test_a_permission_is_asked_for_although_its_options_are_odd() -> None:
    options = [{"optionId": 1, "name": "Yes", "kind": None}, {"name": "no id"}, None, {"optionId": "b"}]
    asked = permission(options, kind=5, title="ls", content=[None])
    assert [(option.id, option.wire_id, option.name, option.kind) for option in asked.options] == [
        ("1", 1, "Yes", ""),
        ("b", "b", "b", ""),
    ]
    assert (asked.tool_call.title, asked.tool_call.tool_kind) == ("ls", None)
    assert permission(None).options == ()


async def test_an_option_is_chosen_by_the_id_that_the_agent_wrote() -> None:
    class Yes:
        async def request_permission(self, request: PermissionRequest) -> str:
            return request.options[0].id

    client: Any = Yes()
    answer = await HANDLERS["session/request_permission"].ask(client, permission([{"optionId": 7}]))
    assert answer == {"outcome": {"outcome": "selected", "optionId": 7}}
