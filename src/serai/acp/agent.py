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
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from serai.acp.capabilities import AgentCapabilities, Handshake
from serai.acp.client_side import ClientSide, Event
from serai.acp.connection import Connection, Launch
from serai.acp.frames import Notification
from serai.acp.limbo import Limbo
from serai.acp.peer import Listener
from serai.acp.servers import McpServer, write_servers
from serai.acp.serving import Serving
from serai.acp.session import AcpSession, Surroundings
from serai.acp.shapes import object_of, objects_of, text_of
from serai.acp.stream import Item
from serai.acp.updates import Update
from serai.errors import (
    AgentClosed,
    AgentError,
    AgentInactive,
    AgentInitFailed,
    AgentInitTimedOut,
    CapabilityNotSupportedError,
    SessionCreateFailed,
    SessionLoadFailed,
    VersionMismatch,
)
from serai.processes.child import Exit
from serai.processes.processes import Processes
from serai.version import __version__

__all__ = ["PROTOCOL_VERSION", "Agent", "SessionInfo", "SessionPage"]

PROTOCOL_VERSION = 1
INITIALIZE_TIMEOUT = 30.0
INACTIVITY_TIMEOUT = 180.0
CANCEL_TIMEOUT = 30.0
_EVENTS = 256
_PAST = 1024

Servers = Sequence[McpServer | Mapping[str, Any]]
OnUpdate = Callable[[Item], None]


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
    ) -> None:
        self.launch = launch
        self.events: deque[Event] = deque(maxlen=_EVENTS)
        """The last notifications that ACP does not have."""
        self._client = client
        self._warn = warn
        self._patience = inactivity_timeout or None
        self._cancel_patience = cancel_timeout
        self._connection = Connection(launch, mask=mask, over=self._over, on_stderr=on_stderr)
        self._sessions: dict[str, AcpSession] = {}
        self._past: deque[str] = deque(maxlen=_PAST)
        self._limbo = Limbo(self._lost)
        self._warned_directories = False
        self._warned_lost = False
        self._handshake = Handshake.of(None)

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
    ) -> Agent:
        """Start an agent and initialise it. When this fails or is cancelled, nothing of it is left.

        Args:
            launch: How it is started.
            processes: Where the host's processes are started and written down.
            client: Who answers what the agent asks.
            mask: Takes secrets out of text: of the agent's log and its errors.
            warn: Is told, in a sentence, what was left out because the agent cannot take it.
            initialize_timeout: How long it may take to answer, in seconds; `None` or 0 for as long as it takes.
            inactivity_timeout: How long it may be silent during a prompt or before an answer. While a person
                is asked, the time does not count. `None` or 0 for ever.
            cancel_timeout: How long it may take to stop when a prompt is cancelled, before it is ended.
            on_stderr: Is told every line of its log, redacted.

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
        )
        await agent._connection.open(processes, agent._listener)
        try:
            await agent._initialize(initialize_timeout or None)
        except BaseException:
            await agent.close()
            raise
        return agent

    def _listener(self, overlong: Callable[[], None]) -> Listener:
        self._serving = Serving(self._connection.peer_later, self._client, self._served)
        return Listener(
            updated=self._updated, asked=self._serving.serve, notified=self._notified, overlong=overlong
        )
