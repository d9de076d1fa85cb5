"""An agent that runs: one process, one conversation, many sessions.

    agent = await Agent.start(Launch(("opencode", "acp"), name="opencode"), processes, client=..., ...)
    session = await agent.new_session(Path.cwd())
    turn = session.prompt("What is in this folder?")
    async for item in session.updates():
        ...
    await agent.close()

What the agent does not offer is refused before anything is sent (`CapabilityNotSupportedError`).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, KeysView, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

from serai.acp.capabilities import AgentCapabilities, Handshake
from serai.acp.client_side import ClientSide, Event
from serai.acp.process.connection import Connection, Launch
from serai.acp.process.mask import mask_json
from serai.acp.process.peer import Listener
from serai.acp.requests import AgentRequests
from serai.acp.session import AcpSession, Surroundings
from serai.acp.sessions import SessionInfo, SessionOpening, SessionPage, Sessions, read_page
from serai.acp.shapes import object_of, text_of
from serai.acp.updates import Update
from serai.errors import (
    AgentClosed,
    AgentError,
    AgentInactive,
    AgentInitFailed,
    AgentInitTimedOut,
    CapabilityNotSupportedError,
    VersionMismatch,
)
from serai.jsonrpc import Notification, Request
from serai.machine.processes.child import Exit
from serai.machine.processes.processes import Processes
from serai.machine.processes.uninterrupted import to_its_end
from serai.version import __version__

__all__ = ["PROTOCOL_VERSION", "Agent"]

PROTOCOL_VERSION = 1
INITIALIZE_TIMEOUT = 30.0
INACTIVITY_TIMEOUT = 180.0
CANCEL_TIMEOUT = 30.0
_EVENTS = 256


class Agent:
    """A running agent. `start` makes it. All of it belongs to one event loop."""

    def __init__(
        self,
        launch: Launch,
        client: ClientSide,
        *,
        mask: Callable[[str], str],
        warn: Callable[[str], None],
        inactivity_timeout: float | None,
        cancel_timeout: float,
        on_stderr: Callable[[str], None] | None,
        overhear: Callable[[str, bytes], None] | None,
    ) -> None:
        self.launch = launch
        self.events: deque[Event] = deque(maxlen=_EVENTS)
        """The last notifications that ACP does not have."""
        self._client = client
        self._mask = mask
        listener = Listener(
            updated=self._updated, asked=self._asked, notified=self._notified, noise=self._noise
        )
        self._connection = Connection(
            launch,
            listener,
            mask=mask,
            excused=lambda: self._serving.is_waited_for,
            over=self._over,
            on_stderr=on_stderr,
            overhear=overhear,
        )
        self._has = client.capabilities
        self._serving = AgentRequests(self._connection.peer, client, self._has, self._heard, self._open_ids)
        self._handshake = Handshake.of(None)
        self._patience = _limit(inactivity_timeout)
        self._sessions = Sessions(
            Surroundings(
                connection=self._connection,
                serving=self._serving,
                capabilities=self._handshake.capabilities,
                warn=warn,
                mask=mask,
                patience=self._patience,
                cancel_patience=cancel_timeout,
                cumulative_tokens=launch.cumulative_tokens,
            )
        )

    @classmethod
    async def start(
        cls,
        launch: Launch,
        processes: Processes,
        *,
        client: ClientSide,
        mask: Callable[[str], str],
        warn: Callable[[str], None],
        initialize_timeout: float | None = INITIALIZE_TIMEOUT,
        inactivity_timeout: float | None = INACTIVITY_TIMEOUT,
        cancel_timeout: float = CANCEL_TIMEOUT,
        on_stderr: Callable[[str], None] | None = None,
        overhear: Callable[[str, bytes], None] | None = None,
    ) -> Agent:
        """Start an agent and initialise it. When this fails or is cancelled, nothing of it is left.

        Args:
            launch: How it is started.
            processes: Where the host's processes are started and written down.
            client: Who answers what the agent asks.
            mask: Takes secrets out of text: of the agent's log and its errors.
            warn: Is told, in a sentence, what was left out because the agent cannot take it.
            initialize_timeout: How long it may take to answer, in seconds; `None`, 0 or less for ever.
            inactivity_timeout: How long it may be silent during a prompt or before an answer. While a person
                is asked, the time does not count. `None`, 0 or less for ever.
            cancel_timeout: How long it may take to stop when a prompt is cancelled, before it is ended.
            on_stderr: Is told every line of its log, redacted.
            overhear: Is told every line of the conversation as it is, with `client` or `agent` for who
                wrote it.

        Raises:
            AgentNotInstalled: The program is not there.
            AgentNotStarted: It is, but does not start.
            AgentInitTimedOut: It did not answer in time.
            VersionMismatch: It speaks another version of ACP.
            AuthRequired: It wants a person to sign in before anything else.
            AgentInitFailed: It ended, or answered with an error.
        """
        agent = cls(
            launch,
            client,
            mask=mask,
            warn=warn,
            inactivity_timeout=inactivity_timeout,
            cancel_timeout=cancel_timeout,
            on_stderr=on_stderr,
            overhear=overhear,
        )
        await agent._open(processes, _limit(initialize_timeout))
        return agent

    # -- what it is ----------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What people call it."""
        return self.launch.name

    @property
    def handshake(self) -> Handshake:
        """What it answered to `initialize`."""
        return self._handshake

    @property
    def capabilities(self) -> AgentCapabilities:
        """What it can do."""
        return self._handshake.capabilities

    @property
    def is_running(self) -> bool:
        """Whether anything can be asked of it."""
        return self._connection.is_running

    @property
    def exit(self) -> Exit | None:
        """How its process ended; `None` while it runs."""
        return self._connection.child.exit

    @property
    def error(self) -> AgentError | None:
        """Why nothing can be asked of it any more; `None` while something can."""
        return None if self.is_running else self._connection.reason()

    @property
    def pid(self) -> int:
        """The pid of its process, which is also the id of its group."""
        return self._connection.child.pid

    @property
    def stderr_tail(self) -> str:
        """The last lines of its log, redacted."""
        return str(self._connection.tail)

    @property
    def noise(self) -> int:
        """How many lines of its output were no messages."""
        return self._connection.peer.noise

    @property
    def sessions(self) -> Mapping[str, AcpSession]:
        """The sessions that are open, by their ids."""
        return dict(self._sessions.open)

    # -- its sessions --------------------------------------------------------------------------------------

    async def new_session(self, cwd: Path, **how: Unpack[SessionOpening]) -> AcpSession:
        """A new session. Cancelling it stops the waiting; the agent may make the session all the same.

        Args:
            cwd: Where it works.
            **how: MCP servers, further folders, `_meta`, and who hears the updates: see `Opening`.

        Raises:
            CapabilityNotSupportedError: It cannot reach one of the servers: `mcpCapabilities.http` or `.sse`.
            Mismatch: A server is not described completely.
            AuthRequired: A person has to sign in first.
            SessionCreateFailed: The agent refused.
            AgentError: The agent is silent or gone.
        """
        return await self._sessions.make("session/new", cwd, how)

    async def fork_session(self, session_id: str, cwd: Path, **how: Unpack[SessionOpening]) -> AcpSession:
        """A new session that begins where another one is. Otherwise as `new_session`.

        An agent that tells the other's history again is not misunderstood: see `AcpSession.replayed`.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.fork`.
            SessionLoadFailed: The agent refused.
        """
        self._need(self.capabilities.fork_session, "sessionCapabilities.fork")
        return await self._sessions.make("session/fork", cwd, how, source=session_id, replaying=True)

    async def load_session(self, session_id: str, cwd: Path, **how: Unpack[SessionOpening]) -> AcpSession:
        """Open an earlier session. The agent tells its history again: that is in `AcpSession.replayed`.

        Otherwise as `new_session`.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `loadSession`.
            SessionLoadFailed: The agent refused: it does not have the session any more, for instance.
        """
        self._need(self.capabilities.load_session, "loadSession")
        return await self._sessions.reopen("session/load", session_id, cwd, how)

    async def resume_session(self, session_id: str, cwd: Path, **how: Unpack[SessionOpening]) -> AcpSession:
        """Open an earlier session without its history. Otherwise as `new_session`.

        Some agents tell the history all the same: that, too, is in `AcpSession.replayed`.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.resume`.
            SessionLoadFailed: The agent refused.
        """
        self._need(self.capabilities.resume_session, "sessionCapabilities.resume")
        return await self._sessions.reopen("session/resume", session_id, cwd, how)

    async def list_sessions(self, cwd: Path | None = None, cursor: str | None = None) -> SessionPage:
        """Some of the sessions that the agent has kept. Cancelling it stops the waiting.

        Args:
            cwd: Only those of this folder.
            cursor: Where to go on: the `next_cursor` of the page before.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.list`.
            AgentError: The agent refused, or is gone.
        """
        self._need(self.capabilities.list_sessions, "sessionCapabilities.list")
        params: dict[str, Any] = {}
        if cwd is not None:
            params["cwd"] = str(cwd.absolute())  # noqa: ASYNC240 - it asks only where the host is
        if cursor is not None:
            params["cursor"] = cursor
        return read_page(await self._call("session/list", params))

    async def stream_all_sessions(self, cwd: Path | None = None) -> AsyncIterator[SessionInfo]:
        """All sessions that the agent has kept, page after page. As `list_sessions`."""
        self._need(self.capabilities.list_sessions, "sessionCapabilities.list")
        cursor: str | None = None
        seen: set[str] = set()
        while True:
            page = await self.list_sessions(cwd, cursor)
            for session in page.sessions:
                yield session
            cursor = page.next_cursor
            if cursor is None or cursor in seen:  # an agent that leads in circles has no more
                return
            seen.add(cursor)

    async def delete_session(self, session_id: str) -> None:
        """Have the agent delete a session that it has kept. Cancelling it stops the waiting.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `sessionCapabilities.delete`.
            AgentError: The agent refused, or is gone.
        """
        self._need(self._handshake.delete_session, "sessionCapabilities.delete")
        await self._call("session/delete", {"sessionId": session_id})

    # -- the agent itself ----------------------------------------------------------------------------------

    async def authenticate(self, method_id: str) -> None:
        """Sign in, in one of the ways in `handshake.auth_methods`. A person may take any time over it.

        Cancelling it stops the waiting.

        Raises:
            AgentError: The agent refused, or is gone.
        """
        await self._connection.call("authenticate", {"methodId": method_id})

    async def logout(self) -> None:
        """Sign out. Cancelling it stops the waiting.

        Raises:
            CapabilityNotSupportedError: The agent cannot: `auth.logout`.
            AgentError: The agent refused, or is gone.
        """
        self._need(self._handshake.logout, "auth.logout")
        await self._call("logout", {})

    async def request(self, method: str, params: Any) -> Any:
        """Ask for something that ACP does not have, such as `_vendor/thing`.

        Raises:
            AgentError: The agent refused, or is gone.
        """
        return await self._call(method, params)

    def notify(self, method: str, params: Any) -> None:
        """Tell something that ACP does not have. An agent that is gone does not hear it."""
        if self.is_running:
            self._connection.peer.notify(method, params)

    async def wait_closed(self) -> None:
        """Wait until it is gone, for whatever reason. Cancelling this stops the waiting."""
        await self._connection.wait_closed()

    async def close(self) -> None:
        """End the agent: its input is closed, then its group gets TERM, then KILL. Again does no harm.

        Turns that run fail. When this is cancelled, it waits all the same until nothing of it is left.
        """
        closing = self._connection.close()
        self._sessions.end(self._connection.reason)
        await to_its_end(asyncio.gather(closing, self._serving.close()))

    # -- starting ------------------------------------------------------------------------------------------

    async def _open(self, processes: Processes, limit: float | None) -> None:
        await self._connection.open(processes)
        try:
            await self._initialize(limit)
        except BaseException:
            await self.close()
            raise

    async def _initialize(self, limit: float | None) -> None:
        connection = self._connection
        params = {
            "protocolVersion": PROTOCOL_VERSION,
            "clientCapabilities": self._has.to_wire(),
            "clientInfo": {"name": "serai", "title": "Serai", "version": __version__},
        }
        try:
            told = await connection.call("initialize", params, limit=limit)
        except AgentInactive as error:
            tail = {"stderrTail": self.stderr_tail}
            late = AgentInitTimedOut(error.message, agent=self.name, timeout=limit, data=tail)
            raise connection.failures.of_log(self.stderr_tail) or late from None
        except AgentClosed as error:
            failed = AgentInitFailed(error.message, agent=self.name, data=error.to_wire())
            raise connection.failures.of_log(self.stderr_tail) or failed from None
        self._handshake = Handshake.of(mask_json(told, self._mask))
        connection.failures.methods = self._handshake.auth_methods
        self._sessions.around = replace(self._sessions.around, capabilities=self._handshake.capabilities)
        version = self._handshake.protocol_version
        if version not in (None, PROTOCOL_VERSION, str(PROTOCOL_VERSION)):
            raise VersionMismatch(
                f"the agent {self.name!r} speaks version {version} of ACP, and not {PROTOCOL_VERSION}",
                agent=self.name,
                client_version=PROTOCOL_VERSION,
                agent_version=version,
            )

    # -- hearing -------------------------------------------------------------------------------------------

    def _updated(self, session_id: str, update: Update, size: int) -> None:
        self._sessions.updated(session_id, update, size)

    def _asked(self, request: Request) -> None:
        self._heard(text_of(object_of(request.params).get("sessionId")))
        self._serving.serve(request)

    def _heard(self, session_id: str | None) -> None:
        self._connection.heard()
        self._sessions.heard(session_id)

    def _open_ids(self) -> KeysView[str]:
        return self._sessions.open.keys()

    def _notified(self, message: Notification) -> None:
        params = object_of(message.params)
        if message.method == "$/cancel_request":
            self._serving.withdraw(params.get("requestId"))
        elif message.method == "elicitation/complete" and isinstance(params.get("elicitationId"), str):
            self._client.elicitation_completed(params["elicitationId"])
        else:
            event = Event(message.method, message.params)
            self.events.append(event)
            self._client.notified(event)

    def _noise(self, line: bytes) -> None:
        self._connection.tail.add(line)

    def _over(self) -> None:
        self._serving.stop()
        self._sessions.end(self._connection.reason)

    # -- asking --------------------------------------------------------------------------------------------

    async def _call(self, method: str, params: Any) -> Any:
        return await self._connection.call(method, params, limit=self._patience)

    def _need(self, offered: bool, capability: str) -> None:
        if not offered:
            raise CapabilityNotSupportedError(capability, agent=self.name)


def _limit(seconds: float | None) -> float | None:
    return seconds if seconds is not None and seconds > 0 else None
