"""Sessions as they are asked for and listed: in which way one is opened, and what the agent has kept."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, TypedDict

from serai.acp.servers import McpServer
from serai.acp.shapes import line_of, object_of, objects_of, text_of

__all__ = ["OpenWay", "SessionInfo", "SessionOpening", "SessionPage"]


class OpenWay(StrEnum):
    """How a session is opened."""

    NEW = "new"
    RESUMED = "resumed"
    LOADED = "loaded"
    FORKED = "forked"
    RECREATED = "re-created"
    """A new session in place of an earlier one: the agent knows nothing of what was said before."""

    @property
    def knows_past(self) -> bool:
        """Whether the agent remembers what was said before."""
        return self in (OpenWay.RESUMED, OpenWay.LOADED, OpenWay.FORKED)


class SessionOpening(TypedDict, total=False):
    """What may be said when a session is opened."""

    mcp_servers: Sequence[McpServer | Mapping[str, Any]]
    """MCP servers that it can use."""
    additional_directories: Iterable[Path]
    """Folders beside `cwd`. An agent that does not know of such works without, and is warned of once."""
    meta: Mapping[str, Any]
    """The request's `_meta`."""


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
