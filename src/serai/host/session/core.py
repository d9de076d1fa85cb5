"""The base of a session: its state, how an action happens, what follows its commit, and its tasks."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from serai.ahp import actions as a, types as t
from serai.ahp.commands import ResourceReadResult, SessionForkSource
from serai.ahp.extensions import LOGIN, PAUSED
from serai.ahp.reducers import LiveSession
from serai.contract import AgentSession, AgentStatus
from serai.customizations.containers import Definition
from serai.errors import AuthRequired
from serai.host.blobs import moved_out
from serai.host.core import HostCore
from serai.host.redaction import Redaction, written
from serai.host.telemetry import SessionTelemetry
from serai.journal.batches import Delta, is_delta
from serai.journal.sessions import KeptSession

_SIGN_IN_NEEDED = "A sign-in is needed"
"""Activity, for people, of a session that waits for a sign-in."""


class RelayAccess(NamedTuple):
    """The place where an agent finds the relay's tools over MCP, and its token."""

    url: str
    """`http://…/mcp`."""
    token: str

    def __repr__(self) -> str:
        return f"RelayAccess({self.url!r})"  # a token does not belong into a log


@dataclass(frozen=True, slots=True)
class Subagent:
    """A session that an agent began, and its first turn. Made by `Turn.delegate`."""

    uri: str
    content: t.ToolResultSubagentContent
    """Content for a tool call that shows the session."""
    answer: Callable[[], Awaitable[t.Turn]]
    """Lets the other agent answer, and waits for it. Cancelling cancels its turn, too.

    Raises `SessionFailed` when its agent did not start, and `SessionGone` when someone took the turn back, or
    disposed of the session."""


class SessionCore(ABC):
    """The state of one session, and the one way in which it changes.

    `Session` extends it. Its parts know this class alone: what needs its other parts is abstract here.
    """

    def __init__(self, host: HostCore, kept: KeptSession) -> None:
        self.journal = host.journal
        self.kept = kept
        self.uri = kept.uri
        self.redactor = host.redactor
        self.telemetry = SessionTelemetry(host.telemetry, kept.uri, kept.live.head.summary)
        self.settings = host.settings
        self.now = host.now
        self.new_id = host.new_id
        self.tasks: set[asyncio.Task[Any]] = set()
        self.is_closed = False
        self._changed = host.root.summary_changed
        self._redaction = Redaction(host.redactor)
        self._effects = 0
        """Number of effects that wait for a commit."""

    @property
    def live(self) -> LiveSession:
        """The state, to look at."""
        return self.kept.live

    @property
    def is_busy(self) -> bool:
        """True while a task runs, or something is to happen after a commit."""
        return bool(self.tasks or self._effects)

    # -- changing the state --------------------------------------------------------------------------------

    def act(
        self, action: a.StateAction, origin: a.ActionOrigin | None = None, *, is_masked: bool = False
    ) -> None:
        """Let an action happen, with secrets masked and large content moved out of it.

        An action with an origin was dispatched by a client, and was masked then.

        Raises:
            TypeError: It holds something that is no JSON; nothing has happened.
        """
        if is_delta(action):
            self._add_text(action)
            return
        for masked in self._redaction.masked(action, is_masked=is_masked or origin is not None):
            light, blobs = moved_out(masked, self.uri)
            light, encoded = written(light)
            if blobs:
                self.journal.side.blobs.extend(blobs)
            self.kept.apply(light, self.now())
            self.telemetry.happened(light)
            # Text that was held back before this action is the agent's, whoever dispatched the action.
            whose = origin if masked.__class__ is action.__class__ else None
            self.journal.append(self.uri, light, origin=whose, session=self.kept, encoded=encoded)
        self._changed(self.kept)

    def _add_text(self, delta: Delta) -> None:
        """Take the short way of most actions: a delta has nothing to move out or to observe."""
        masked = self._redaction.masked_delta(delta)
        if masked is not None:
            # ASCII can be encoded for sure, so that can wait: the next delta may be merged into this one.
            is_plain = type(masked) is not a.SessionToolCallDeltaAction and masked.content.isascii()
            light, encoded = (masked, b"") if is_plain else written(masked)
            self.kept.apply(light, self.now())
            self.journal.append(self.uri, light, session=self.kept, encoded=encoded)
        self._changed(self.kept)

    def note(self, name: str, value: Any, *, is_masked: bool = False) -> None:
        """Set a value in the session's `_meta`, or (`None`) remove it. An equal value causes no action."""
        meta = self.live.head.meta or {}
        if meta.get(name) == value:
            return
        changed = {key: kept for key, kept in meta.items() if key != name}
        if value is not None:
            changed[name] = value
        self.act(a.SessionMetaChangedAction(meta=changed or None), is_masked=is_masked)

    def noted(self, name: str) -> Any:
        """Return a value of the session's `_meta`; `None` without one."""
        return (self.live.head.meta or {}).get(name)

    def clear_activity(self) -> None:
        """Clear the activity; where a person has to sign in, say that instead."""
        needed = needs_sign_in(self.live) and self.live.turn is None
        activity = _SIGN_IN_NEEDED if needed else None
        if self.live.head.summary.activity != activity:
            self.act(a.SessionActivityChangedAction(activity=activity))

    def sign_in_needed(self, code: str | None) -> None:
        """Mark whether a sign-in is needed: the agent's work failed with this code, or (`None`) succeeded.

        Other failures than a missing sign-in say nothing about it, and change nothing.
        """
        if code == AuthRequired.code and not needs_sign_in(self.live):
            self.note(LOGIN, {})
        elif code is None:
            self.note(LOGIN, None)
        self.clear_activity()

    # -- effects and tasks ---------------------------------------------------------------------------------

    def then(self, effect: Callable[[], object]) -> None:
        """Call something once all that has happened here is committed, unless the session is closed then."""
        self._effects += 1

        def do(_seq: int) -> None:
            self._effects -= 1
            if not self.is_closed:
                effect()

        self.journal.then(do)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something as a task of the session. Closing the session ends it."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def end_tasks(self) -> None:
        """End the session's tasks."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    # -- what only the whole session can do ----------------------------------------------------------------

    @abstractmethod
    async def agent(self) -> AgentSession:
        """Return the agent. It is started when it is not there, once for all who need it.

        Cancelling does not stop the start: others may wait for it.

        Raises:
            SessionGone: The session was closed meanwhile.
        """

    @abstractmethod
    def followed(self, action: a.StateAction, answers: Mapping[str, Any] | None = None) -> None:
        """Run the follow-up of a client's action, once it is committed.

        Args:
            action: The action.
            answers: The answers of an input request that it completed.
        """

    @abstractmethod
    def turn_begins(self, action: a.SessionTurnStartedAction, deliveries: Sequence[str]) -> None:
        """Have the agent's kind write its records of a new turn, given the deliveries that begin it."""

    @abstractmethod
    def activity_changed(self) -> None:
        """React to a turn that has begun, or to the end of the last one."""

    @abstractmethod
    def call_ready(self, action: a.SessionToolCallReadyAction) -> None:
        """React to a tool call that can be run."""

    @abstractmethod
    async def definitions(self) -> tuple[Definition, ...]:
        """Return the agents, skills, prompts, rules, hooks and MCP servers that the session has now.

        Use those that are `enabled`, and run nothing of those that are not `runnable`.
        """

    @abstractmethod
    async def read(self, uri: str, *, first: int = 0, last: int | None = None) -> ResourceReadResult:
        """Read a file, or some of its lines: below the session's folders, or what a person has allowed it.

        Args:
            uri: The file.
            first: The first line, counted from 0.
            last: The line after the last one; `None` for all.

        Raises:
            ProtocolError: It is not there, may not be read, or is larger than `MOST_READ`.
        """

    @abstractmethod
    async def write(self, uri: str, text: str) -> None:
        """Write a file as a whole: below the session's folder, or where a person has allowed it."""

    @abstractmethod
    async def delegate(self, provider: str, message: t.UserMessage, title: str) -> Subagent:
        """Begin a session for another agent, in the same folder.

        Raises:
            ProtocolError: There is no such agent.
            CapabilityUnsupported: Too many agents stand one above the other.
        """

    @abstractmethod
    async def fork(self, source: SessionForkSource) -> AgentSession:
        """Begin a session that continues from a turn of this one, and return its agent.

        Raises:
            SessionFailed: Its agent did not start.
        """

    @abstractmethod
    async def relay_access(self) -> RelayAccess | None:
        """Return how the agent reaches the relay's tools, once they are there; `None` without a relay."""


