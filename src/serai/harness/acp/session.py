"""The agent of one session: its process comes and goes, the session stays."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serai.acp import (
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Failure,
    Finished,
    Handshake,
    Item,
    RawUpdate,
    SessionInfoUpdate,
    Update,
    fit_prompt,
    text_block,
)
from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PendingMessageKind, ToolResultContent
from serai.contract import (
    AgentSession,
    AgentSessionEvent,
    BasicSession,
    DeliveryMode,
    ErrorReported,
    EventHandler,
    MessageContext,
    MessageReceipt,
    RelayMessage,
    SessionReleased,
    Unsubscribe,
    supports,
)
from serai.errors import AgentError, AgentInactive, AuthRequired, CancelIgnored, SeraiError
from serai.harness.acp import kept as k
from serai.harness.acp.beside import Beside
from serai.harness.acp.choices import Choices
from serai.harness.acp.choosing import Choosing
from serai.harness.acp.declared import declared
from serai.harness.acp.events import Listeners
from serai.harness.acp.linking import Link, Linking
from serai.harness.acp.opening import Opened, Wanted, event_of, failure_notice
from serai.harness.acp.prompting import blocks_of
from serai.harness.acp.retelling import is_too_long, retold
from serai.harness.acp.signing_in import Stage
from serai.harness.acp.steering import steer
from serai.harness.acp.work import BeginMark, PauseMark, Work
from serai.host.agents import HostContext
from serai.host.messages import user_message
from serai.host.project import directory_of
from serai.host.turn import Turn

if TYPE_CHECKING:
    from serai.harness.acp.harness import AcpHarness

__all__ = ["AcpAgentSession"]

_log = logging.getLogger(__name__)

_SOON = 1.0
"""An agent that needs more seconds to stop keeps the next turn waiting, and that is told."""
_REMEMBERED = 256
"""A repeat of a delivery comes soon or never; so many receipts are enough to know it."""


class AcpAgentSession(BasicSession):
    """An agent over ACP, in one session of the host.

    Args:
        harness: The kind of agent.
        context: What the host gives.
        kept: What was written down about the session before.
    """

    def __init__(self, harness: AcpHarness, context: HostContext, kept: k.Kept) -> None:
        super().__init__(context.identity, declared(Handshake.of(kept.handshake)))
        self._harness = harness
        self._definition = harness.found.definition
        self._context = context
        self._seat = context.seat
        self._folder = directory_of(context.working_directory) or Path.home()
        self._kept = kept
        self._beside = Beside(self._label, self._seat, kept, context.logger)
        self._choosing = Choosing(harness, self._seat, kept, self._beside.warn)
        self._linking = Linking(
            harness,
            context,
            self._folder,
            kept,
            beside=self._beside,
            choosing=self._choosing,
            asked=self,
            opened=self._opened,
            follow=self._follow,
        )
        self._work: Work | None = None
        self.shown_terminals: dict[str, ToolResultContent] = {}
        """What tool calls show of the terminals that the agent has or had, by its ids for them."""
        self._free = asyncio.Event()
        self._free.set()
        self._caught_up = asyncio.Event()
        self._caught_up.set()
        self._receipts: OrderedDict[str, asyncio.Future[MessageReceipt]] = OrderedDict()
        self._listeners = Listeners()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._released = False

    # -- what the host asks --------------------------------------------------------------------------------

    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:
        """Prompt the agent. The receipt comes with the evidence: its first update, or its answer.

        A repeat prompts nobody and returns the same receipt.
        """
        known = self._receipts.get(context.id)
        if known is None:
            turn = self._context.turn(context.id)
            said, seat = user_message(message), self._seat
            work = Work(turn, said, context.id, seat, self._folder, self.shown_terminals, self._emit)
            known = self._receipts[context.id] = work.receipt
            while len(self._receipts) > _REMEMBERED:
                self._receipts.popitem(last=False)
            turn.run(self._answer(work))
            if turn.task is not None:
                turn.task.add_done_callback(
                    lambda _task: None if work.sent else work.undelivered("cancelled")
                )
        return await asyncio.shield(known)

    def on_event(self, handler: EventHandler) -> Unsubscribe:
        """See `AgentSession.on_event`."""
        return self._listeners.add(handler)

    async def release(self, reason: str | None = None) -> None:
        """End the agent's process. Its own session stays with it, to be opened another time."""
        if self._released:
            return
        self._released = True
        self._harness.forget(self._context.session, self)
        await self._linking.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._emit(SessionReleased(session_id=self._kept.session_id or "", reason=reason))

    async def resume(self) -> None:
        """See to it that the agent runs and its session is open."""
        await self._linking.get()

    async def wake(self) -> None:
        """See `serai.host.agents.Drowsy`."""
        with contextlib.suppress(SeraiError):
            await self._linking.get()

    async def fork(self) -> AgentSession:
        """Begin another session of the host that goes on from here."""
        return await self._seat.fork()

    def renew(self) -> None:
        """Someone has signed in: an agent that has refused is started anew, for it may not see that."""
        self._linking.renew()

    def refusal(self, action: a.StateAction) -> Judgement | None:
        """Why a client's action cannot be, as far as only the running agent knows."""
        link = self._link
        match action:
            case a.SessionPendingMessageSetAction(kind=PendingMessageKind.STEERING):
                if self._work is None or not supports(self.capabilities, DeliveryMode.NEXT_TOOL_CALL):
                    return rejected(
                        "capability_unsupported", f"{self._label} takes no messages in the middle of a turn"
                    )
            case a.SessionConfigChangedAction() if link is not None:
                if problem := self._choosing.problem_with(link.session, action.config):
                    return rejected("bad_config", f"{self._label} {problem}")
            case a.SessionModelChangedAction() if link is not None:
                if problem := Choices.of(link.session).problem_with_model(action.model.id):
                    return rejected("bad_model", f"{self._label} {problem}")
            case _:
                pass
        return None

    def happened(self, action: a.StateAction) -> None:
        """What a client has changed reaches the agent at once, where it can."""
        match action:
            case a.SessionConfigChangedAction() | a.SessionModelChangedAction():
                self._choosing.chosen(action)
                if link := self._linking.running:  # otherwise with its next opening
                    self._run(self._choosing.choose(link.session))
            case a.SessionPendingMessageSetAction(kind=PendingMessageKind.STEERING):
                turn = self._work.turn if self._work is not None else None
                warn, label = self._beside.warn, self._label
                self._run(steer(action, self._seat, self._link, turn, warn=warn, label=label))
            case a.SessionTitleChangedAction():
                self._beside.is_renamed = True
            case _:
                pass

    # -- what the agent's questions need -------------------------------------------------------------------

    @property
    def work(self) -> Work | None:
        """The turn that runs."""
        return self._work

    async def caught_up(self) -> None:
        """Wait until all that the agent told before has been dealt with."""
        while not self._caught_up.is_set():
            await self._caught_up.wait()

    # -- turns ---------------------------------------------------------------------------------------------

    async def _answer(self, work: Work) -> None:
        turn = work.turn
        try:
            await self._prompt(work)
        except AgentError as error:
            self._emit(ErrorReported(error=self._seat.mask(str(error)), code=error.code))
            if isinstance(error, AuthRequired):
                self._beside.needs_sign_in(error)
                if work.sent:
                    self._linking.was_refused = True
                    await self._harness.signing_in.refused(Stage.PROMPT)
            raise
        finally:
            if not work.sent:
                await self._beside.tell(turn)

    async def _prompt(self, work: Work) -> None:
        turn = work.turn
        await self._rest(turn)
        try:
            link = await self._linking.get()
        except AgentError as error:
            if self._kept.session_id is not None:
                self._beside.notice(failure_notice(error, self._label))
            raise
        await self._choosing.choose(link.session)
        await link.settle()
        await self._beside.tell(turn)
        blocks, unknown = blocks_of(work.message)
        if link.is_untold and fit_prompt(blocks, link.agent.capabilities)[0]:
            blocks.append(text_block(retold(self._seat.turns)))
            if is_too_long(self._seat.turns):
                self._beside.warn(
                    f"The conversation is long: {self._label} is given only the last of its text."
                )
        if unknown:
            self._beside.warn(
                f'Agent "{self._label}" cannot be given these attachments — dropped: {", ".join(unknown)}.'
            )
        self._work = work
        self._free.clear()
        try:
            prompt = link.session.prompt(blocks)
        except BaseException:
            self._work = None
            self._free.set()
            raise
        link.session.receive(BeginMark(work))  # nothing of the agent can have come in between
        work.sent = True
        link.is_untold = False
        self._kept.turn = turn.id
        self._kept.is_untold = False
        self._seat.record(k.prompted(turn.id))
        try:
            await work.done
        except asyncio.CancelledError:
            prompt.cancel()
            raise
        self._linking.was_refused = False
        await self._harness.signing_in.accepted(Stage.PROMPT)

    async def _rest(self, turn: Turn) -> None:
        """Wait for the end of a turn that was cancelled: the agent may still be at it, or be ended for it."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SOON):
                await self._free.wait()
        if not self._free.is_set():
            waits = "This message waits until it has, or was ended."
            await turn.notice(f"{self._label} has not stopped yet what was cancelled. {waits}")
            await self._free.wait()

    # -- the agent's session -------------------------------------------------------------------------------

    async def open(self) -> None:
        """Start the agent and its session.

        Raises:
            AgentError: That was not possible; of a person who has to sign in, `AuthRequired`.
        """
        try:
            await self._linking.get()
        except AuthRequired as error:
            self._beside.needs_sign_in(error)
            raise

    @property
    def _link(self) -> Link | None:
        return self._linking.link

    def _opened(self, opened: Opened, wanted: Wanted) -> None:
        self.capabilities = declared(opened.agent.handshake)
        self._emit(event_of(opened, wanted))

    # -- what the agent tells ------------------------------------------------------------------------------

    async def _follow(self, link: Link) -> None:
        """Take what happens in the session, one after the other. The agent waits when the disk does."""
        try:
            async for item in link.session.updates():
                if link.is_history(item) if link.work is None else link.work.takes(item):
                    continue
                self._caught_up.clear()
                try:
                    await self._take(link, item)
                except Exception as error:  # noqa: BLE001 - a turn must not wait for ever for what went wrong
                    _log.exception("what an agent told was not dealt with")
                    if link.work is not None:
                        await link.work.fail(error, answered=True)
                        link.session.cancel()
                self._caught_up.set()
        finally:
            self._caught_up.set()
            if self._link is link or self._link is None:
                self._work = None
                self._free.set()
            await link.answering.close()

    async def _take(self, link: Link, item: Item) -> None:
        work = link.work
        match item:
            case AgentMessageChunk() | AgentThoughtChunk():
                if work is not None:
                    await work.take(item)
                elif item.text:
                    self._beside.overheard(item.text)
            case Finished():
                self._ended(link)
                if work is not None:
                    await work.finish(item, cancelled=not work.turn.is_running)
            case Failure(error=error):
                self._failed(link, error)
                if work is not None:
                    await work.fail(error, answered=error.number is not None)
            case BeginMark(work=begun):
                await self._begins(link, begun)
            case _:
                self._keep(link, item)
                if work is not None:
                    await work.take(item)

    def _failed(self, link: Link, error: AgentError) -> None:
        if isinstance(error, CancelIgnored):
            self._beside.ended()
        self._ended(link)
        if isinstance(error, AgentInactive | CancelIgnored):
            self._run(self._linking.drop(link))  # it may still be at the old prompt

    def _ended(self, link: Link) -> None:
        link.work = self._work = None
        if link.replay is not None:
            link.replay.answered()
        self._free.set()

    async def _begins(self, link: Link, work: Work) -> None:
        """All that was told before the prompt is taken: what comes now is its answer."""
        turn = work.turn
        if link.replay is not None and not link.replay.prompted(work.message.text):
            link.replay = None
        work.replay = link.replay
        work.mark_pause = lambda: link.session.receive(PauseMark())
        link.work = work
        if turn.is_running:
            await self._beside.tell(turn)

    def _keep(self, link: Link, update: Update) -> None:
        """What holds for the session, and not for a turn."""
        match update:
            case AvailableCommandsUpdate():
                self._beside.show_commands(link.session)
            case ConfigOptionUpdate() | CurrentModeUpdate():
                self._choosing.show(link.session)
            case SessionInfoUpdate(title=str(title)):
                self._beside.entitle(title)
            case RawUpdate() if update.kind:
                _log.debug("%s told %r, which is not known here", self._label, update.kind)
            case _:
                pass

    # -- odds and ends -------------------------------------------------------------------------------------

    @property
    def _label(self) -> str:
        return self._definition.label

    def _emit(self, event: AgentSessionEvent) -> None:
        self._listeners.emit(event)

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Do something beside. Releasing the session ends it."""
        if self._released:
            work.close()
            return
        self._tasks.add(task := asyncio.create_task(self._guarded(work)))
        task.add_done_callback(self._tasks.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        with contextlib.suppress(SeraiError):
            await work
