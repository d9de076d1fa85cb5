"""A running agent: one process, one conversation, many sessions.

A request that the agent does not offer is refused before anything is sent (`CapabilityNotSupportedError`).
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, Unpack, cast

from serai import errors
from serai.acp.capabilities import AgentCapabilities, Handshake, is_offered
from serai.acp.process.connection import AgentConnection, AgentOptions, Launch
from serai.acp.servers import write_servers
from serai.acp.session import AcpSession, OpenWay, SessionOpening
from serai.acp.shapes import line_of, mask_json, object_of, objects_of, text_of
from serai.acp.updates import Update
from serai.jsonrpc import Notification
from serai.machine.processes.child import to_its_end
from serai.machine.processes.processes import Processes
from serai.version import __version__

PROTOCOL_VERSION = 1
INITIALIZE_TIMEOUT = 30.0
INACTIVITY_TIMEOUT = 180.0
CANCEL_TIMEOUT = 30.0
_OPENING = {
    OpenWay.NEW: ("new", ""),
    OpenWay.RECREATED: ("new", ""),
    OpenWay.LOADED: ("load", "loadSession"),
    OpenWay.RESUMED: ("resume", "sessionCapabilities.resume"),
    OpenWay.FORKED: ("fork", "sessionCapabilities.fork"),
}
"""The method that opens a session in each way, and the capability that it takes."""


@dataclass(frozen=True, slots=True)
class SessionInfo:
    """A session that the agent keeps."""

    id: str
    cwd: str | None = None
    title: str | None = None
    updated_at: str | None = None
    raw: Mapping[str, Any] = field(default_factory=dict[str, Any], repr=False)


@dataclass(frozen=True, slots=True)
class SessionPage:
    """One page of the sessions that the agent keeps."""

    sessions: tuple[SessionInfo, ...]
    next_cursor: str | None = None
    """The cursor of the next page; `None` when this is the last."""


class Agent(AgentConnection):
    """A running agent. `start` makes it. All of it belongs to one event loop."""

    def __init__(self, launch: Launch, options: AgentOptions) -> None:
        super().__init__(launch, options)
        self.handshake = Handshake.read(None)
        """The agent's answer to `initialize`."""
        self.start_patience = options.get("start_timeout", INITIALIZE_TIMEOUT) or None
        self.patience = options.get("inactivity_timeout", INACTIVITY_TIMEOUT) or None
        """Longest silence during a prompt, in seconds; `None`: no limit."""
        self.cancel_patience = options.get("cancel_timeout", CANCEL_TIMEOUT)
        """Longest time from a cancel to the end of the prompt, in seconds."""
        self.open_sessions: dict[str, AcpSession] = {}
        """The open sessions, by their ids."""
        self._openings = 0
        self._early: list[tuple[str, Update, int]] = []
        """Updates of unknown sessions while sessions are opened: many agents send some before they answer."""
        self._warned_directories = False

    @classmethod
    async def start(cls, launch: Launch, processes: Processes, **options: Unpack[AgentOptions]) -> Self:
        """Start an agent and initialise it. When this fails or is cancelled, nothing of it is left.

        Args:
            launch: How to start it.
            processes: Starts and records the host's processes.
            **options: See `AgentOptions`.

        Raises:
            AgentNotInstalled: The program is not there.
            AgentNotStarted: It is, but does not start.
            AgentInitTimedOut: It did not answer in time.
            VersionMismatch: It speaks another version of ACP.
            AuthRequired: A person has to sign in first.
            AgentInitFailed: It ended, or answered with an error.
        """
        agent = cls(launch, options)
        await agent.run(processes)
        return agent

    async def run(self, processes: Processes) -> None:
        """Start the process and initialise the agent, as `start` does."""
        await self.start_process(processes)
        try:
            await self._initialize(self.start_patience)
        except BaseException:
            await self.close()
            raise

    @property
    def capabilities(self) -> AgentCapabilities:
        """The capabilities in the agent's handshake."""
        return self.handshake.capabilities

    # -- its sessions --------------------------------------------------------------------------------------

    async def open_session(
        self,
        cwd: Path,
        way: OpenWay = OpenWay.NEW,
        session_id: str | None = None,
        **opening: Unpack[SessionOpening],
    ) -> AcpSession:
        """Open a session. Cancelling it stops the waiting; the agent may still open the session.

        Updates of an earlier session before the answer, and right after it, are its history
        (`AcpSession.replayed`): agents answer a load too early, and some send it after a resume or a fork.

        Args:
            cwd: The session's working directory.
            way: New, or an earlier session loaded, resumed or forked.
            session_id: The id of the earlier session.
            **opening: MCP servers, further folders, `_meta`.

        Raises:
            CapabilityNotSupportedError: The agent does not offer that way, or cannot reach one of the servers
                (`mcpCapabilities.http` or `.sse`).
            Mismatch: A server is not described completely.
            AuthRequired: A person has to sign in first.
            SessionCreateFailed: The agent refused a new session.
            SessionLoadFailed: The agent refused to open an earlier one.
            AgentError: The agent is silent or gone.
        """
        method, capability = _OPENING[way]
        if way.knows_past:
            self.need(capability)
        params = self._opening(cwd, opening, session_id if way.knows_past else None)
        session: AcpSession | None = None
        if way in (OpenWay.LOADED, OpenWay.RESUMED) and session_id is not None:
            if session_id in self.open_sessions:
                raise errors.SessionLoadFailed(f"the session {session_id} is open already", agent=self.name)
            session = self._register(session_id, cwd, replaying=True)

        def then(result: Any) -> None:
            nonlocal session
            session = session or self._made(method, cwd, result, replaying=way.knows_past)
            session.opened(result)

        self._openings += 1
        try:
            await self.call(f"session/{method}", params, then=then, limit=self.patience)
            opened = cast("AcpSession", session)
            if way.knows_past:
                await opened.settle()
        except BaseException:
            if session is not None:
                session.forget()
            raise
        finally:
            self._openings -= 1
            if not self._openings:
                self._early.clear()
        return opened

    async def list_sessions(self, cwd: Path | str | None = None, cursor: str | None = None) -> SessionPage:
        """Return one page of the sessions that the agent keeps. Cancelling it stops the waiting.

        Args:
            cwd: Only sessions of this folder.
            cursor: The `next_cursor` of the page before.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.list`.
            AgentError: The agent refused, or is gone.
        """
        self.need("sessionCapabilities.list")
        where = None if cwd is None else str(Path(cwd).absolute())  # noqa: ASYNC240 - it asks only where the host is
        params = {"cwd": where, "cursor": cursor}
        sent = {name: value for name, value in params.items() if value is not None}
        return _page(await self.request("session/list", sent))

    async def stream_all_sessions(self, cwd: Path | str | None = None) -> AsyncIterator[SessionInfo]:
        """Yield all sessions that the agent keeps, page after page. As `list_sessions`."""
        cursor: str | None = None
        seen: set[str | None] = set()
        while cursor not in seen:  # a cursor that repeats is the end
            seen.add(cursor)
            page = await self.list_sessions(cwd, cursor)
            for session in page.sessions:
                yield session
            cursor = page.next_cursor

    async def delete_session(self, session_id: str) -> None:
        """Have the agent delete a session that it keeps. Cancelling it stops the waiting.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.delete`.
            AgentError: The agent refused, or is gone.
        """
        self.need("sessionCapabilities.delete")
        await self.request("session/delete", {"sessionId": session_id})

    # -- the agent itself ----------------------------------------------------------------------------------

    async def authenticate(self, method_id: str) -> None:
        """Sign in by one of the `handshake.auth_methods`. A person may take any time over it.

        Cancelling it stops the waiting.

        Raises:
            AgentError: The agent refused, or is gone.
        """
        await self.call("authenticate", {"methodId": method_id})

    async def logout(self) -> None:
        """Sign out. Cancelling it stops the waiting.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `auth.logout`.
            AgentError: The agent refused, or is gone.
        """
        self.need("auth.logout")
        await self.request("logout", {})

    async def request(self, method: str, params: Any) -> Any:
        """Send any request, also one that ACP does not have, such as `_vendor/thing`.

        Raises:
            AgentError: The agent refused, or is gone.
        """
        return await self.call(method, params, limit=self.patience)

    async def close(self) -> None:
        """End the agent: its input is closed, then its group gets TERM, then KILL. Again does no harm.

        Turns that run fail. When this is cancelled, it waits all the same until nothing of it is left.
        """
        closing = self.end_process()
        self._end_sessions()
        await to_its_end(asyncio.gather(closing, self.requests.close()))

    # -- inside --------------------------------------------------------------------------------------------

    async def _initialize(self, limit: float | None) -> None:
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": self.requests.capabilities.to_wire(),
            "clientInfo": {"name": "serai", "title": "Serai", "version": __version__},
        }
        try:
            answer = await self.call("initialize", params, limit=limit)
        except errors.AgentInactive as error:
            tail = {"stderrTail": self.stderr_tail}
            late = errors.AgentInitTimedOut(error.message, agent=self.name, timeout=limit, data=tail)
            raise self.failures.error_in_log(self.stderr_tail) or late from None
        except errors.AgentClosed as error:
            failed = errors.AgentInitFailed(error.message, agent=self.name, data=error.to_wire())
            raise self.failures.error_in_log(self.stderr_tail) or failed from None
        self.handshake = Handshake.read(mask_json(answer, self.mask))
        self.failures.methods = self.handshake.auth_methods
        version = self.handshake.protocol_version
        if version not in (None, PROTOCOL_VERSION, str(PROTOCOL_VERSION)):
            raise errors.VersionMismatch(
                f"the agent {self.name!r} speaks version {version} of ACP, and not {PROTOCOL_VERSION}",
                agent=self.name,
                client_version=PROTOCOL_VERSION,
                agent_version=version,
            )

    def _opening(self, cwd: Path, opening: SessionOpening, session_id: str | None) -> dict[str, Any]:
        """Return the parameters of a request that opens a session."""
        root = cwd.absolute()
        params: dict[str, Any] = {} if session_id is None else {"sessionId": session_id}
        params["cwd"] = str(root)
        params["mcpServers"] = write_servers(opening.get("mcp_servers", ()), self.capabilities, self.name)
        directories = [str(root / directory) for directory in opening.get("additional_directories", ())]
        if directories and self.capabilities.additional_directories:
            params["additionalDirectories"] = directories
        elif directories and not self._warned_directories:
            self._warned_directories = True
            self.warn(
                f'Agent "{self.name}" does not advertise additionalDirectories capability — '
                f"ignoring {len(directories)} {'entry' if len(directories) == 1 else 'entries'}."
            )
        if meta := opening.get("meta"):
            params["_meta"] = dict(meta)
        return params

    def _made(self, method: str, cwd: Path, result: Any, *, replaying: bool) -> AcpSession:
        """Register the session whose id an answer has."""
        sent = text_of(object_of(result).get("sessionId"))
        if sent is None or sent in self.open_sessions:
            problem = "no session id" if sent is None else f"the open session {sent}"
            what = f"the agent {self.name!r} answered session/{method} with {problem}"
            raise errors.SessionCreateFailed(what, agent=self.name)
        return self._register(sent, cwd, replaying=replaying)

    def _register(self, session_id: str, cwd: Path, *, replaying: bool) -> AcpSession:
        session = AcpSession(self, session_id, cwd, replaying=replaying)
        self.open_sessions[session_id] = session
        for sent, update, size in self._early:
            if sent == session_id:
                session.receive(update, size)
        return session

    def forget(self, session: AcpSession) -> None:
        """Follow a session no longer. The session itself calls this."""
        if self.open_sessions.get(session.id) is session:
            del self.open_sessions[session.id]
            self.fill(session.id, full=False)

    # -- messages of the agent -----------------------------------------------------------------------------

    def updated(self, session_id: str, update: Update, size: int) -> None:
        """Give an update to its session. While a session is opened, keep those of unknown ones."""
        if (session := self.open_sessions.get(session_id)) is not None:
            session.receive(update, size)
            return
        self.heard()
        if self._openings:
            self._early.append((session_id, update, size))

    def notified(self, message: Notification) -> None:
        """Withdraw a request of the agent, or note that a person has answered elsewhere."""
        params = object_of(message.params)
        if message.method == "$/cancel_request":
            self.requests.withdraw(params.get("requestId"))
        elif message.method == "elicitation/complete" and isinstance(params.get("elicitationId"), str):
            self.client.elicitation_completed(params["elicitationId"])

    def over(self) -> None:
        """End the sessions: the agent is gone."""
        self.requests.stop()
        self._end_sessions()

    def session_of(self, session_id: str | None) -> AcpSession | None:
        """Return the open session of an id, else the one that is likely meant.

        A subagent has an id of its own and does not say whose it is. Then the only session is meant, or
        the only one with a prompt under way.
        """
        opened = list(self.open_sessions.values())
        named = [session for session in opened if session.id == session_id]
        likely = named or [session for session in opened if session.turn is not None] or opened
        return likely[0] if len(likely) == 1 else None

    def _end_sessions(self) -> None:
        """End all sessions because the agent is gone: running turns fail with the reason."""
        sessions, self.open_sessions = self.open_sessions, {}
        for session in sessions.values():
            session.end(self.reason)

    def need(self, capability: str) -> None:
        """Raise `CapabilityNotSupportedError` unless the agent offers this, such as `loadSession`."""
        if not is_offered(self.handshake.raw, capability):
            raise errors.CapabilityNotSupportedError(capability, agent=self.name)


def _page(sent: Any) -> SessionPage:
    """Read a page of sessions. Entries that are no sessions are left out."""
    reply = object_of(sent)
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
