"""The agent of one session: its process comes and goes, the session stays."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from serai.acp import (
    AcpSession,
    Agent,
    AgentMessageChunk,
    AgentThoughtChunk,
    AvailableCommandsUpdate,
    ConfigOptionUpdate,
    CurrentModeUpdate,
    Failure,
    Finished,
    Handshake,
    Item,
    Opening,
    RawUpdate,
    SessionInfoUpdate,
    Update,
    fit_prompt,
    text_block,
)
from serai.acp.shapes import object_of, text_of
from serai.ahp import actions as a
from serai.ahp.extensions import LOGIN
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PendingMessageKind, ToolResultContent
from serai.completions.sources import Prompt
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
    SessionForked,
    SessionReleased,
    SessionResumed,
    SessionStarted,
    Unsubscribe,
    supports,
)
from serai.errors import AgentClosed, AgentError, AgentInactive, AuthRequired, CancelIgnored, SeraiError
from serai.harness.acp import kept as k
from serai.harness.acp.answering import Answering
from serai.harness.acp.choices import MCP_SERVERS, Choices, texts_in
from serai.harness.acp.choosing import Choosing
from serai.harness.acp.declared import STEERING_METHOD, declared
from serai.harness.acp.events import Listeners
from serai.harness.acp.opening import Opened, Outcome, Wanted, failure_notice, notice_of, open_session
from serai.harness.acp.prompting import COMMAND, blocks_of
from serai.harness.acp.replaying import Replay
from serai.harness.acp.retelling import retold
from serai.harness.acp.signing_in import Stage
from serai.harness.acp.work import Work
from serai.host.agents import HostContext
from serai.host.project import directory_of
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES
from serai.host.turn import Turn

if TYPE_CHECKING:
    from serai.harness.acp.harness import AcpHarness

__all__ = ["ACP", "AcpAgentSession"]

_log = logging.getLogger(__name__)

ACP = "serai.acp"
"""In a session's `_meta`: the agent and what it can do, its own id of the session, how that was opened."""
_REMEMBERED = 256
"""A repeat of a delivery comes soon or never; so many receipts are enough to know it."""
_ASIDE = 64 * 1024
"""So much of what the agent said between turns is told in the next one."""


