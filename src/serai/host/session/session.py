"""One session: it takes the actions of clients, owns its agent, and puts its parts together."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from serai.ahp import actions as a, commands as c
from serai.ahp.extensions import PAUSED
from serai.ahp.rules import Judgement, Verdict, judge
from serai.ahp.types import (
    ROOT,
    FreeForm,
    PendingMessageKind,
    SessionLifecycle,
    ToolResultSubagentContent,
    Turn,
    TurnState,
    UserMessage,
)
from serai.completions.names import Prompt
from serai.contract import AgentSession, AgentSessionCapabilities, AgentStatus
from serai.contract.events import OBSERVED_BY_HOST
from serai.contract.negotiation import check_registration
from serai.customizations.containers import Definition
from serai.errors import CapabilityUnsupported, SeraiError, SessionFailed, SessionGone
from serai.host.agents import (
    ActionListener,
    HostContext,
    HostedHarness,
    LimitedHarness,
    TranscriptHarness,
)
from serai.host.changes.changesets import Changesets
from serai.host.changes.session_changes import SessionChanges
from serai.host.channels import Channel
from serai.host.core import HostCore
from serai.host.customizations.folders import CustomizedFolders
from serai.host.customizations.session import SessionCustomizations
from serai.host.seat import Seat
from serai.host.session.client_tools import ClientTools
from serai.host.session.core import (
    RelayAccess,
    SessionCore,
    Subagent,
    error_info,
    is_paused,
    needs_sign_in,
    status_of,
)
from serai.host.session.deliveries import Postman
from serai.host.session.mailbox import Mailbox, Waiting, not_taken
from serai.host.session.questions import Questions, all_answers, unknown_option
from serai.host.session.turns import Turns
from serai.host.surroundings.files import AttachedResources, Files
from serai.host.surroundings.terminals import Terminals
from serai.journal.sessions import KeptSession
from serai.journal.subscriptions import Subscriber
from serai.machine.files import read as read_file, write as write_file

MOST_READ = 8 * 1024 * 1024
"""Largest read of an agent, in bytes."""
PARENT = "serai.parent"
"""Name, in a session's `_meta`, of the session whose agent began it. Only the host writes it."""
_DEEPEST = 4
"""Most sessions that may stand one above the other: an agent that begins itself ends somewhere."""


class SessionHost(HostCore, ABC):
    """The host as a session knows it. `Host` extends it."""

    harnesses: dict[str, HostedHarness]
    find_harness: Callable[[str], Awaitable[HostedHarness]]
    """See `AgentList.find`."""
    customized_folders: CustomizedFolders
    files: Files
    changesets: Changesets
    terminals: Terminals
    postman: Callable[[str], Postman] | None = None
    """Returns the relay's side of a session, given its URI."""
    relay_access: Callable[[str], Awaitable[RelayAccess]] | None = None
    """Returns how the agent of a session reaches the relay's tools, given the session's URI."""

    @abstractmethod
    async def create(
        self, params: c.CreateSessionParams, client_id: str, meta: FreeForm | None = None
    ) -> Session:
        """Make a session. It is `creating` until its agent is there.

        Args:
            params: The request.
            client_id: The client, or the agent, that asked.
            meta: The first `_meta` of the session.

        Raises:
            ProtocolError: It exists, or the provider or what it is forked from does not.
        """

    @abstractmethod
    async def bring(self, uri: str) -> Session | Channel | None:
        """Bring a session, or another channel, into memory, if there is one of that URI."""

    @abstractmethod
    def activity_changed(self) -> None:
        """Tell the root channel when more or fewer sessions have a turn running."""


