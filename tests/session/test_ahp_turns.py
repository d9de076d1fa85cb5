"""The transcript of a session of any harness, made of what AHP shows of it."""

from __future__ import annotations

from typing import Any

import pytest

from serai.ahp import types as t, wire
from serai.contract import to_wire
from serai.session.ahp_turns import messages_of_turns
from serai.session.messages import SessionMessage
from serai.session.transcript import logical_turns
from serai.session.workflow import read_workflow, serialize, workflow_of
from serai.session.yaml import load
from session.sessions import NOON, session


def called(name: str, call_id: str, **more: Any) -> dict[str, Any]:
    call = {
        "toolCallId": call_id,
        "toolName": name,
        "displayName": name,
        "status": "completed",
        "invocationMessage": "it runs",
        "confirmed": "not-needed",
        "success": True,
        "pastTenseMessage": "it ran",
    }
    return {"kind": "toolCall", "toolCall": {**call, **more}}


def text(content: str) -> dict[str, Any]:
    return {"kind": "markdown", "id": "p", "content": content}


def turn(number: int, *parts: dict[str, Any], state: str = "complete", **more: Any) -> t.Turn:
    given = {
        "id": f"t-{number}",
        "userMessage": {"text": f"ask {number}"},
        "responseParts": list(parts),
        "state": state,
    }
    return wire.convert({**given, **more}, t.Turn)


def messages(*turns: t.Turn) -> list[SessionMessage]:
    return messages_of_turns("s-1", turns, NOON)


def rows(*turns: t.Turn) -> list[tuple[str, list[dict[str, Any]]]]:
    return [(one["role"], one["content"]) for one in map(to_wire, messages(*turns))]


def test_a_turn_becomes_rows_with_each_call_before_its_result() -> None:
    answer = turn(
        1,
        {"kind": "reasoning", "id": "r", "content": "hm"},
        text("Let me look."),
        called(
            "read",
            "c-1",
            toolInput='{"path": "a.py"}',
            content=[{"type": "text", "text": "one"}, {"type": "text", "text": "two"}],
        ),
        called("run", "c-2", toolInput="ls -l", success=False, error={"message": "no such thing"}),
        text("It is "),
        text("fine."),
        usage={"model": "large"},
    )
    assert rows(answer) == [
        ("user", [{"type": "text", "text": "ask 1"}]),
        (
            "assistant",
            [
                {"type": "reasoning", "text": "hm"},
                {"type": "text", "text": "Let me look."},
                {"type": "tool_call", "id": "c-1", "name": "read", "input": {"path": "a.py"}},
                {"type": "tool_call", "id": "c-2", "name": "run", "input": {"input": "ls -l"}},
            ],
        ),
        (
            "tool",
            [
                {"type": "tool_result", "id": "c-1", "name": "read", "output": "one\ntwo"},
                {
                    "type": "tool_result",
                    "id": "c-2",
                    "name": "run",
                    "output": "no such thing",
                    "isError": True,
                },
            ],
        ),
        ("assistant", [{"type": "text", "text": "It is "}, {"type": "text", "text": "fine."}]),
    ]
    assert [one.model_id for one in messages(answer)] == [None, "large", None, "large"]


@pytest.mark.parametrize(
    ("answer", "is_completed"),
    [
        (turn(1, text("done")), True),
        (turn(1, text("do"), state="cancelled"), False),
        (turn(1, text("do"), {"kind": "systemNotification", "content": "stopped"}, state="error"), False),
        (turn(1), False),
        (
            turn(
                1,
                called("rm", "c-1", status="cancelled", reason="denied", reasonMessage="not that"),
                text("I did not."),
            ),
            True,
        ),
    ],
)
def test_only_a_turn_that_came_to_its_end_is_completed(answer: t.Turn, *, is_completed: bool) -> None:
    [made] = logical_turns(messages(answer))
    assert made.is_completed is is_completed


def test_attachments_and_resources_are_handles() -> None:
    said = {
        "text": "see",
        "attachments": [
            {"type": "resource", "label": "a", "uri": "file:///a.png", "contentType": "image/png"},
            {"type": "embeddedResource", "label": "b", "data": "aGk=", "contentType": "image/gif"},
            {"type": "simple", "label": "c", "modelRepresentation": "words"},
        ],
    }
    [(_, content), (_, answer)] = rows(turn(1, {"kind": "contentRef", "uri": "blob:9"}, userMessage=said))
    assert content[1:] == [
        {"type": "media", "handle": "file:///a.png", "mediaType": "image/png"},
        {"type": "media", "handle": "t-1/attachments/2", "mediaType": "image/gif"},
        {"type": "media", "handle": "t-1/attachments/3", "mediaType": "text/plain"},
    ]
    assert answer == [{"type": "media", "handle": "blob:9", "mediaType": "application/octet-stream"}]


def test_numbers_grow_and_ids_differ() -> None:
    made = messages(turn(1, text("a")), turn(2, text("b")))
    assert [one.sequence_number for one in made] == [1, 2, 3, 4]
    assert len({one.id for one in made}) == 4


def test_a_session_of_another_harness_exports_alike() -> None:
    made = messages(
        turn(1, called("read", "c-1"), text("done")),
        turn(2, text("hal"), state="cancelled"),
        turn(3, text("yes")),
    )
    file = serialize(workflow_of(session(agent_slug="demo"), made))
    workflow = read_workflow(load(file.encode(), "f"))
    assert [(node.id, node.agent_ref, node.prompt_template, node.tools) for node in workflow.nodes] == [
        ("input", "", "", None),
        ("turn-1", "demo", "ask 1", ("read",)),
        ("turn-2", "demo", "ask 3", None),
        ("output", "", "", None),
    ]