@dataclass(slots=True)
class _Link:
    """A running agent with its session open."""

    agent: Agent
    session: AcpSession
    just_loaded: bool = False
    """Whether the agent may still be telling its history."""
    following: asyncio.Task[None] | None = None


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
        self._link: _Link | None = None
        self._opening = asyncio.Lock()
        self._work: Work | None = None
        self.last_turn: Turn | None = None
        """The turn that the agent was prompted in last."""
        self.shown_terminals: dict[str, ToolResultContent] = {}
        """What tool calls show of the terminals that the agent has or had, by its ids for them."""
        self._free = asyncio.Event()
        self._free.set()
        self._caught_up = asyncio.Event()
        self._caught_up.set()
        self._receipts: OrderedDict[str, asyncio.Future[MessageReceipt]] = OrderedDict()
        self._listeners = Listeners()
        self._notices: list[str] = []
        """What the next turn begins with."""
        self._aside = ""
        self._retell = False
        self._choosing = Choosing(harness, self._seat, self._warn)
        self._renamed = False
        self._was_refused = False
        """Whether the agent that runs has said that a person must sign in."""
        self._is_to_renew = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._released = False

    # -- what the host asks --------------------------------------------------------------------------------

    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:  # noqa: ARG002 - the turn has it
        """Prompt the agent. The receipt comes with the evidence: its first update, or its answer.

        A repeat prompts nobody and returns the same receipt.
        """
        known = self._receipts.get(context.id)
        if known is None:
            turn = self._context.turn(context.id)
            work = Work(turn, context.id, self._seat, self._folder, self.shown_terminals, self._emit)
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
        await self._drop_link()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._emit(SessionReleased(session_id=self._kept.session_id or "", reason=reason))

    async def resume(self) -> None:
        """See to it that the agent runs and its session is open."""
        await self._linked()

    async def fork(self) -> AgentSession:
        """Begin another session of the host that goes on from here."""
        return await self._seat.fork()

    def renew(self) -> None:
        """Someone has signed in: an agent that has refused is started anew, for it may not see that."""
        self._is_to_renew = self._was_refused

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
                if self._link is not None:
                    self._run(self._choosing.choose(self._link.session))
            case a.SessionPendingMessageSetAction(kind=PendingMessageKind.STEERING):
                self._run(self._steer(action))
            case a.SessionTitleChangedAction():
                self._renamed = True
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
                self._tell_login(error)
                if work.sent:
                    self._was_refused = True
                    await self._harness.signing_in.refused(Stage.PROMPT)
            raise
        finally:
            if not work.sent:
                await self._flush(turn)

    async def _prompt(self, work: Work) -> None:
        await self._free.wait()  # one that was cancelled may still be ending
        turn = work.turn
        try:
            link = await self._linked()
        except AgentError as error:
            if self._kept.session_id is not None:
                self._notices.append(failure_notice(error, self._label))
            raise
        await self._choosing.choose(link.session)
        await self._flush(turn)
        blocks, unknown = blocks_of(turn.message)
        if self._retell:
            blocks.append(text_block(retold(self._seat.turns)))
        if unknown:
            self._warn(
                f'Agent "{self._label}" cannot be given these attachments — dropped: {", ".join(unknown)}.'
            )
        if link.just_loaded:
            link.just_loaded = False
            work.replay = Replay(self._seat.turns, turn.message.text)
        self._work = work
        self.last_turn = turn
        self._free.clear()
        try:
            prompt = link.session.prompt(blocks)
        except BaseException:
            self._work = None
            self._free.set()
            raise
        work.sent = True
        self._retell = False
        self._kept.turn = turn.id
        self._kept.is_untold = False
        self._seat.record(k.prompted(turn.id))
        await self._flush(turn)
        try:
            await work.done
        except asyncio.CancelledError:
            prompt.cancel()
            raise
        self._was_refused = False
        await self._harness.signing_in.accepted(Stage.PROMPT)

    async def _flush(self, turn: Turn) -> None:
        """Tell the person what has come up since the last turn."""
        notices, self._notices = self._notices, []
        aside, self._aside = self._aside, ""
        for notice in notices:
            await turn.notice(notice)
        if aside:
            await turn.notice(f"Between the turns {self._label} said: {aside}")

    async def _steer(self, action: a.SessionPendingMessageSetAction) -> None:
        """Bring a message into the turn that runs; where that fails, it is the next one."""
        link, work = self._link, self._work
        outcome = None
        if link is not None and work is not None:
            blocks, _ = blocks_of(action.user_message)
            kept, dropped = fit_prompt(blocks, link.agent.capabilities)
            params = {
                "sessionId": link.session.id,
                "prompt": kept,
                "_meta": {"steering": {"idleBehavior": "promptRequired"}},
            }
            try:
                outcome = object_of(await link.agent.request(STEERING_METHOD, params)).get("outcome")
            except AgentError as error:
                self._warn(f'Agent "{self._label}" did not take the message in this turn: {error.message}.')
            if outcome == "injected":
                work.turn.steering("the answer to the steering request")
                if dropped:
                    await work.turn.notice(
                        f'Agent "{self._label}" does not take these parts — dropped: {", ".join(dropped)}.'
                    )
                return
        self._seat.queue_steering("steering")

    # -- the agent's session -------------------------------------------------------------------------------

    async def open(self) -> None:
        """Start the agent and its session.

        Raises:
            AgentError: That was not possible; of a person who has to sign in, `AuthRequired`.
        """
        try:
            await self._linked()
        except AuthRequired as error:
            self._tell_login(error)
            raise

    async def _linked(self) -> _Link:
        """The running agent with its session; both are brought back where they are not there any more."""
        async with self._opening:
            turns = [turn.id for turn in self._seat.turns]
            taken_back = self._kept.knows_too_much(turns)
            link = self._link
            if link is not None and link.agent.is_running and not taken_back and not self._is_to_renew:
                return link
            self._was_refused = self._is_to_renew = False
            await self._drop_link()
            if self._released:
                raise AgentClosed(f"the agent {self._harness.name!r} was released", agent=self._harness.name)
            return await self._open(await self._wanted(turns, taken_back=taken_back))

    async def _wanted(self, turns: list[str], *, taken_back: bool) -> Wanted:
        anew: str | None = None
        session_id, fork = self._kept.session_id, False
        source = self._seat.forked_from
        if session_id is None and source is not None:
            theirs = k.kept_of(await self._seat.records(source.session))
            session_id, fork = theirs.session_id, True
            if session_id is None:
                anew = "nothing is known of the session that it was forked from"
            elif theirs.knows_too_much(turns):
                anew = "agents cannot fork their sessions before the last turn"
            else:
                self._kept.turn = theirs.turn
                self._kept.is_untold = theirs.is_untold
        elif session_id is None and turns:
            anew = "its own session is not known any more"
        elif taken_back:
            anew = "agents cannot take back what was said in theirs"
        return Wanted(
            cwd=self._folder,
            session_id=session_id,
            fork=fork,
            anew=anew,
            quirks=self._definition.quirks,
        )

    async def _open(self, wanted: Wanted) -> _Link:
        servers = self._seat.settings.get(MCP_SERVERS) or ()
        how = Opening(
            mcp_servers=servers,
            additional_directories=[
                directory_of(each) or Path(each)
                for each in texts_in(self._seat.settings.get(ADDITIONAL_DIRECTORIES))
            ],
        )
        model = self._seat.model
        agent = await self._harness.start(
            Answering(self._definition, self._seat, self._folder, self),
            processes=self._seat.processes,
            mask=self._seat.mask,
            warn=self._warn,
            cwd=self._folder,
            model=model.id if model else None,
            with_mcp=bool(servers),
        )
        try:
            opened = await self._harness.signing_in.through(agent, lambda: open_session(agent, wanted, how))
        except BaseException:
            await agent.close()
            raise
        has_loaded = opened.outcome is Outcome.LOADED
        if self._kept.is_untold and self._seat.turns:
            opened = opened.untold()
        link = self._link = _Link(agent, opened.session, just_loaded=has_loaded)
        self._remember(agent, opened)
        self._emit_opened(opened, wanted)
        await self._choosing.choose(opened.session)
        link.following = asyncio.create_task(self._follow(link), name=f"agent of {self._context.session}")
        return link

    def _remember(self, agent: Agent, opened: Opened) -> None:
        """Write down, and tell, which session it is."""
        session, outcome = opened.session, opened.outcome
        self._seat.forked_from = None
        anew = outcome is Outcome.RECREATED
        self._kept.session_id = session.id
        self._kept.turn = None if anew else self._kept.turn
        self._kept.is_untold = anew
        self._kept.handshake = agent.handshake.raw
        self._seat.record(k.opened(session.id, agent.handshake, anew=anew))
        if outcome is Outcome.FORKED and self._kept.turn is not None:
            self._seat.record(k.prompted(self._kept.turn))
        self.capabilities = declared(agent.handshake)
        info = agent.handshake.agent_info
        self._seat.note(
            ACP,
            {
                "agent": {
                    "name": info.title or info.name or self._label,
                    **({"version": info.version} if info.version is not None else {}),
                },
                "sessionId": session.id,
                "opened": outcome.value,
                "capabilities": msgspec.to_builtins(agent.capabilities),
            },
        )
        self._seat.note(LOGIN, None)
        self._retell = anew and bool(retold(self._seat.turns))
        if notice := notice_of(opened, self._label, retold=self._retell):
            self._notices.append(notice)
        self._choosing.adopt(session)
        self._show_commands(session)

    def _emit_opened(self, opened: Opened, wanted: Wanted) -> None:
        session_id = opened.session.id
        if opened.outcome in (Outcome.RESUMED, Outcome.LOADED):
            self._emit(SessionResumed(session_id=session_id))
        elif opened.outcome is Outcome.FORKED:
            self._emit(SessionForked(session_id=session_id, parent_session_id=wanted.session_id or ""))
        else:
            self._emit(SessionStarted(session_id=session_id))

    async def _drop_link(self) -> None:
        link, self._link = self._link, None
        if link is not None:
            await link.agent.close()
            if link.following is not None:
                await asyncio.gather(link.following, return_exceptions=True)

    # -- what the agent tells ------------------------------------------------------------------------------

    async def _follow(self, link: _Link) -> None:
        """Take what happens in the session, one after the other. The agent waits when the disk does."""
        try:
            async for item in link.session.updates():
                if self._work is not None and self._work.takes(item):
                    continue
                self._caught_up.clear()
                try:
                    await self._take(link, item)
                except Exception as error:  # noqa: BLE001 - a turn must not wait for ever for what went wrong
                    _log.exception("what an agent told was not dealt with")
                    if self._work is not None:
                        await self._work.fail(error, answered=True)
                        link.session.cancel()
                self._caught_up.set()
        finally:
            self._caught_up.set()
            if self._link is link or self._link is None:
                self._work = None
                self._free.set()

    async def _take(self, link: _Link, item: Item) -> None:
        work = self._work
        match item:
            case AgentMessageChunk() | AgentThoughtChunk():
                if work is not None:
                    await work.take(item)
                elif item.text:
                    self._aside = (self._aside + item.text)[:_ASIDE]
            case Finished():
                self._work = None
                self._free.set()
                if work is not None:
                    await work.finish(item, cancelled=not work.turn.is_running)
            case Failure(error=error):
                self._work = None
                self._free.set()
                if isinstance(error, AgentInactive | CancelIgnored):
                    self._run(self._give_up(link))  # it may still be at the old prompt
                if work is not None:
                    await work.fail(error, answered=error.number is not None)
            case _:
                self._keep(link, item)
                if work is not None:
                    await work.take(item)

    def _keep(self, link: _Link, update: Update) -> None:
        """What holds for the session, and not for a turn."""
        match update:
            case AvailableCommandsUpdate():
                self._show_commands(link.session)
            case ConfigOptionUpdate() | CurrentModeUpdate():
                self._choosing.show(link.session)
            case SessionInfoUpdate(title=str(title)):
                self._entitle(title)
            case RawUpdate():
                _log.debug("%s told %r, which is not known here", self._label, update.kind)
            case _:
                pass

    def _entitle(self, title: str) -> None:
        """The agent gives a title. One that a person gave stays."""
        if self._renamed or (self._kept.title is not None and self._kept.title != self._seat.title):
            return
        if title and title != self._kept.title:
            self._kept.title = title
            self._seat.record(k.titled(title))
            self._seat.entitle(title)

    def _show_commands(self, session: AcpSession) -> None:
        self._seat.commands = [
            Prompt(name, text_of(command.get("description")) or "", None, COMMAND)
            for command in session.commands
            if (name := text_of(command.get("name")))
        ]

    # -- odds and ends -------------------------------------------------------------------------------------

    @property
    def _label(self) -> str:
        return self._definition.label

    def _warn(self, sentence: str) -> None:
        """Something was left out: the log has it, and the person sees it in the turn."""
        self._context.logger.warning("%s", self._seat.mask(sentence))
        self._notices.append(sentence)

    def _tell_login(self, error: AuthRequired) -> None:
        told = {"command": list(error.login_command), "methods": [dict(each) for each in error.methods]}
        self._seat.note(LOGIN, {name: value for name, value in told.items() if value})

    def _emit(self, event: AgentSessionEvent) -> None:
        self._listeners.emit(event)

    async def _give_up(self, link: _Link) -> None:
        if self._link is link:
            await self._drop_link()

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
