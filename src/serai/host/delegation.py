"""An agent that has another agent do something, in a session of its own that anyone can follow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from serai.ahp.commands import CreateSessionParams
from serai.ahp.types import ToolResultSubagentContent, UserMessage
from serai.ahp.types import Turn as AhpTurn
from serai.errors import CapabilityUnsupported

if TYPE_CHECKING:
    from serai.host.session import Session

__all__ = ["PARENT", "Subagent", "delegate"]

PARENT = "serai.parent"
"""In a session's `_meta`: the session whose agent began it. Only the host writes it."""

_DEEPEST = 4
"""So many sessions may stand one above the other: an agent that begins itself ends somewhere."""


class Subagent:
    """A session that an agent began, and its first turn.

    Attributes:
        uri: The session.
        content: What a tool call shows of it.
    """

    def __init__(self, session: Session, message: UserMessage, sender: str, title: str) -> None:
        self.uri = session.uri
        provider = session.live.head.summary.provider
        self.content = ToolResultSubagentContent(resource=session.uri, title=title, agent_name=provider)
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
        return await self._session.turns.converse(self._message, self._sender)


async def delegate(parent: Session, provider: str, message: UserMessage, title: str) -> Subagent:
    """Begin a session for another agent, in the same folder.

    Raises:
        ProtocolError: There is no such agent.
        CapabilityUnsupported: Too many agents stand one above the other.
    """
    host = parent.host
    depth, above = 1, parent
    while isinstance(uri := (above.live.head.meta or {}).get(PARENT), str):
        depth += 1
        found = await host.sessions.bring(uri)
        if found is None:
            break
        above = found
    if depth >= _DEEPEST:
        raise CapabilityUnsupported(
            "subagents", f"a session {depth} deep", remedy=f"At most {_DEEPEST} may stand one above the other"
        )
    summary = parent.live.head.summary
    params = CreateSessionParams(
        channel=f"ahp-session:/{host.new_id()}",
        provider=provider,
        working_directory=summary.working_directory,
    )
    session = await host.create(params, summary.provider, meta={PARENT: parent.uri})
    return Subagent(session, message, summary.provider, title)
