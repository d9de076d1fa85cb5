"""An agent that has another agent do something, in a session of its own that anyone can follow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from serai.ahp.types import ToolResultSubagentContent, Turn
from serai.errors import CapabilityUnsupported
from serai.host.session.core import SessionCore

PARENT = "serai.parent"
"""In a session's `_meta`: the session whose agent began it. Only the host writes it."""

_DEEPEST = 4
"""So many sessions may stand one above the other: an agent that begins itself ends somewhere."""


@dataclass(frozen=True, slots=True)
class Subagent:
    """A session that an agent began, and its first turn. Made by `Session.delegate`."""

    uri: str
    content: ToolResultSubagentContent
    """What a tool call shows of it."""
    answer: Callable[[], Awaitable[Turn]]
    """Lets the other agent answer, and waits for it. Cancelling cancels its turn, too.

    Raises `SessionFailed` when its agent did not start, and `SessionGone` when someone took the turn back, or
    disposed of the session."""


class _Parent(Protocol):
    core: SessionCore


async def check_depth(parent: SessionCore, bring: Callable[[str], Awaitable[_Parent | None]]) -> None:
    """Go on only when an agent may begin one more session below its own.

    Raises:
        CapabilityUnsupported: Too many agents stand one above the other.
    """
    depth, above = 1, parent
    while isinstance(uri := (above.live.head.meta or {}).get(PARENT), str):
        depth += 1
        found = await bring(uri)
        if found is None:
            break
        above = found.core
    if depth >= _DEEPEST:
        raise CapabilityUnsupported(
            "subagents", f"a session {depth} deep", remedy=f"At most {_DEEPEST} may stand one above the other"
        )
