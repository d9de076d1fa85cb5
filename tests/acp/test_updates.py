"""Updates that are nearly right: one odd field does not take the rest along."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serai.acp.client_side import PermissionRequest
from serai.acp.requests import HANDLERS
from serai.acp.updates import RawUpdate, SessionInfoUpdate, Update, read_update

CHUNK = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": "hi"}}
CALL = {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "ls"}
USAGE = {"sessionUpdate": "usage_update", "used": 3, "size": 10}


def read(update: dict[str, Any]) -> Update:
    """What comes of an update on the wire."""
    return read_update(json.loads(json.dumps(update)))


@pytest.mark.parametrize(
    ("base", "odd", "field", "value"),
    [
        (CHUNK, {"_meta": 5}, "text", "hi"),
        (CHUNK, {"messageId": {}}, "message_id", None),
        (CALL, {"title": {"text": "x"}}, "title", None),
        (CALL, {"content": [None]}, "content", None),
        (USAGE, {"cost": {"amount": None}}, "used", 3),
        (USAGE, {"used": -1}, "used", None),
        (USAGE, {"cost": {"amount": 10**400, "currency": "USD"}}, "cost", None),
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
        {"sessionUpdate": 5},
    ],
)
def test_what_tells_nothing_stays_as_it_came(update: dict[str, Any]) -> None:
    assert isinstance(read(update), RawUpdate)


def permission(options: Any, **call: Any) -> PermissionRequest:
    params = {"sessionId": "s", "toolCall": {"toolCallId": "c", **call}, "options": options}
    return HANDLERS["session/request_permission"].read(params)


def test_a_permission_is_asked_for_although_its_options_are_odd() -> None:
    options = [{"optionId": "a", "name": "Yes", "kind": None}, {"name": "no id"}, None, {"optionId": "b"}]
    asked = permission(options, kind=5, title="ls", content=[None])
    assert [(each.id, each.name, each.kind) for each in asked.options] == [("a", "Yes", ""), ("b", "b", "")]
    assert (asked.tool_call.title, asked.tool_call.tool_kind) == ("ls", None)
    assert permission(None).options == ()
