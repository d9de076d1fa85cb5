"""What is kept of a session: its row, its context, its messages."""

from __future__ import annotations

import json
from typing import Any

import pytest

from contract.shapes import NOON, Shape, members, shape_tests
from requirements import proves
from serai.contract import decode, to_wire
from serai.errors import Mismatch
from serai.session.agent_file import FsScopeTier
from serai.session.messages import (
    AgentSessionRecord,
    Selection,
    SessionContext,
    SessionMessage,
    SessionMessageRole,
)

SELECTION = {"file": "src/a.py", "startLine": 3, "endLine": 9}
CONTEXT: dict[str, Any] = {"workingDir": "/work", "fsScopeTier": "project"}
PARTS: list[dict[str, Any]] = [
    {"type": "text", "text": "look", "isSteering": True},
    {"type": "reasoning", "text": "hm"},
    {"type": "tool_call", "id": "c-1", "name": "read_file", "input": {"path": "a", "deep": [1, None]}},
    {"type": "tool_result", "id": "c-1", "name": "read_file", "output": "text", "isError": True},
    {"type": "media", "handle": "blob:1", "mediaType": "image/png"},
]
MESSAGE: dict[str, Any] = {
    "id": "m-1",
    "sessionId": "s-1",
    "sequenceNumber": 1,
    "role": "assistant",
    "content": PARTS,
    "timestamp": NOON,
}
SESSION: dict[str, Any] = {
    "id": "s-1",
    "agentSlug": "reviewer",
    "context": CONTEXT,
    "createdAt": NOON,
    "updatedAt": NOON,
}
SHAPES = [
    Shape("session:SessionMessage", SessionMessage, MESSAGE, {"modelId": "local:small"}),
    Shape(
        "session:SessionContext",
        SessionContext,
        {"workingDir": "/work"},
        {
            "activeFile": "src/a.py",
            "selection": SELECTION,
            "gitRef": "main",
            "variables": {"ticket": "7"},
        },
        {"fsScopeTier": "full"},
        always=frozenset({"fsScopeTier"}),
    ),
    Shape("session:SessionContext.selection", Selection, SELECTION),
    Shape("", AgentSessionRecord, SESSION, {"title": "A", "agentSnapshot": {"slug": "reviewer"}}),
]


test_it_is_written_exactly_as_it_was_read, test_each_field_is_needed_or_may_be_left_out = shape_tests(SHAPES)


@proves("session:SessionContext.fsScopeTier", "session:SessionContext/default-tier-sandboxed")
def test_a_context_always_says_its_tier_and_without_a_choice_it_is_sandboxed() -> None:
    assert to_wire(decode('{"workingDir": "/work"}', SessionContext)) == {
        "workingDir": "/work",
        "fsScopeTier": "sandboxed",
    }


@pytest.mark.parametrize("tier", members("session:FsScopeTier", *FsScopeTier))
def test_each_tier_is_kept_under_its_name(tier: str) -> None:
    assert (
        to_wire(decode(json.dumps({**CONTEXT, "fsScopeTier": tier}), SessionContext))["fsScopeTier"] == tier
    )


@pytest.mark.parametrize("role", members("session:SessionMessageRole", *SessionMessageRole))
def test_each_role_is_kept_under_its_name(role: str) -> None:
    assert to_wire(decode(json.dumps({**MESSAGE, "role": role}), SessionMessage))["role"] == role


@proves("session:SessionMessage/reasoning-without-signature", "session:SessionMessage/media-by-handle")
def test_neither_a_signature_nor_the_bytes_of_media_are_kept() -> None:
    parts = [{**part, "signature": "c2ln", "data": "aGVsbG8="} for part in PARTS]
    message = decode(json.dumps({**MESSAGE, "content": parts}), SessionMessage)
    assert to_wire(message)["content"] == PARTS


@pytest.mark.parametrize(
    ("as_type", "wire", "place"),
    [
        pytest.param(as_type, wire, place, marks=proves(f"session:Validation-and-persistence/{clause}"))
        for clause, as_type, wire, place in [
            ("message-validated", SessionMessage, {**MESSAGE, "role": "robot"}, "role"),
            (
                "message-validated",
                SessionMessage,
                {**MESSAGE, "timestamp": "2026-03-01T12:00:00"},
                "timestamp",
            ),
            (
                "message-validated",
                SessionMessage,
                {**MESSAGE, "content": [{"type": "video"}]},
                "content[0].type",
            ),
            ("context-validated", SessionContext, {**CONTEXT, "fsScopeTier": "all"}, "fsScopeTier"),
            (
                "context-validated",
                SessionContext,
                {**CONTEXT, "selection": {**SELECTION, "endLine": 1}},
                "selection",
            ),
            ("session-validated", AgentSessionRecord, {**SESSION, "context": {}}, "context.workingDir"),
            ("session-validated", AgentSessionRecord, {**SESSION, "agentSnapshot": {}}, "agentSnapshot.slug"),
        ]
    ],
)
def test_what_is_malformed_is_refused_with_its_place(as_type: Any, wire: dict[str, Any], place: str) -> None:
    with pytest.raises(Mismatch) as caught:
        decode(json.dumps(wire), as_type)
    assert caught.value.field == place
