"""The agent of one session: its process comes and goes, the session stays.

The state of the agent's own session is stored: see `serai.harness.acp.record`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from serai import contract as c
from serai.acp import updates as acp
from serai.acp.agent import Agent
from serai.acp.capabilities import AgentCapabilities, Handshake
from serai.acp.prompt import Finished, Item, Mark, PromptFailure, fit_prompt, text_block
from serai.acp.servers import HttpServer, McpServer, StdioServer, read_server
from serai.acp.session import AcpSession, OpenWay, SessionOpening
from serai.acp.session_start import Link, Opened, Wanted
from serai.acp.shapes import object_of, texts_of
from serai.ahp import actions as a
from serai.ahp.rules import Judgement, rejected
from serai.ahp.types import PendingMessageKind, ToolResultContent
from serai.errors import AgentError, AgentInactive, AuthRequired, CancelIgnored, SeraiError
from serai.harness.acp.client import HostClient
from serai.harness.acp.content import blocks_of
from serai.harness.acp.login import LoginStage
from serai.harness.acp.notices import Notices
from serai.harness.acp.record import LEFT_OUT, AgentRecord, read_records, retold
from serai.harness.acp.settings import MCP_SERVERS, MODEL, SessionSettings
from serai.harness.acp.turn import RunningPrompt
from serai.host.agents import HostContext
from serai.host.session.deliveries import user_message
from serai.host.surroundings.files import ADDITIONAL_DIRECTORIES, directory_of

if TYPE_CHECKING:
    from serai.harness.acp.harness import AcpHarness

_log = logging.getLogger(__name__)

_RELAY_SERVER = "serai"
"""Name of the MCP server with the relay's tools. A chosen server of the same name replaces it."""
_STEERING_METHOD = "_session/steering"
"""An extension of ACP that several agents share: a message for the turn that runs."""


class AgentProcess(Agent):
    """A running agent, with the client that answers it."""

    client: HostClient
    work: RunningPrompt | None = None
    """The turn that the items belong to, as far as they were taken. It begins with a mark."""
    following: asyncio.Task[None] | None = None

    async def close(self) -> None:
        """End the agent's process, and the task that follows it."""
        await super().close()
        if self.following is not None:
            await asyncio.gather(self.following, return_exceptions=True)


OpenAgent: TypeAlias = Opened[AgentProcess]
"""A running agent with its session open."""


