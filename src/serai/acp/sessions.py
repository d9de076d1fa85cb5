"""The open sessions of one agent: how they are opened, and who hears what of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias, TypedDict

from serai.acp.prompt import OVERHEAD, Item
from serai.acp.servers import McpServer, write_servers
from serai.acp.session import AcpSession, Surroundings
from serai.acp.shapes import line_of, object_of, objects_of, text_of
from serai.acp.updates import Update
from serai.errors import AgentError, SessionCreateFailed, SessionLoadFailed

__all__ = ["SessionInfo", "SessionOpening", "SessionPage"]

MOST_UNKNOWN = 16 * 1024 * 1024
"""How much is kept of sessions that nobody knows yet, in bytes of lines."""

Servers: TypeAlias = Sequence[McpServer | Mapping[str, Any]]


class SessionOpening(TypedDict, total=False):
    """What may be said when a session is opened."""

    mcp_servers: Servers
    """MCP servers that it can use."""
    additional_directories: Iterable[Path]
    """Folders beside `cwd`. An agent that does not know of such works without, and is warned of once."""
    meta: Mapping[str, Any]
    """The request's `_meta`."""
    on_update: Callable[[Item], None]
    """Is given every update and the end of every turn, as they come; see `AcpSession`."""


class Sessions:
    """The sessions of one agent, with what they have from it."""

    def __init__(self, surroundings: Surroundings) -> None:
        self.around = surroundings
        self.open: dict[str, AcpSession] = {}
        self._early: dict[str, list[tuple[Update, int]]] = {}
        """Updates that wait for their session: several agents tell of one before they answer the request."""
        self._early_weight = 0
        self._warned_directories = False

    async def make(
        self, method: str, cwd: Path, how: SessionOpening, source: str | None = None
    ) -> AcpSession:
        """Open a session whose id the agent chooses, by `session/new` or `session/fork`.

        What the agent has told of it before is delivered then. Of a fork, what comes before the answer and at
        once after it is history.
        """
        made: list[AcpSession] = []
        replaying = source is not None

        def then(result: Any, error: Any) -> None:
            if error is not None:
                return
            session_id = text_of(object_of(result).get("sessionId"))
            if session_id is None or session_id in self.open:
                problem = "no session id" if session_id is None else f"the open session {session_id}"
                raise SessionCreateFailed(
                    f"the agent {self._name!r} answered {method} with {problem}", agent=self._name
                )
            session = self._register(session_id, cwd, how, replaying=replaying)
            session.opened(result, settles=replaying)
            made.append(session)

        await self._call(method, self._params(cwd, how, source), then)
        return await _settled(made[0]) if replaying else made[0]

    async def reopen(self, method: str, session_id: str, cwd: Path, how: SessionOpening) -> AcpSession:
        """Open a session by its id, by `session/load` or `session/resume`.

        What is told of it before the answer, and at once after it, is history: agents answer a load too
        early, and some tell the history after a resume as well.
        """
        params = self._params(cwd, how, session_id)
        if session_id in self.open:
            raise SessionLoadFailed(f"the session {session_id} is open already", agent=self._name)
        session = self._register(session_id, cwd, how, replaying=True)

        def then(result: Any, error: Any) -> None:
            if error is None:
                session.opened(result, settles=True)

        try:
            await self._call(method, params, then)
        except BaseException:
            session.forget()
            raise
        return await _settled(session)

    def _params(self, cwd: Path, how: SessionOpening, session_id: str | None) -> dict[str, Any]:
        """What the requests have in common. When it cannot be made, nothing is sent."""
        around = self.around
        root = cwd.absolute()
        params: dict[str, Any] = {} if session_id is None else {"sessionId": session_id}
        params["cwd"] = str(root)
        params["mcpServers"] = write_servers(how.get("mcp_servers", ()), around.capabilities, self._name)
        directories = [str(root / directory) for directory in how.get("additional_directories", ())]
        if directories and around.capabilities.additional_directories:
            params["additionalDirectories"] = directories
        elif directories and not self._warned_directories:
            self._warned_directories = True
            around.warn(
                f'Agent "{self._name}" does not advertise additionalDirectories capability — '
                f"ignoring {len(directories)} {'entry' if len(directories) == 1 else 'entries'}."
            )
        if meta := how.get("meta"):
            params["_meta"] = dict(meta)
        return params

    async def _call(self, method: str, params: Any, then: Callable[[Any, Any], None]) -> None:
        await self.around.connection.call(method, params, then=then, limit=self.around.patience)

    def _register(self, session_id: str, cwd: Path, how: SessionOpening, *, replaying: bool) -> AcpSession:
        on_update = how.get("on_update")
        session = AcpSession(
            self.around, session_id, cwd, on_update=on_update, replaying=replaying, forget=self._forget
        )
        self.open[session_id] = session
        for update, size in self._take_early(session_id):
            session.receive(update, size)
        return session

    def _forget(self, session: AcpSession) -> None:
        if self.open.get(session.id) is session:
            del self.open[session.id]
            self.around.connection.fill(session.id, full=False)

    def updated(self, session_id: str, update: Update, size: int) -> None:
        """Something has happened in a session, which may not be known yet."""
        session = self.open.get(session_id)
        if session is not None:
            session.receive(update, size)
            return
        self.heard(session_id)
        self._early.setdefault(session_id, []).append((update, size))
        self._early_weight += size + OVERHEAD
        while self._early_weight > MOST_UNKNOWN:  # the session that was heard of first loses all of it
            self._take_early(next(iter(self._early)))

    def _take_early(self, session_id: str) -> list[tuple[Update, int]]:
        taken = self._early.pop(session_id, [])
        self._early_weight -= sum(size + OVERHEAD for _, size in taken)
        return taken

    def heard(self, session_id: str | None) -> None:
        """The agent asks something, or was answered, in a session; in any of them, for one that is not open.

        An agent tells of its subagents under ids of their own, and does not say which session has them.
        """
        if session_id in self.open:
            self.open[session_id].heard()
            return
        for session in list(self.open.values()):
            session.heard()

    def end(self, reason: Callable[[], AgentError]) -> None:
        """The agent is gone: turns that run fail with the reason."""
        sessions, self.open = self.open, {}
        for session in sessions.values():
            session.end(reason)

    @property
    def _name(self) -> str:
        return self.around.connection.name


async def _settled(session: AcpSession) -> AcpSession:
    """Wait until the history has been told. When this is cancelled, the session is forgotten."""
    try:
        await session.settle()
    except BaseException:
        session.forget()
        raise
    return session


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
