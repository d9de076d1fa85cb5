"""The sessions that an agent has kept, as it lists them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from serai.acp.shapes import line_of, object_of, objects_of, text_of

__all__ = ["SessionInfo", "SessionPage", "read_page"]


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session that the agent has kept."""

    id: str
    cwd: str | None = None
    title: str | None = None
    updated_at: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True)
class SessionPage:
    """Some of the sessions that the agent has kept."""

    sessions: tuple[SessionInfo, ...]
    next_cursor: str | None = None
    """What to ask the next page with; `None` when this is the last."""


def read_page(told: Any) -> SessionPage:
    """The page in an answer. What is no session is left out."""
    reply = object_of(told)
    sessions = tuple(
        SessionInfo(
            session_id,
            text_of(each.get("cwd")),
            line_of(each.get("title")),
            text_of(each.get("updatedAt")),
            each,
        )
        for each in objects_of(reply.get("sessions"))
        if (session_id := text_of(each.get("sessionId"))) is not None
    )
    return SessionPage(sessions, text_of(reply.get("nextCursor")) or None)
