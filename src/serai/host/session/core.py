"""What all parts of a session share: its state, how an action happens, what follows its commit, its tasks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from serai.ahp import actions as a
from serai.ahp.extensions import LOGIN, PAUSED
from serai.ahp.reducers import LiveSession
from serai.ahp.types import ErrorInfo, ModelSelection, SessionActiveClient, SessionLifecycle
from serai.config.settings import Settings
from serai.contract import AgentStatus
from serai.errors import AuthRequired
from serai.host.blobs import moved_out
from serai.host.redaction import Redaction, written
from serai.host.telemetry import SessionTelemetry
from serai.journal.batches import Delta, is_delta
from serai.journal.journal import Journal
from serai.journal.sessions import KeptSession
from serai.redact import Redactor

_SIGN_IN_NEEDED = "A sign-in is needed"
"""The activity, for people, of a session that waits for a sign-in."""


class SessionCore:
    """The state of one session, and the one way in which it changes.

    `settings` are the host's; `changed` is called after each action, since the
    summary may be another one.
    """

    def __init__(
        self,
        journal: Journal,
        kept: KeptSession,
        redactor: Redactor,
        telemetry: SessionTelemetry,
        *,
        settings: Settings,
        now: Callable[[], int],
        new_id: Callable[[], str],
        changed: Callable[[KeptSession], None],
    ) -> None:
        self.journal = journal
        self.kept = kept
        self.uri = kept.uri
        self.redactor = redactor
        self.telemetry = telemetry
        self.settings = settings
        self.now = now
        self.new_id = new_id
        self.tasks: set[asyncio.Task[Any]] = set()
        self.is_closed = False
        self._changed = changed
        self._redaction = Redaction(redactor)
        self._awaited = 0

    @property
    def live(self) -> LiveSession:
        """The state, to look at."""
        return self.kept.live

    @property
    def is_busy(self) -> bool:
        """Whether a task runs, or something is to happen once a commit is done."""
        return bool(self.tasks or self._awaited)

    def act(
        self, action: a.StateAction, origin: a.ActionOrigin | None = None, *, is_masked: bool = False
    ) -> None:
        """Let an action happen, with secrets masked and large content moved out of it.

        What has an origin was dispatched, and so masked already.

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
            # What was held back before this action is the agent's, whoever dispatched the action.
            whose = origin if masked.__class__ is action.__class__ else None
            self.journal.append(self.uri, light, origin=whose, session=self.kept, encoded=encoded)
        self._changed(self.kept)

    def _add_text(self, delta: Delta) -> None:
        """The short way, for what most actions are: there is nothing in it to move out or to observe."""
        masked = self._redaction.masked_delta(delta)
        if masked is not None:
            # ASCII can be written for sure, so that can wait: the next delta may become a part of it.
            is_plain = type(masked) is not a.SessionToolCallDeltaAction and masked.content.isascii()
            light, encoded = (masked, b"") if is_plain else written(masked)
            self.kept.apply(light, self.now())
            self.journal.append(self.uri, light, session=self.kept, encoded=encoded)
        self._changed(self.kept)

    def note(self, name: str, value: Any) -> None:
        """Let the session's `_meta` have something, or (`None`) no longer. What is so already is not told."""
        meta = self.live.head.meta or {}
        if meta.get(name) == value:
            return
        changed = {key: kept for key, kept in meta.items() if key != name}
        if value is not None:
            changed[name] = value
        self.act(a.SessionMetaChangedAction(meta=changed or None))

    def clear_activity(self) -> None:
        """Nothing is being done any more. Where a person has to sign in, that stands there instead."""
        needed = needs_sign_in(self.live) and self.live.turn is None
        activity = _SIGN_IN_NEEDED if needed else None
        if self.live.head.summary.activity != activity:
            self.act(a.SessionActivityChangedAction(activity=activity))

    def sign_in_needed(self, code: str | None) -> None:
        """Mark whether a sign-in is needed: what the agent was to do failed so, or (`None`) succeeded.

        Other failures than a missing sign-in change nothing: they say nothing about it.
        """
        if code == AuthRequired.code and not needs_sign_in(self.live):
            self.note(LOGIN, {})
        elif code is None:
            self.note(LOGIN, None)
        self.clear_activity()

    def then(self, effect: Callable[[], object]) -> None:
        """Do something once all that has happened here is committed, unless the session is closed then."""
        self._awaited += 1

        def do(_seq: int) -> None:
            self._awaited -= 1
            if not self.is_closed:
                effect()

        self.journal.then(do)

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Have something done here. Closing the session ends it."""
        task = asyncio.create_task(work)
        self.tasks.add(task)
        task.add_done_callback(self.tasks.discard)
        return task

    async def end_tasks(self) -> None:
        """End what was spawned."""
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class SessionView:
    """What an agent sees of its session, as it is when it looks."""

    def __init__(self, core: SessionCore) -> None:
        self._core = core

    @property
    def settings(self) -> Mapping[str, Any]:
        """The session's settings; someone may change them while a turn runs."""
        config = self._core.live.head.config
        return config.values if config is not None else {}

    @property
    def model(self) -> ModelSelection | None:
        """The model that is chosen. A choice during a turn holds from the next one on."""
        return self._core.live.head.summary.model

    @property
    def active_client(self) -> SessionActiveClient | None:
        """The client that lends its tools to the session, and those tools."""
        return self._core.live.head.active_client

    @property
    def working_directory(self) -> str | None:
        """The session's folder, as a URI."""
        return self._core.live.head.summary.working_directory


def error_info(code: str, message: str, log: str | None = None) -> ErrorInfo:
    """An error as AHP has it; `log` is what the agent wrote before it."""
    return ErrorInfo(error_type=code, message=message, stack=log or None)


def needs_sign_in(session: LiveSession) -> bool:
    """Whether the last that was heard of a sign-in is that one is needed.

    The refusal puts a mark into the session's `_meta`; a turn that is completed, an agent that is there, and
    a sign-in that came about take it out. So it is in the journal, and survives the host.
    """
    return LOGIN in (session.head.meta or {})


def is_paused(session: LiveSession) -> bool:
    """Whether someone paused the session: then nothing enters it by itself."""
    return PAUSED in (session.head.meta or {})


def status_of(session: LiveSession) -> AgentStatus:
    """The status of a session whose host runs, in the words of the contract: computed, kept nowhere."""
    head = session.head
    if head.lifecycle == SessionLifecycle.CREATING:
        return AgentStatus.STARTING
    if head.input_requests or (session.turn is not None and session.turn.waits_for_someone):
        return AgentStatus.WAITING
    if session.turn is not None:
        return AgentStatus.ACTIVE
    if needs_sign_in(session):
        return AgentStatus.BLOCKED
    if head.lifecycle == SessionLifecycle.CREATION_FAILED:
        return AgentStatus.FAILED
    return AgentStatus.PAUSED if is_paused(session) else AgentStatus.IDLE