class SessionView:
    """The session as its agent sees it at this moment."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core
        self.read = core.read
        """Reads a file, or some of its lines. See `SessionCore.read`."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The session's settings; someone may change them while a turn runs."""
        config = self._core.live.head.config
        return config.values if config is not None else {}

    @property
    def model(self) -> t.ModelSelection | None:
        """The chosen model. A choice during a turn holds from the next one on."""
        return self._core.live.head.summary.model

    @property
    def active_client(self) -> t.SessionActiveClient | None:
        """The client that lends its tools to the session, and those tools."""
        return self._core.live.head.active_client

    @property
    def working_directory(self) -> str | None:
        """The session's folder, as a URI."""
        return self._core.live.head.summary.working_directory


def error_info(code: str, message: str, log: str | None = None) -> t.ErrorInfo:
    """Make an AHP error; `log` is the agent's last output before it."""
    return t.ErrorInfo(error_type=code, message=message, stack=log or None)


def needs_sign_in(session: LiveSession) -> bool:
    """Tell whether the agent waits for a sign-in, as far as the host has heard.

    The refusal puts a mark into the session's `_meta`; a completed turn, a started agent and a sign-in remove
    it. So it is in the journal, and survives the host.
    """
    return LOGIN in (session.head.meta or {})


def is_paused(session: LiveSession) -> bool:
    """Tell whether someone paused the session: then nothing enters it by itself."""
    return PAUSED in (session.head.meta or {})


def status_of(session: LiveSession) -> AgentStatus:
    """Compute the status of a session whose host runs, in the words of the contract."""
    head = session.head
    if head.lifecycle == t.SessionLifecycle.CREATING:
        return AgentStatus.STARTING
    if head.input_requests or (session.turn is not None and session.turn.waits_for_someone):
        return AgentStatus.WAITING
    if session.turn is not None:
        return AgentStatus.ACTIVE
    if needs_sign_in(session):
        return AgentStatus.BLOCKED
    if head.lifecycle == t.SessionLifecycle.CREATION_FAILED:
        return AgentStatus.FAILED
    return AgentStatus.PAUSED if is_paused(session) else AgentStatus.IDLE
