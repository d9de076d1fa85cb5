"""An agent that has another agent do something, in a session of its own that anyone can follow."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import FreeForm, ToolResultSubagentContent, UserMessage
from serai.ahp.types import Turn as AhpTurn
from serai.errors import CapabilityUnsupported
from serai.host.session.core import SessionCore

__all__ = ["PARENT", "Delegate", "Subagent", "check_depth", "delegate"]

PARENT = "serai.parent"
"""In a session's `_meta`: the session whose agent began it. Only the host writes it."""

_DEEPEST = 4
"""So many sessions may stand one above the other: an agent that begins itself ends somewhere."""


class Delegate(Protocol):
    """A session that another one has begun."""

    core: SessionCore

    async def ready(self) -> None:
        """Wait until its agent is there."""
        ...

    async def converse(self, message: UserMessage, sender: str) -> AhpTurn:
        """Begin a turn with what an agent says, and wait for its end."""
        ...


class Subagent:
    """A session that an agent began, and its first turn."""

    def __init__(self, session: Delegate, message: UserMessage, sender: str, title: str) -> None:
        self.uri = session.core.uri
        provider = session.core.live.head.summary.provider
        self.content = ToolResultSubagentContent(resource=self.uri, title=title, agent_name=provider)
        """What a tool call shows of it."""
        self._session = session
        self._message = message
        self._sender = sender

    async def answer(self) -> AhpTurn:
        """Let the other agent answer, and wait for it. Cancelling cancels its turn, too.

        Raises:
            SessionFailed: Its agent did not start.
            SessionGone: Someone took the turn back, or disposed of the session.
        """
        await self._session.ready()
        return await self._session.converse(self._message, self._sender)


async def check_depth(parent: SessionCore, bring: Callable[[str], Awaitable[Delegate | None]]) -> None:
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


async def delegate(
    parent: SessionCore,
    bring: Callable[[str], Awaitable[Delegate | None]],
    create: Callable[[CreateSessionParams, str, FreeForm | None], Awaitable[Delegate]],
    provider: str,
    message: UserMessage,
    title: str,
) -> Subagent:
    """Begin a session for another agent, in the same folder.

    Raises:
        ProtocolError: There is no such agent.
        CapabilityUnsupported: Too many agents stand one above the other.
    """
    await check_depth(parent, bring)
    summary, channel = parent.live.head.summary, f"ahp-session:/{parent.new_id()}"
    folder = summary.working_directory
    params = CreateSessionParams(channel=channel, provider=provider, working_directory=folder)
    session = await create(params, summary.provider, {PARENT: parent.uri})
    return Subagent(session, message, summary.provider, title)
