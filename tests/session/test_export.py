"""A session as a workflow: what the file has, and that it is always the same."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from requirements import proves
from serai.contract import decode, encode, to_wire
from serai.session.messages import AgentSessionRecord, DurableContentPart, SessionMessage, TextPart
from serai.session.transcript import projected
from serai.session.workflow import read_workflow, serialize, workflow_of
from serai.session.yaml import dump, load
from session.sessions import REVIEWER, calls, gives, rows, says, session, user

CONVERSATION = rows(
    user("Look at {{input}}"),
    calls("read_file"),
    gives("text"),
    calls("read_file", "c-2"),
    gives("more", "c-2"),
    says("It is fine."),
    user("And this?"),
    calls("run_command", "c-3"),
    user("Forget it"),
    user("Say hello"),
    says("Hello."),
    user("Are you there?"),
)


def file_of(record: AgentSessionRecord, messages: list[SessionMessage], **more: Any) -> dict[str, Any]:
    """The export as someone reads it from its file."""
    return load(serialize(workflow_of(record, messages, **more)).encode(), "f").value


@proves("session:Export-mapping/deterministic", "session:What-a-session-is/exportable")
def test_the_same_session_gives_the_same_file() -> None:
    record = session(agent_snapshot=REVIEWER)
    again = decode(encode(record), AgentSessionRecord)
    assert serialize(workflow_of(record, CONVERSATION)) == serialize(workflow_of(again, [*CONVERSATION]))
    assert read_workflow(load(serialize(workflow_of(record, CONVERSATION)).encode(), "f"))


@proves(
    "session:Export/linear-chain",
    "session:Export/no-inferred-structure",
    "session:Export-mapping/input-node-first",
    "session:Export-mapping/output-node-last",
    "session:Export-mapping/node-per-completed-turn",
    "session:Export-mapping/node-ids",
    "session:Export-mapping/unfinished-turn-left-out",
    "session:Export-mapping/edges-linear",
)
def test_completed_turns_are_a_line_of_nodes_from_input_to_output() -> None:
    file = file_of(session(), CONVERSATION)
    assert [(node["id"], node["type"]) for node in file["nodes"]] == [
        ("input", "input"),
        ("turn-1", "agent"),
        ("turn-2", "agent"),
        ("output", "output"),
    ]
    assert file["edges"] == [
        {"from": "input", "to": "turn-1"},
        {"from": "turn-1", "to": "turn-2"},
        {"from": "turn-2", "to": "output"},
    ]


@proves(
    "session:Export/nodes-carry-binding",
    "session:Export-mapping/agent-ref",
    "session:Export-mapping/prompt-template",
    "session:Export-mapping/tools-union",
    "session:Export-mapping/no-tools-omitted",
    "session:Export-mapping/no-model-settings",
)
def test_a_node_has_the_agent_the_prompt_and_the_tools_and_nothing_else() -> None:
    _, first, second, _ = file_of(session(), CONVERSATION)["nodes"]
    assert first == {
        "id": "turn-1",
        "type": "agent",
        "agent_ref": "reviewer",
        "prompt_template": "Look at { {input}}",
        "tools": ["read_file"],
    }
    assert second == {
        "id": "turn-2",
        "type": "agent",
        "agent_ref": "reviewer",
        "prompt_template": "Forget it\n\nSay hello",
    }


@proves("session:Export-mapping/empty-prompt-omitted")
def test_an_empty_prompt_is_left_out() -> None:
    _, node, _ = file_of(session(), rows(user(""), says("Hello.")))["nodes"]
    assert "prompt_template" not in node


@proves("session:Export-mapping/empty-chain")
@pytest.mark.parametrize("messages", [[], rows(user("a")), rows(user("a"), calls("x"), gives("y"))])
def test_without_a_completed_turn_input_leads_to_output(messages: list[SessionMessage]) -> None:
    file = file_of(session(), messages)
    assert [node["id"] for node in file["nodes"]] == ["input", "output"]
    assert file["edges"] == [{"from": "input", "to": "output"}]


@pytest.mark.parametrize(
    ("title", "name"),
    [
        pytest.param("Look at it!", "look-at-it", marks=proves("session:Export-mapping/id-slug")),
        ("  Fix: the  Café's --door (2) ", "fix-the-caf-s-door-2"),
        pytest.param("日本語", "exported-session", marks=proves("session:Export-mapping/id-fallback")),
        ("…", "exported-session"),
        ("", "exported-session"),
        (None, "exported-session"),
    ],
)
def test_the_id_is_made_of_the_title(title: str | None, name: str) -> None:
    assert file_of(session(title=title), [])["workflow"]["id"] == name


@proves("session:Export-mapping/agent-snapshot")
def test_the_agent_of_the_start_is_the_only_agent_of_the_file() -> None:
    file = file_of(session(agent_snapshot=REVIEWER), CONVERSATION)
    assert file["agents"] == [
        {
            "slug": "reviewer",
            "name": "Reviewer",
            "model": "local:small",
            "tools": ["read_file", "run_command"],
        }
    ]


@proves("session:Export-mapping/no-snapshot-omits-agents")
def test_without_an_agent_of_the_start_the_file_has_none_and_still_parses() -> None:
    text = serialize(workflow_of(session(), CONVERSATION))
    assert "agents" not in load(text.encode(), "f").value
    assert read_workflow(load(text.encode(), "f"))


@proves(
    "session:Export/transcript-in-metadata",
    "session:Export-mapping/one-reserved-key",
    *(
        f"session:relaviumExport.{name}"
        for name in ("source", "sessionId", "agentSlug", "title", "createdAt", "updatedAt", "messages")
    ),
)
def test_the_whole_transcript_is_in_one_key_of_the_metadata() -> None:
    file = file_of(session(), CONVERSATION, truncated={1})
    assert file["metadata"] == {
        "relaviumExport": {
            "source": "session",
            "sessionId": "s-1",
            "agentSlug": "reviewer",
            "title": "Look at it",
            "createdAt": "2026-03-01T12:00:00Z",
            "updatedAt": "2026-03-01T12:05:00Z",
            "messages": [to_wire(message) for message in CONVERSATION],
        }
    }
    assert "title" not in file_of(session(title=None), [])["metadata"]["relaviumExport"]


def test_what_was_taken_back_is_no_node_and_stays_in_the_transcript() -> None:
    file = file_of(session(), CONVERSATION, truncated=range(1, 7))
    assert [node.get("prompt_template") for node in file["nodes"]] == [None, "Forget it\n\nSay hello", None]
    assert len(file["metadata"]["relaviumExport"]["messages"]) == len(CONVERSATION)


@proves("session:Export-mapping/no-signatures")
def test_no_signature_is_in_an_export() -> None:
    part = {"type": "reasoning", "text": "hm", "signature": "c2lnbmF0dXJl"}
    wire = {**to_wire(CONVERSATION[0]), "role": "assistant", "content": [part]}
    message = decode(json.dumps(wire), SessionMessage)
    assert "ignature" not in serialize(workflow_of(session(), [message]))


PARTS = st.text().map(lambda text: TextPart(text=text))
SAID = st.tuples(st.sampled_from(["user", "assistant", "system"]), PARTS) | st.sampled_from(
    [calls("read_file"), gives("x")]
)


@proves("session:Export-mapping/byte-stable", "session:Export/metadata-survives-round-trip")
@given(said=st.lists(SAID, max_size=8), title=st.none() | st.text())
def test_reading_and_writing_an_export_again_gives_the_same_bytes(
    said: list[tuple[str, DurableContentPart]], title: str | None
) -> None:
    exported = workflow_of(session(agent_snapshot=REVIEWER, title=title), rows(*said))
    text = serialize(exported)
    document = load(text.encode(), "f")
    assert dump(document.value) == text
    again = read_workflow(document)
    assert serialize(again) == text
    assert again == exported


ANSWERS = st.sampled_from(
    [
        [says("done")],
        [calls("read_file"), gives("x"), says("done")],
        [calls("read_file"), gives("x"), user("rather this", is_steering=True), says("done")],
        [calls("read_file")],
        [calls("read_file"), gives("x")],
        [says("do", is_partial=True)],
    ]
)


@proves("session:Export-mapping/agrees-with-resume")
@given(st.lists(ANSWERS, max_size=5))
def test_a_turn_is_a_node_exactly_when_a_model_sees_all_of_it_later(
    answers: list[list[tuple[str, DurableContentPart]]],
) -> None:
    turns = [[user(f"ask {number}"), *answer] for number, answer in enumerate(answers)]
    messages = iter(rows(*(said for turn in turns for said in turn)))
    saved = {f"ask {number}": [next(messages) for _ in turn] for number, turn in enumerate(turns)}
    nodes = workflow_of(session(), [message for turn in saved.values() for message in turn]).nodes[1:-1]
    seen = projected({**saved, "running": rows(user("now"))}, "running")
    shown = {part.text for message in seen for part in message.content if isinstance(part, TextPart)}
    whole = [
        name for name, turn in saved.items() if projected({name: turn}, "") == projected({name: turn}, name)
    ]
    assert [node.prompt_template.partition("\n")[0] for node in nodes] == whole
    assert any("not completed" in text for text in shown) is (len(whole) < len(saved))