class Session(SessionCore):
    """A session on this host. Its turn, if one runs, is a task that it owns."""

    def __init__(self, host: SessionHost, kept: KeptSession) -> None:
        super().__init__(host, kept)
        summary = kept.live.head.summary
        self.host = host
        self.questions = Questions(self)
        self.mailbox = Mailbox(self, host.ledger, host.identities.of_session(kept.uri, summary.provider))
        self.customizations = SessionCustomizations(self, host.clients, host.customized_folders)
        self.changes = SessionChanges(self, host.changesets)
        self.client_tools = ClientTools(self, host.clients)
        harness = host.harnesses.get(summary.provider)
        # Asked once: Python takes long to say whether something fits a protocol.
        self._transcribing = harness if isinstance(harness, TranscriptHarness) else None
        self.turns = Turns(
            self,
            self.mailbox,
            self.questions,
            self.changes.bases,
            host.terminals,
            is_in_process=getattr(harness, "in_process", False),
            takes_up=self._transcribing is not None,
        )
        if host.postman is not None:
            self.mailbox.postman = host.postman(kept.uri)
        self.converse = self.turns.converse
        self.seat = Seat(self, self.turns, host.files, host.processes)
        self.attached = AttachedResources()
        self._agent: AgentSession | None = None
        self._starting: asyncio.Task[AgentSession] | None = None
        self._begun = asyncio.Event()

    @property
    def is_busy(self) -> bool:
        """True while the session stays in memory: something runs or waits, or a client lends it tools."""
        head = self.live.head
        waits = head.lifecycle == SessionLifecycle.CREATING or head.active_client is not None or self.mailbox
        runs = self.live.turn is not None or self.changes.is_busy
        return bool(waits or runs or super().is_busy)

    @property
    def is_free(self) -> bool:
        """True when a message of the relay may begin a turn: nothing runs, and no person's message waits.

        A paused session is not free. See `was_stopped`, too.
        """
        head = self.live.head
        is_ready = self.live.turn is None and head.lifecycle == SessionLifecycle.READY
        is_ready = is_ready and not is_paused(self.live)
        return is_ready and (not head.queued_messages or self.turns.is_held)

    @property
    def was_stopped(self) -> bool:
        """True when a person cancelled the last turn: nothing enters by itself until someone continues."""
        turns = self.live.head.turns
        return bool(turns) and turns[-1].state == TurnState.CANCELLED

    @property
    def capabilities(self) -> AgentSessionCapabilities | None:
        """The capabilities that its agent declares, as far as they are known."""
        if self._agent is not None:
            return self._agent.capabilities
        return getattr(self.host.harnesses.get(self.live.head.summary.provider), "capabilities", None)

    @property
    def status(self) -> AgentStatus:
        """The present status, in the words of the contract."""
        return status_of(self.live)

    def pause(self, reason: str | None = None) -> None:
        """Let nothing enter by itself any more. The running turn continues to its end."""
        self.note(PAUSED, reason or "paused")

    def resume(self) -> None:
        """End the pause: what has waited may enter."""
        self.note(PAUSED, None)
        self._go_on()

    def _go_on(self) -> None:
        self.turns.consume_queue()
        if self.mailbox.postman is not None:
            self.mailbox.postman.idle()

    # -- what clients do -----------------------------------------------------------------------------------

    def dispatch(self, action: a.StateAction, origin: a.ActionOrigin, sender: Subscriber) -> None:
        """Take an action from a client: it happens, waits, or goes back with the reason."""
        refusal = (
            self._refusal(action)
            or self.host.files.refused(action, origin.client_id)
            or self.customizations.refused(action)
        )
        judgement = refusal or judge(self.live, action, origin.client_id)
        match judgement.verdict:
            case Verdict.REJECT:
                self.journal.reject(self.uri, action, origin, judgement.reason or "rejected", sender)
            case Verdict.DEFER:
                self.turns.defer(action, origin)
            case Verdict.ACCEPT:
                self._accept(action, origin)

    def _refusal(self, action: a.StateAction) -> Judgement | None:
        """Refuse an action that the agent cannot do, or for which too much waits; else return `None`."""
        head = self.live.head
        harness = self.host.harnesses.get(head.summary.provider)
        if isinstance(harness, LimitedHarness) and (problem := harness.refusal(self.uri, action)):
            return problem
        if isinstance(action, a.SessionPendingMessageSetAction):
            limit = self.host.settings.mailbox_size
            return not_taken(action, head.queued_messages or [], limit, self.capabilities)
        return unknown_option(self.live, action)

    def _accept(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        self.attached.note(action, origin.client_id)
        match action:
            case a.SessionTurnStartedAction():
                self.turns.start(action, origin)
            case a.SessionTruncatedAction():
                self.turns.truncate(action, origin)
            case a.SessionTurnCancelledAction():
                self.turns.cancel(action, origin)
            case _:
                answers = all_answers(self.live, action)
                self.act(action, origin)
                self._file(action, origin)
                self.followed(action, answers)

    def _file(self, action: a.StateAction, origin: a.ActionOrigin) -> None:
        """Keep what stands beside the state in step with it: the mailbox, the customisations."""
        match action:
            case a.SessionToolCallConfirmedAction():
                self.client_tools.declined(action, origin.client_id)
            case a.SessionPendingMessageSetAction():
                waiting = Waiting(action.kind, action.id)
                self.mailbox.put(waiting, action.user_message, origin.client_id)
                if action.kind == PendingMessageKind.QUEUED:
                    # Also one that was edited. It is decided now: what happens until this is committed may
                    # hold the queue again.
                    self.turns.hold(None)
                    self.turns.consume_queue()
            case a.SessionPendingMessageRemovedAction():
                self.mailbox.drop(Waiting(action.kind, action.id), "cancelled")
                if not self.live.head.queued_messages:
                    self.turns.hold(None)
            case a.SessionCustomizationToggledAction():
                self.customizations.toggled(action)
            case a.SessionActiveClientChangedAction():
                self.customizations.active_client_changed()
            case _:
                pass

    def followed(self, action: a.StateAction, answers: Mapping[str, Any] | None = None) -> None:
        """See `SessionCore`."""

        def effect() -> None:
            self.questions.tell(action, answers or {})
            if isinstance(self._agent, ActionListener):
                self._agent.happened(action)

        self.then(effect)

    def client_left(self, client_id: str) -> None:
        """React to a client that is gone."""
        self.client_tools.client_left(client_id)
        self.customizations.client_left(client_id)

    def turn_begins(self, action: a.SessionTurnStartedAction, deliveries: Sequence[str]) -> None:
        """See `SessionCore`. The transcript begins the turn in the same transaction."""
        if self._transcribing is not None:
            writes, blobs = self._transcribing.turn_begins(self.uri, action, deliveries, self.host.now())
            self.journal.side.blobs.extend(blobs)
            self.seat.record({"kind": "turn", "turnId": action.turn_id}, writes)

    def call_ready(self, action: a.SessionToolCallReadyAction) -> None:
        """See `SessionCore`."""
        self.client_tools.call_ready(action)

    def activity_changed(self) -> None:
        """See `SessionCore`."""
        if self.live.turn is not None:
            self.customizations.turn_begins()
        else:
            self.customizations.attend()
        self.host.activity_changed()

    def prompts(self) -> list[Prompt]:
        """Return what a person is offered behind a `/`."""
        return [*self.seat.commands, *self.customizations.prompts()]

    # -- what an agent reaches -----------------------------------------------------------------------------

    async def definitions(self) -> tuple[Definition, ...]:
        """See `SessionCore`."""
        return await self.customizations.definitions()

    async def read(self, uri: str, *, first: int = 0, last: int | None = None) -> c.ResourceReadResult:
        """See `SessionCore`."""
        roots = await self.host.files.for_session(self)
        read = partial(read_file, first=first, last=last, most=MOST_READ)
        return await self.host.files.run(read, c.ResourceReadParams(channel=ROOT, uri=uri), roots)

    async def write(self, uri: str, text: str) -> None:
        """See `SessionCore`."""
        roots = await self.host.files.for_session(self)
        params = c.ResourceWriteParams(
            channel=ROOT, uri=uri, data=text, encoding=c.ContentEncoding.UTF8.value
        )
        await self.host.files.run(write_file, params, roots)

    async def delegate(self, provider: str, message: UserMessage, title: str) -> Subagent:
        """See `SessionCore`."""
        await self.check_depth()
        summary, channel = self.live.head.summary, f"ahp-session:/{self.host.new_id()}"
        folder = summary.working_directory
        params = c.CreateSessionParams(channel=channel, provider=provider, working_directory=folder)
        session = await self.host.create(params, summary.provider, {PARENT: self.uri})

        async def answer() -> Turn:
            await session.ready()
            return await session.converse(message, summary.provider)

        content = ToolResultSubagentContent(resource=channel, title=title, agent_name=provider)
        return Subagent(channel, content, answer)

    async def check_depth(self) -> None:
        """Check that the agent may begin one more session below its own.

        Raises:
            CapabilityUnsupported: Too many agents stand one above the other.
        """
        depth = 1
        above: Session | Channel | None = self
        while isinstance(above, Session) and isinstance(uri := above.noted(PARENT), str):
            depth += 1
            above = await self.host.bring(uri)
        if depth >= _DEEPEST:
            raise CapabilityUnsupported(
                "subagents",
                f"a session {depth} deep",
                remedy=f"At most {_DEEPEST} may stand one above the other",
            )

    async def relay_access(self) -> RelayAccess | None:
        """See `SessionCore`."""
        access = self.host.relay_access
        return await access(self.uri) if access is not None else None

    async def fork(self, source: c.SessionForkSource) -> AgentSession:
        """See `SessionCore`."""
        params = c.CreateSessionParams(channel=f"ahp-session:/{self.host.new_id()}", fork=source)
        forked = await self.host.create(params, self.live.head.summary.provider)
        await forked.ready()
        return await forked.agent()

    # -- the agent -----------------------------------------------------------------------------------------

    async def agent(self) -> AgentSession:
        """See `SessionCore`."""
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
        name = self.live.head.summary.provider
        context = HostContext(
            identity=self.host.identities.of_session(self.uri, name).identity,
            logger=logging.getLogger(f"serai.agent.{name}"),
            session=self.uri,
            turn=self.turns.turn_for_delivery,
            seat=self.seat,
        )
        agent = await (await self.host.find_harness(name)).create(dict(self.seat.settings), context)
        check_registration(agent, OBSERVED_BY_HOST)
        self._agent = agent
        return agent

    def _has_started(self, starting: asyncio.Task[AgentSession]) -> None:
        self._starting = None
        if not starting.cancelled():
            starting.exception()  # who waited for it may have gone

    def begin(self) -> None:
        """Start the agent of a new session, and report when it is there."""
        if not self.is_closed:
            self.customizations.begin()
            self.changes.begin(self.seat.forked_from)
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
            self._go_on()
        self._begun.set()

    async def began(self) -> None:
        """Wait until the agent of a new session has started, or failed to."""
        if self.live.head.lifecycle == SessionLifecycle.CREATING:
            await self._begun.wait()

    async def signed_in(self) -> None:
        """Continue, or begin, a session that has waited for a sign-in to its agent."""
        if not needs_sign_in(self.live) or self.is_closed:
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
        await self.began()
        error = self.live.head.creation_error
        if error is not None and self.live.head.lifecycle == SessionLifecycle.CREATION_FAILED:
            raise SessionFailed(error.message, error_type=error.error_type)

    # -- ending --------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop what runs and let the agent go. The state stays."""
        self.is_closed = True
        self.customizations.close()
        self.client_tools.close()
        self.turns.close()
        await self.end_tasks()
        await self.changes.close()
        agent, self._agent = self._agent, None
        if agent is not None and agent.capabilities.lifecycle.release:
            with contextlib.suppress(Exception):
                await agent.release("the session is closed")
