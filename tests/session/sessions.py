"""Sessions as the tests have them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

from serai.session.agent_file import AgentFile
from serai.session.messages import (
    AgentSessionRecord,
    DurableContentPart,
    SessionContext,
    SessionMessage,
    SessionMessageRole,
    TextPart,
    ToolCallPart,
    ToolResultPart,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
REVIEWER = AgentFile(
    slug="reviewer", name="Reviewer", model="local:small", tools=("read_file", "run_command")
)


def session(**more: Any) -> AgentSessionRecord:
    given: dict[str, Any] = {
        "id": "s-1",
        "agent_slug": "reviewer",
        "title": "Look at it",
        "context": SessionContext(working_dir="/work"),
        "created_at": NOON,
        "updated_at": NOON + timedelta(minutes=5),
    }
    return AgentSessionRecord(**{**given, **more})


def user(text: str, **more: Any) -> tuple[str, DurableContentPart]:
    return "user", TextPart(text=text, **more)


def says(text: str, **more: Any) -> tuple[str, DurableContentPart]:
    return "assistant", TextPart(text=text, **more)


def calls(name: str, call_id: str = "c-1") -> tuple[str, DurableContentPart]:
    return "assistant", ToolCallPart(id=call_id, name=name, input={"path": "a.py"})


def gives(output: str, call_id: str = "c-1") -> tuple[str, DurableContentPart]:
    return "tool", ToolResultPart(id=call_id, name="read_file", output=output)


def rows(*said: tuple[str, DurableContentPart | Iterable[DurableContentPart]]) -> list[SessionMessage]:
    """Messages in order, one for each: who speaks, and what."""
    return [
        SessionMessage(
            id=f"m-{number}",
            session_id="s-1",
            sequence_number=number,
            role=SessionMessageRole(role),
            content=tuple(content) if isinstance(content, tuple | list) else (content,),  # pyright: ignore[reportArgumentType]
            timestamp=NOON + timedelta(seconds=number),
        )
        for number, (role, content) in enumerate(said, 1)
    ]
