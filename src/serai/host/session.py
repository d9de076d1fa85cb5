"""One session: what clients dispatch goes in, what its agent does comes out, and turns begin and end."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.extensions import LOGIN
from serai.ahp.reducers import LiveSession
from serai.ahp.rules import Verdict, judge
from serai.ahp.types import (
    PendingMessageKind,
    SessionInputRequest,
    SessionInputResponseKind,
    SessionLifecycle,
    UserMessage,
)
from serai.contract import AgentSession, AgentStatus
from serai.errors import AuthRequired, SeraiError, SessionFailed, SessionGone
from serai.host.agents import Attentive
from serai.host.changes.changing import Changing
from serai.host.content import moved_out
from serai.host.customizing.customizations import SessionCustomizations
from serai.host.deliveries import Door, Unsettled
from serai.host.expecting import Answers, Expecting, all_answers
from serai.host.lending import Lending
from serai.host.mailbox import Mailbox, Waiting
from serai.host.masking import Masking, written
from serai.host.observing import Observing
from serai.host.recovering import recover
from serai.host.refusing import refused
from serai.host.seat import Seat
from serai.host.status import needs_sign_in, status_of
from serai.host.surroundings.client_resources import Shown
from serai.host.turn import Turn
from serai.host.turns import Turns, error_info
from serai.journal.batches import Delta, is_delta
from serai.journal.sessions import KeptSession
from serai.journal.subscriptions import Subscriber

if TYPE_CHECKING:
    from serai.host.host import Host
    from serai.host.settings import HostSettings
    from serai.host.surroundings.terminals import HostTerminal

__all__ = ["Session"]

_log = logging.getLogger(__name__)

_SIGN_IN_NEEDED = "A sign-in is needed"
"""What a session is doing, for people, that waits for one."""


class Session:
    """A session on this host. Its turn, if one runs, is a task that it owns."""

    def __init__(self, host: Host, kept: KeptSession, settings: HostSettings) -> None:
        self.host = host
        self.settings = settings
        """How this session behaves: the host's settings, and those of its project."""
        self.journal = host.journal
        self.kept = kept
        self.uri = kept.uri
        summary = kept.live.head.summary
        self.observing = Observing(host.telemetry.activities, kept.uri, summary)
        self.door = Door(host.journal, kept.uri, summary.provider, host.redactor, self.observing)
        self.mailbox = Mailbox(self.door)
        self.told_summary = replace(kept.live.head.summary)
        """The summary as those who follow the root channel know it."""
        self._masking = Masking(host.redactor)
        self._agent: AgentSession | None = None
        self._starting: asyncio.Task[AgentSession] | None = None
        self.turns = Turns(self)
        self.expecting = Expecting()
        self._begun = asyncio.Event()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._awaited = 0  # what is to happen here once something is committed
        self._closed = False
        self.customizations = SessionCustomizations(self, self.spawn)
        self.changing = Changing(self)
        self.seat = Seat(self)
        self.lending = Lending(self)
        self.shown = Shown()

    @property
    def live(self) -> LiveSession:
        """The state, to look at."""
        return self.kept.live

    @property
    def is_busy(self) -> bool:
        """Whether something runs in it, or is about to, or a client lends it tools: it stays in memory."""
        head = self.live.head
        waits = head.lifecycle == SessionLifecycle.CREATING or head.active_client is not None or self.mailbox
        runs = self.live.turn is not None or self._tasks or self.changing.is_busy
        return bool(waits or runs or self._awaited)

    @property
    def status(self) -> AgentStatus:
        """What it does right now, in the words of the contract."""
        return status_of(self.live)

    # -- actions -------------------------------------------------------------------------------------------

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
        is_masked = is_masked or origin is not None
        for masked in self._masking.masked(action, is_masked=is_masked):
            light, blobs = moved_out(masked, self.uri)
            light, encoded = written(light)
            if blobs:
                self.journal.side.blobs.extend(blobs)
            self.kept.apply(light, self.host.now())
            self.observing.happened(light)
            # What was held back before this action is the agent's, whoever dispatched the action.
            whose = origin if masked.__class__ is action.__class__ else None
            self.journal.append(self.uri, light, origin=whose, session=self.kept, encoded=encoded)
        self.host.root.summary_changed(self)

    def _add_text(self, delta: Delta) -> None:
        """The short way, for what most actions are: there is nothing in it to move out or to observe."""
        masked = self._masking.masked_delta(delta)
        if masked is not None:
            # ASCII can be written for sure, so that can wait: the next delta may become a part of it.
            is_plain = type(masked) is not a.SessionToolCallDeltaAction and masked.content.isascii()
            light, encoded = (masked, b"") if is_plain else written(masked)
            self.kept.apply(light, self.host.now())
            self.journal.append(self.uri, light, session=self.kept, encoded=encoded)
        self.host.root.summary_changed(self)

    def act_in_turn(self, turn: Turn, action: a.StateAction) -> None:
        """Let an action of the agent happen, unless its turn is over: someone may have cancelled it."""
        if self.turns.is_running(turn):
            self.act(action)
            if type(action) is a.SessionToolCallReadyAction:
                self.lending.call_ready(action)

    def act_instead(self, action: a.StateAction) -> None:
        """Let an action happen that a client owes: whoever waits for it need not wait longer."""
        self.act(action)
        self.followed(action, {})

    def dispatch(self, action: a.StateAction, origin: a.ActionOrigin, sender: Subscriber) -> None:
        """Take an action from a client: it happens, waits, or goes back with the reason."""
        refusal = refused(self, action, self._agent) or self.host.files.refused(action, origin.client_id)
        if refusal is None and self.customizations.holds_up(action, origin, sender):
            return
        judgement = refusal or judge(self.live, action, origin.client_id)
        match judgement.verdict:
            case Verdict.REJECT:
                self.journal.reject(self.uri, action, origin, judgement.reason or "rejected", sender)
            case Verdict.DEFER if self.turns.is_crowded:
                reason = "too_many_waiting: choose again when the turn has ended"
                self.journal.reject(self.uri, action, origin, reason, sender)
            case Verdict.DEFER:
                self.turns.defer(self.door.defer(self.host.new_id(), action, origin))
            case Verdict.IGNORE:
                pass
            case Verdict.ACCEPT:
                self._accept(action, origin)

    def _accept(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        self.shown.note(action, origin.client_id)
        if isinstance(action, a.SessionTurnStartedAction):
            self.turns.start(action, origin)
            return
        if isinstance(action, a.SessionTruncatedAction):
            self.turns.truncate(action, origin)
            return
        if isinstance(action, a.SessionTurnCancelledAction):
            self.turns.cancel(action, origin)
            return
        answers = all_answers(self.live, action)
        self.act(action, origin)
        self._file(action, origin)
        self.followed(action, answers)

    def _file(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        """Keep what stands beside the state in step with it: the mailbox, the customisations."""
        match action:
            case a.SessionToolCallConfirmedAction():
                self.lending.declined(action, origin.client_id)
            case a.SessionPendingMessageSetAction():
                self.mailbox.put(
                    Waiting(action.kind, action.id),
                    action.user_message,
                    delivery_id=self.host.new_id(),
                    sender=origin.client_id,
                    now=self.host.now(),
                )
                if action.kind == PendingMessageKind.QUEUED:
                    # Also one that was edited. It is decided now: what happens until this is committed may
                    # hold the queue again.
                    self.turns.release_queue()
            case a.SessionPendingMessageRemovedAction():
                self.mailbox.drop(Waiting(action.kind, action.id), "cancelled")
                if not self.live.head.queued_messages:
                    self.turns.hold_no_more()
            case a.SessionCustomizationToggledAction():
                self.customizations.toggled(action)
            case a.SessionActiveClientChangedAction():
                self.customizations.active_client_changed()
            case _:
                pass

    def then(self, effect: Callable[[], None]) -> None:
        """Do something once all that has happened here is committed, unless the session is closed then."""
        self._awaited += 1

        def do(_seq: int) -> None:
            self._awaited -= 1
            if not self._closed:
                effect()

        self.journal.then(do)

    def followed(self, action: a.StateAction, answers: dict[str, Any]) -> None:
        """Have follow what follows from a client's action, once it is committed.

        Args:
            action: What the client did.
            answers: The answers of an input request that it completed.
        """

        def effect() -> None:
            self.expecting.tell(action, answers)
            if isinstance(self._agent, Attentive):
                self._agent.happened(action)

        self.then(effect)

    def enqueue(self, message: UserMessage, sender: str) -> None:
        """Have an agent's message wait as the next one. It begins a turn if the session is idle."""
        message = self.host.redactor.redact_value(message, observed=True)
        message_id = self.host.new_id()
        kind = PendingMessageKind.QUEUED.value
        action = a.SessionPendingMessageSetAction(kind=kind, id=message_id, user_message=message)
        self.act(action, is_masked=True)
        waiting = Waiting(kind, message_id)
        now = self.host.now()
        self.mailbox.put(waiting, message, delivery_id=self.host.new_id(), sender=sender, now=now)
        others = [other.id for other in self.live.head.queued_messages or () if other.id != message_id]
        if others:
            self.act(a.SessionQueuedMessagesReorderedAction(order=[message_id, *others]))
        self.turns.go_on()

    async def ask(self, request: SessionInputRequest) -> Answers:
        """Ask the person something that no turn waits for. It ends, unanswered, with a turn that runs.

        Cancelling takes the question back.
        """
        return await self._ask(request) or Answers(SessionInputResponseKind.CANCEL.value, {})

    async def keep_asking(self, request: SessionInputRequest) -> Answers:
        """The same for what turns have nothing to do with: it is asked again when one took it along.

        Raises:
            SessionGone: The session is closed.
        """
        while not self._closed:
            if (answers := await self._ask(request)) is not None:
                return answers
        raise SessionGone(f"{self.uri} is closed")

    async def _ask(self, request: SessionInputRequest) -> Answers | None:
        """The answer; `None` when the question went with a turn, or with the session."""
        answer = self.expecting.expect(("input", request.id))
        self.act(a.SessionInputRequestedAction(request=request))
        try:
            await asyncio.wait({answer})
        except asyncio.CancelledError:
            self.take_back(request.id)
            raise
        return None if answer.cancelled() else answer.result()

    def take_back(self, request_id: str) -> None:
        """A question need not be answered any more."""
        self.conclude(request_id, SessionInputResponseKind.CANCEL.value)

    def conclude(self, request_id: str, response: str) -> None:
        """A question that is open is over, without an answer here."""
        if any(request.id == request_id for request in self.live.head.input_requests or ()):
            action = a.SessionInputCompletedAction(request_id=request_id, response=response)
            self.act(action)
            self.then(lambda: self.expecting.tell(action, {}))

    def drop_pending(self, kind: str, message_id: str, reason: str) -> None:
        """A message that waits will not be delivered as it was meant to."""
        self.act(a.SessionPendingMessageRemovedAction(kind=kind, id=message_id))
        self.mailbox.drop(Waiting(kind, message_id), reason)

    def clear_activity(self) -> None:
        """Nothing is being done any more. Where a person has to sign in, that stands there instead."""
        needed = needs_sign_in(self.live) and self.live.turn is None
        activity = _SIGN_IN_NEEDED if needed else None
        if self.live.head.summary.activity != activity:
            self.act(a.SessionActivityChangedAction(activity=activity))

    def end_terminals(self, terminals: list[HostTerminal]) -> None:
        """End what a turn that was cancelled has started."""
        for terminal in terminals:
            self.spawn(terminal.close())

    # -- the agent -----------------------------------------------------------------------------------------

    async def agent(self) -> AgentSession:
        """The agent; it is started when it is not there, once for all who need it.

        Cancelling does not stop the start: others may wait for it.

        Raises:
            SessionGone: The session was closed meanwhile.
        """
        if self._agent is not None:
            return self._agent
        if self._starting is None:
            self._starting = self.spawn(self._start_agent())
            self._starting.add_done_callback(self._has_started)
        starting = self._starting
        await asyncio.wait({starting})
        if starting.cancelled():
            raise SessionGone(f"{self.uri} is closed")
        return starting.result()

    async def _start_agent(self) -> AgentSession:
        self._agent = await self.host.start_agent(self)
        return self._agent

    def _has_started(self, starting: asyncio.Task[AgentSession]) -> None:
        self._starting = None
        if not starting.cancelled():
            starting.exception()  # who waited for it may have gone

    def begin(self) -> None:
        """Start the agent of a new session, and say so when it is there."""
        if not self._closed:
            self.customizations.begin()
            self.changing.begin()
            self.spawn(self._begin())

    async def _begin(self) -> None:
        try:
            await self.agent()
        except Exception as error:  # noqa: BLE001 - whatever it is, the session says why it did not begin
            self.turns.log_failure("did not start", error)
            code = error.code if isinstance(error, SeraiError) else "agent_start_failed"
            self.act(
                a.SessionCreationFailedAction(error=error_info(code, str(error) or type(error).__name__))
            )
            self.sign_in_needed(code)
        else:
            self.act(a.SessionReadyAction())
            self.sign_in_needed(None)
            self.turns.consume_queue()
        self._begun.set()

    def sign_in_needed(self, code: str | None) -> None:
        """Mark whether a sign-in is needed: what the agent was to do failed so, or (`None`) succeeded.

        Other failures than a missing sign-in change nothing: they say nothing about it.
        """
        if code == AuthRequired.code and not needs_sign_in(self.live):
            self.seat.note(LOGIN, {})
        elif code is None:
            self.seat.note(LOGIN, None)
        self.clear_activity()

    async def signed_in(self) -> None:
        """Someone has signed in to its agent. If that was missing, the session goes on, or begins at last."""
        if not needs_sign_in(self.live) or self._closed:
            return
        if self.live.head.lifecycle == SessionLifecycle.CREATION_FAILED:
            await asyncio.wait({self.spawn(self._begin())})
        else:
            self.sign_in_needed(None)

    async def ready(self) -> None:
        """Wait until the agent of a new session is there.

        Raises:
            SessionFailed: It did not start.
        """
        if self.live.head.lifecycle == SessionLifecycle.CREATING:
            await self._begun.wait()
        error = self.live.head.creation_error
        if error is not None and self.live.head.lifecycle == SessionLifecycle.CREATION_FAILED:
            raise SessionFailed(error.message, error_type=error.error_type)

    def masked_bytes(self, data: bytes) -> bytes:
        """Content with secrets masked."""
        return self.host.redactor.redact_bytes(data)

    def recover(self, unsettled: Unsettled) -> None:
        """After a restart: what was running is over, and says so."""
        recover(self, unsettled)

    def client_left(self, client_id: str) -> None:
        """A client is gone."""
        self.lending.client_left(client_id)

    # -- ending --------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop what runs and let the agent go. The state stays."""
        self._closed = True
        self.customizations.close()
        self.lending.close()
        self.turns.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self.changing.close()
        agent, self._agent = self._agent, None
        if agent is not None and agent.capabilities.lifecycle.release:
            with contextlib.suppress(Exception):
                await agent.release("the session is closed")

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Have something done here. Closing the session ends it."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
