"""What agent sessions cost: exporting one of 10,000 messages, beside `json.dumps` of the same value."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime

import msgspec

from harness import Result, against_peer, take_turns
from serai.session.export import export
from serai.session.messages import (
    AgentSessionRecord,
    SessionContext,
    SessionMessage,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)
from serai.session.workflow import serialize

MESSAGES = 10_000
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SESSION = AgentSessionRecord(
    id="s-1",
    agent_slug="reviewer",
    title="A long conversation",
    context=SessionContext(working_dir="/work"),
    created_at=NOON,
    updated_at=NOON,
)


def benchmarks() -> Iterator[Result]:
    """An export, from the messages to the text of the file."""
    messages = [_message(number) for number in range(1, MESSAGES + 1)]
    value = msgspec.to_builtins(export(SESSION, messages))
    ours, peer = take_turns(lambda: serialize(export(SESSION, messages)), lambda: json.dumps(value), rounds=5)
    yield against_peer(
        f"export a session of {MESSAGES:,} messages",
        ours * 1e3,
        "ms",
        peer="json.dumps of the value",
        peer_figure=peer * 1e3,
        target=15.0,
    )


def _message(number: int) -> SessionMessage:
    """Turns of four rows: a question, a call, its result, an answer."""
    call = f"call-{number - number % 4}"
    content, role = {
        1: (TextPart(text=f"Please look at part {number}: is it right?\nSay why."), SessionMessageRole.USER),
        2: (
            ToolCallPart(
                id=call, name="read_file", input={"path": f"src/part_{number}.py", "lines": [1, 80]}
            ),
            SessionMessageRole.ASSISTANT,
        ),
        3: (
            ToolResultPart(id=call, name="read_file", output="def part() -> int:\n    return 1\n" * 8),
            SessionMessageRole.TOOL,
        ),
        0: (
            TextPart(text="It is right: the function returns what it says. " * 6),
            SessionMessageRole.ASSISTANT,
        ),
    }[number % 4]
    return SessionMessage(
        id=f"m-{number}",
        session_id=SESSION.id,
        sequence_number=number,
        role=role,
        content=(content,),
        model_id="local:small" if role is SessionMessageRole.ASSISTANT else None,
        timestamp=NOON,
    )