class AcpAgentSession(c.BasicSession):
    """An agent over ACP, in one session of the host."""

    def __init__(self, harness: AcpHarness, context: HostContext, record: AgentRecord) -> None:
        super().__init__(context.identity, harness.declared(Handshake.read(record.handshake)))
        self.harness = harness
        self._label = harness.found.label
        self._context = context
        self.seat = context.seat
        self.folder = directory_of(context.seat.working_directory) or Path.home()
        self._record = record
        self.notices = Notices(self._label, self.seat, record, context.logger)
        self.settings = SessionSettings(harness, self.seat, self.notices.warn)
        self._link = Link(self._start_agent, self._open_in, name=harness.name, opened=self._settle)
        self._was_refused = False
        """True if the running agent has said that a person must sign in."""
        self._must_renew = False
        self.work: RunningPrompt | None = None
        """The turn that runs."""
        self.shown_terminals: dict[str, ToolResultContent] = {}
        """The content that tool calls show for the agent's terminals, by its ids for them."""
        self._free = asyncio.Event()
        self._free.set()
        self._caught_up = asyncio.Event()
        self._caught_up.set()
        self._taken: tuple[str, asyncio.Future[c.MessageReceipt]] | None = None
        """The last delivery, and its receipt."""
        self._tasks: set[asyncio.Task[Any]] = set()
        self._released = False

    # -- for the host --------------------------------------------------------------------------------------

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:
        """Prompt the agent. The receipt comes with the evidence: its first update, or its answer.

        A repeated delivery returns the same receipt without a prompt.
        """
        if self._taken is None or self._taken[0] != context.id:
            turn = self._context.turn(context.id)
            work = RunningPrompt(self, turn, user_message(message), context.id)
            self._taken = context.id, work.receipt
            turn.run(self._answer(work))
            if turn.task is not None:
                turn.task.add_done_callback(lambda _: None if work.sent else work.undelivered("cancelled"))
        return await asyncio.shield(self._taken[1])

    async def release(self, reason: str | None = None) -> None:  # noqa: ARG002 - the host tells of it
        """End the agent's process. The agent keeps its own session, to be opened another time."""
        if self._released:
            return
        self._released = True
        self.harness.forget(self._context.session, self)
        await self._link.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def resume(self) -> None:
        """Start the agent and open its session, if they are not running."""
        await self._link.get(self._wish)

    async def wake(self) -> None:
        """Start the agent for a turn that is about to begin. It never fails: the turn reports the error."""
        with contextlib.suppress(SeraiError):
            await self.resume()

    async def fork(self) -> c.AgentSession:
        """Begin another session of the host that continues from here."""
        c.require(self.capabilities, c.LifecycleOperation.FORK, agent=self.identity.name)
        return await self.seat.fork()

    def renew(self) -> None:
        """Restart an agent that has refused: someone has signed in, which it may not notice."""
        self._must_renew = self._was_refused

    def refusal(self, action: a.StateAction) -> Judgement | None:
        """Return why the running agent cannot do what a client's action asks for."""
        opened = self._link.last
        match action:
            case a.SessionPendingMessageSetAction(kind=PendingMessageKind.STEERING):
                if self.work is None or not c.supports(self.capabilities, c.DeliveryMode.NEXT_TOOL_CALL):
                    return rejected(
                        "capability_unsupported", f"{self._label} takes no messages in the middle of a turn"
                    )
            case a.SessionConfigChangedAction() if opened is not None:
                if problem := self.settings.problem_with(opened.session, action.config):
                    return rejected("bad_config", f"{self._label} {problem}")
            case a.SessionModelChangedAction() if opened is not None:
                if problem := self.settings.problem_with(opened.session, {MODEL: action.model.id}):
                    return rejected("bad_model", f"{self._label} {problem}")
            case _:
                pass
        return None

    def happened(self, action: a.StateAction) -> None:
        """Pass a client's change on to the agent, if it runs."""
        match action:
            case a.SessionConfigChangedAction() | a.SessionModelChangedAction():
                if opened := self._link.running:  # otherwise when it is opened next
                    self._run(self.settings.choose(opened.session))
            case a.SessionPendingMessageSetAction(kind=PendingMessageKind.STEERING):
                self._run(self._steer(action))
            case a.SessionTitleChangedAction():
                self.notices.is_renamed = True
            case _:
                pass

    # -- for the agent's questions -------------------------------------------------------------------------

    async def caught_up(self) -> None:
        """Wait until all earlier items have been handled."""
        while not self._caught_up.is_set():
            await self._caught_up.wait()

    # -- turns ---------------------------------------------------------------------------------------------

    async def _answer(self, work: RunningPrompt) -> None:
        try:
            await self._prompt(work)
        except AgentError as error:
            if isinstance(error, AuthRequired):
                self.notices.needs_sign_in(error)
                if work.sent:
                    self._was_refused = True
                    await self.harness.login.refused(LoginStage.PROMPT)
            raise
        finally:
            if not work.sent:
                await self.notices.tell(work.turn)

    async def _prompt(self, work: RunningPrompt) -> None:
        turn = work.turn
        await self._free.wait()  # after a cancelled turn the agent may still be busy, or be ended
        try:
            opened = await self._link.get(self._wish)
        except AgentError as error:
            if self._record.session_id is not None:
                what = "could not be started again, and its session not be opened"
                self.notices.warn(f"{self._label} {what}: {error.message}.")
            raise
        process, session = opened.agent, opened.session
        await self.settings.choose(session)
        await self.notices.tell(turn)
        blocks, unknown = blocks_of(work.message)
        turns = self.seat.turns
        if self._record.is_untold and turns and fit_prompt(blocks, process.capabilities)[0]:
            conversation = retold(turns)
            blocks.append(text_block(conversation))
            if LEFT_OUT in conversation:
                self.notices.warn(
                    f"The conversation is long: {self._label} is given only the last of its text."
                )
        if unknown:
            what = f"these attachments — dropped: {', '.join(unknown)}"
            self.notices.warn(f'Agent "{self._label}" cannot be given {what}.')
        self.work = work
        self._free.clear()
        try:
            prompt = session.prompt(blocks)
        except BaseException:
            self.work = None
            self._free.set()
            raise
        session.mark(work)  # nothing of the agent can have come in between
        work.sent = True
        self._store("prompted", turn=turn.id)
        try:
            await work.done
        except asyncio.CancelledError:
            prompt.cancel()
            raise
        self._was_refused = False
        await self.harness.login.accepted(LoginStage.PROMPT)

    async def _steer(self, action: a.SessionPendingMessageSetAction) -> None:
        """Bring a message into the running turn. If the agent does not take it, it becomes the next one."""
        waiting = self.seat.steering
        if waiting is None or waiting.id != action.id:
            return  # it was replaced or taken back before it could be sent
        opened, turn = self._link.running, self.work.turn if self.work is not None else None
        if opened is not None and turn is not None and turn.is_running:
            blocks, unknown = blocks_of(action.user_message)
            kept, dropped = fit_prompt(blocks, opened.agent.capabilities)
            meta = {"steering": {"idleBehavior": "promptRequired"}}
            params = {"sessionId": opened.session.id, "prompt": kept, "_meta": meta}
            try:
                answer = await opened.agent.request(_STEERING_METHOD, params) if kept else None
            except AgentError as error:
                what = "did not take the message in this turn"
                self.notices.warn(f'Agent "{self._label}" {what}: {error.message}.')
            else:
                if object_of(answer).get("outcome") == "injected":
                    self.seat.take_steering(waiting, "the answer to the steering request")
                    if left_out := (*dropped, *unknown):
                        what = f"these parts — dropped: {', '.join(left_out)}"
                        await turn.notice(f'Agent "{self._label}" does not take {what}.')
                    return
        self.seat.queue_steering(waiting, "steering")

    # -- the agent's session -------------------------------------------------------------------------------

    async def _wish(self, running: OpenAgent | None) -> Wanted | None:
        turns = [turn.id for turn in self.seat.turns]
        taken_back = self._record.knows_too_much(turns)
        if running is not None and not taken_back and not self._must_renew:
            return None
        self._was_refused = self._must_renew = False
        session_id, fork, anew = self._record.session_id, False, None
        source = self.seat.forked_from
        if session_id is None and source is not None:
            theirs = read_records(await self.seat.records(source.session))
            session_id, fork = theirs.session_id, True
            if session_id is None:
                anew = "nothing is known of the session that it was forked from"
            elif theirs.knows_too_much(turns):
                anew = "agents cannot fork their sessions before the last turn"
            else:
                self._record.turn = theirs.turn
                self._record.is_untold = theirs.is_untold
        elif session_id is None and turns:
            anew = "its own session is not known any more"
        elif taken_back:
            anew = "agents cannot take back what was said in theirs"
        return Wanted(session_id, fork, anew, self.harness.found.definition.loads)

    async def _start_agent(self) -> AgentProcess:
        model = self.seat.model
        launch = self.harness.found.launching(
            model=model.id if model and self.harness.chooses_model_at_start else None,
            with_mcp=bool(await self._mcp_servers()),
        )
        return await AgentProcess.start(
            replace(launch, cwd=self.folder),
            self.seat.processes,
            client=HostClient(self),
            mask=self.seat.mask,
            warn=self.notices.warn,
            on_stderr=lambda line: _log.debug("%s: %s", self.harness.name, line),
            **self.harness.timeouts,
        )

    async def _open_in(self, process: AgentProcess, way: OpenWay, session_id: str | None) -> AcpSession:
        directories = texts_of(self.seat.settings.get(ADDITIONAL_DIRECTORIES))
        opening = SessionOpening(
            mcp_servers=await self._mcp_servers(process.capabilities),
            additional_directories=[directory_of(each) or Path(each) for each in directories],
        )
        return await self.harness.login.through(
            process, lambda agent: agent.open_session(self.folder, way, session_id, **opening)
        )

    async def _mcp_servers(
        self, capabilities: AgentCapabilities | None = None
    ) -> list[McpServer | Mapping[str, Any]]:
        """Return the chosen servers, and the relay's tools in the form that the agent can reach."""
        chosen: list[McpServer | Mapping[str, Any]] = list(self.seat.settings.get(MCP_SERVERS) or ())
        access = await self.seat.relay_access()
        if access is None or any(read_server(one).name == _RELAY_SERVER for one in chosen):
            return chosen
        if capabilities is not None and capabilities.mcp.http:
            headers = {"Authorization": f"Bearer {access.token}"}
            return [*chosen, HttpServer(name=_RELAY_SERVER, url=access.url, headers=headers)]
        env = {"SERAI_URL": access.url, "SERAI_TOKEN": access.token}
        args = ("-m", "serai", "mcp")
        return [*chosen, StdioServer(name=_RELAY_SERVER, command=sys.executable, args=args, env=env)]

    async def _settle(self, opened: OpenAgent) -> None:
        """Store the session's id, tell people, and apply the chosen settings."""
        process, session, way, reason = opened.agent, opened.session, opened.way, opened.reason
        turns = self.seat.turns
        if self._record.is_untold and turns and way.knows_past:
            way = OpenWay.RECREATED
            reason = "the one that was made for it before was not told of the conversation"
        self.seat.forked_from = None
        raw = dict(process.handshake.raw)
        anew = way is OpenWay.RECREATED
        self._store("opened", sessionId=session.id, handshake=raw, anew=anew)
        if way is OpenWay.FORKED and self._record.turn is not None:
            self._store("prompted", turn=self._record.turn)
        self.notices.opened(process, session, way, reason, retold=anew and bool(turns))
        self.settings.adopt(session)
        self.capabilities = self.harness.declared(process.handshake)
        process.following = asyncio.create_task(self._follow(opened))
        await self.settings.choose(session)

    def _store(self, kind: str, **what: Any) -> None:
        """Store a record of the agent's own session, without secrets."""
        self._record.take({"type": kind, **what})
        self.seat.record({"type": kind, **(what if kind == "prompted" else self.seat.masked(what))})

    # -- the agent's items ---------------------------------------------------------------------------------

    async def _follow(self, opened: OpenAgent) -> None:
        """Take the session's items, one after the other. The agent waits when the disk does."""
        process, session = opened.agent, opened.session
        try:
            async for item in session.updates():
                if process.work is not None and process.work.takes(item):
                    continue
                self._caught_up.clear()
                try:
                    await self._take(opened, item)
                except Exception as error:  # noqa: BLE001 - the turn must not wait for ever
                    _log.exception("an item of an agent was not handled")
                    if process.work is not None:
                        await process.work.fail(error, answered=True)
                        session.cancel()
                self._caught_up.set()
        finally:
            self._caught_up.set()
            if self._link.last in (opened, None):
                self.work = None
                self._free.set()
            await process.client.close()

    async def _take(self, opened: OpenAgent, item: Item) -> None:
        process = opened.agent
        work = process.work
        match item:
            case Finished():
                self._ended(opened)
                if work is not None:
                    await work.finish(item, cancelled=not work.turn.is_running)
            case PromptFailure(error=error):
                await self._failed(opened, error)
            case Mark(what=RunningPrompt() as begun):
                process.work = begun
                if begun.turn.is_running:
                    await self.notices.tell(begun.turn)
            case _ if work is not None:
                self._keep(opened.session, item)
                await work.take(item)
            case acp.AgentMessageChunk(text=str(text)) | acp.AgentThoughtChunk(text=str(text)):
                self.notices.overheard(text)
            case _:
                self._keep(opened.session, item)

    async def _failed(self, opened: OpenAgent, error: AgentError) -> None:
        work = opened.agent.work
        if isinstance(error, CancelIgnored):
            self.notices.warn(f"{self._label} did not stop when it was told to, and was ended.")
        self._ended(opened)
        if isinstance(error, AgentInactive | CancelIgnored):
            self._run(self._link.drop(opened))  # it may still be busy with the old prompt
        if work is not None:
            await work.fail(error, answered=error.number is not None)

    def _ended(self, opened: OpenAgent) -> None:
        opened.agent.work = self.work = None
        self._free.set()

    def _keep(self, session: AcpSession, update: Item) -> None:
        """Publish what belongs to the session and not to a turn."""
        match update:
            case acp.AvailableCommandsUpdate():
                self.notices.show_commands(session)
            case acp.ConfigOptionUpdate() | acp.CurrentModeUpdate():
                self.settings.show(session)
            case acp.SessionInfoUpdate(title=str(title)):
                self.notices.entitle(title)
            case _:
                pass

    # -- tasks --------------------------------------------------------------------------------------------

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        """Run something in the background. Releasing the session ends it."""

        async def guarded() -> None:
            with contextlib.suppress(SeraiError):
                await work

        if self._released:
            work.close()
            return
        self._tasks.add(task := asyncio.create_task(guarded()))
        task.add_done_callback(self._tasks.discard)
