"""A running turn, as the agent sees it: the place where it answers, thinks, calls tools and asks.

    async def answer(turn):
        await turn.say("I will look.")
        call = await turn.tool("bash", "Run a command", input='{"command": "ls"}', message="ls")
        if call.approved:
            await call.done("Listed the files", text="README.md")

Each method lets the action happen and returns; `tool` and `ask` return when someone has answered. Cancelling
any of them is safe: the turn's end closes what is open.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any

from serai.ahp import actions as a, types as t, wire
from serai.contract import DeliveryRecord
from serai.errors import SessionGone
from serai.host.blobs import BLOB_SCHEME
from serai.host.session.core import SessionCore, SessionView, Subagent
from serai.host.session.questions import Answers, Questions
from serai.host.surroundings.terminals import HostTerminal, Terminals
from serai.host.tool_call import ToolCall
from serai.store.contract import BlobRow

__all__ = ["GRANTS", "Answers", "Subagent", "Turn"]

GRANTS = "serai.grants"
"""Name, in a session's `_meta`, of the tools that may run without asking again. Only the host writes it."""


class Turn(SessionView):
    """The agent's side of a running turn."""

    message: t.UserMessage
    """The message that the turn answers. The harness takes it from its delivery, and sets it."""

    def __init__(
        self,
        core: SessionCore,
        questions: Questions,
        terminals: Terminals,
        turn_id: str,
        delivery_id: str,
        *,
        own: Callable[[Turn, Coroutine[Any, Any, None]], asyncio.Task[None]],
        take_steering: Callable[[t.PendingMessage, str], None],
        parts: int = 0,
    ) -> None:
        super().__init__(core)
        self._questions = questions
        self._terminals = terminals
        self._own = own
        self._take_steering = take_steering
        self.id = turn_id
        self.delivery_id = delivery_id
        """The id of the delivery that began it."""
        self.handed: dict[str, DeliveryRecord] = {}
        """The deliveries that are on their way to the agent with it, and have no final receipt yet."""
        self.entered: list[DeliveryRecord] = []
        """The deliveries that it answers."""
        self.next_call = ""
        """The tool call that follows the steering message that is taken now."""
        self.is_running = True
        """True until the turn ends; afterwards nothing that is done here counts."""
        self.end: asyncio.Future[t.Turn] | None = None
        """The end of the turn, for the one who began it and waits."""
        self.task: asyncio.Task[None] | None = None
        self.begun: dict[str, ToolCall] = {}
        """The calls, by id, that run already while a person is asked about them."""
        self.definitions = core.definitions
        """Returns the customisations that the session has now. See `SessionCore.definitions`."""
        self.write = core.write
        """Writes a file as a whole. See `SessionCore.write`."""
        self.room = core.journal.room
        """Waits while too much waits for the disk."""
        self._started: list[HostTerminal] = []
        self._part: tuple[type, str] | None = None
        self._parts = parts
        self._calls = 0

    def run(self, answer: Coroutine[Any, Any, None]) -> None:
        """Hand over the coroutine that answers the turn. The host owns it.

        When it returns the turn is complete; when it raises the turn has failed; when someone cancels the
        turn it is cancelled.
        """
        self.task = self._own(self, answer)
        self.task.add_done_callback(lambda _task: self._leave(answer))

    def _leave(self, answer: Coroutine[Any, Any, None]) -> None:
        """Clean up after the answer, however it has ended."""
        answer.close()  # a turn that is cancelled at once never began it
        if self._is_cancelled:
            for terminal in self._started:
                self._core.spawn(terminal.close())

    # -- the session ---------------------------------------------------------------------------------------

    @property
    def asked(self) -> t.UserMessage:
        """The message that the turn answers, as the session's state has it."""
        running = self._core.live.snapshot().active_turn
        return running.user_message if running is not None else t.UserMessage(text="")

    def granted(self, tool: str) -> bool:
        """Tell whether someone has allowed a tool for the rest of the session."""
        return tool in self._grants()

    def grant(self, tool: str) -> None:
        """Remember, with the session, that a tool is allowed. Its calls are then `confirmed` by `setting`."""
        if not self.granted(tool) and self.is_running:
            self._core.note(GRANTS, [*self._grants(), tool])

    def _grants(self) -> list[str]:
        return self._core.noted(GRANTS) or []

    def keep(self, data: bytes, content_type: str) -> t.ContentRef:
        """Keep content beside the session, such as a file before and after an edit, and refer to it."""
        data = self._core.redactor.redact_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        self._core.journal.side.blobs.append(BlobRow(digest, content_type, data, self._core.uri))
        return t.ContentRef(uri=f"{BLOB_SCHEME}{digest}", size_hint=len(data), content_type=content_type)

    # -- saying --------------------------------------------------------------------------------------------

    async def say(self, text: str) -> None:
        """Add Markdown to the answer."""
        self.add(text)
        await self.room()

    async def think(self, text: str) -> None:
        """Add to the reasoning."""
        self.add(text, reasoning=True)
        await self.room()

    def add(self, text: str, *, reasoning: bool = False) -> None:
        """Add to the answer, or to the reasoning, at once. Between many additions, wait for `room`."""
        kind = t.ReasoningResponsePart if reasoning else t.MarkdownResponsePart
        if self._part is None or self._part[0] is not kind:
            self._parts += 1
            self._part = kind, f"{self.id}-part-{self._parts}"
            part = kind(id=self._part[1], content="")
            self._act(a.SessionResponsePartAction(turn_id=self.id, part=part))
        delta = a.SessionReasoningAction if reasoning else a.SessionDeltaAction
        self._act(delta(turn_id=self.id, part_id=self._part[1], content=text))

    async def notice(self, content: t.StringOrMarkdown) -> None:
        """Show both the agent and the person a notice of the system."""
        self._part = None
        self._act(
            a.SessionResponsePartAction(
                turn_id=self.id, part=t.SystemNotificationResponsePart(content=content)
            )
        )
        await self.room()

    def apart(self) -> None:
        """Begin a new part with the next text or thought."""
        self._part = None

    async def refer(self, content: t.ContentRef) -> None:
        """Add content that is kept elsewhere, such as a picture, to the answer."""
        self._part = None
        part = t.ResourceResponsePart(
            uri=content.uri, size_hint=content.size_hint, content_type=content.content_type
        )
        self._act(a.SessionResponsePartAction(turn_id=self.id, part=part))

    async def used(self, usage: t.UsageInfo) -> None:
        """Report the usage of the turn so far.

        Raises:
            Mismatch: A count is not a number that can be written.
        """
        usage = wire.decode(wire.encode(usage), t.UsageInfo)
        self._act(a.SessionUsageAction(turn_id=self.id, usage=usage))

    async def activity(self, text: str | None) -> None:
        """Show in a few words what the session is doing; `None` for nothing."""
        self._act(a.SessionActivityChangedAction(activity=text))

    # -- asking --------------------------------------------------------------------------------------------

    async def ask(self, request: t.SessionInputRequest) -> Answers:
        """Ask the person something, and wait for the answer. A question that is open is not asked again."""
        answer = self._questions.expect(("input", request.id))
        is_open = any(one.id == request.id for one in self._core.live.head.input_requests or ())
        if not is_open and not answer.done():
            self._act(a.SessionInputRequestedAction(request=request))
        return await answer

    def steering(
        self, evidence: str = "journal", *, before_call: bool | str = False, of_relay: bool = True
    ) -> t.UserMessage | None:
        """Take the message that someone wants to reach the agent now, if there is one.

        Args:
            evidence: The evidence that the agent has it, for the receipt.
            before_call: Whether a tool call comes next, or its id: the receipt then names it.
            of_relay: Whether messages of the relay are taken, too. They wait for a tool call, or for idle.
        """
        message = self._core.live.head.steering_message
        if message is None or not self.is_running:
            return None
        if not of_relay and message.id.startswith("dlv_"):
            return None
        named = before_call if isinstance(before_call, str) else f"{self.id}-call-{self._calls + 1}"
        self.next_call = named if before_call else ""
        self._take_steering(message, evidence)
        return message.user_message

    async def delegate(self, provider: str, message: t.UserMessage, *, title: str) -> Subagent:
        """Begin a session for another agent. Show its `content` in a tool call, then wait for its `answer`.

        Raises:
            ProtocolError: There is no such agent.
            CapabilityUnsupported: Too many agents stand one above the other.
        """
        return await self._core.delegate(provider, message, title)

    # -- doing ---------------------------------------------------------------------------------------------

    async def tool(
        self,
        name: str,
        display_name: str,
        *,
        message: t.StringOrMarkdown,
        input: str | None = None,  # noqa: A002 - it is what a tool call has
        confirmed: str | None = None,
        title: t.StringOrMarkdown | None = None,
        options: list[t.ConfirmationOption] | None = None,
        editable: bool = False,
        edits: list[t.FileEdit] | None = None,
        client_id: str | None = None,
        meta: t.FreeForm | None = None,
    ) -> ToolCall:
        """Begin a tool call and wait until it may run, or may not.

        Args:
            name: The tool.
            display_name: The tool, for people.
            message: What the call is going to do.
            input: The tool's input, as JSON text.
            confirmed: Why nobody need be asked (`ToolCallConfirmationReason`); without it someone is asked.
            title: A short title for the question.
            options: Answers to choose from, instead of yes and no.
            editable: Whether the person may change the input.
            edits: The edits that the call is going to make, to look at.
            client_id: The client that runs the tool. `ToolCall.result` then waits for it.
            meta: The call's `_meta`.
        """
        call = self.begin_call(name, display_name, client_id=client_id, meta=meta)
        if input:
            call.grow(input)
        await call.ready(
            message=message,
            confirmed=confirmed,
            title=title,
            options=options,
            editable=editable,
            edits=edits,
        )
        return call

    def begin_call(
        self,
        name: str,
        display_name: str,
        *,
        call_id: str | None = None,
        client_id: str | None = None,
        meta: t.FreeForm | None = None,
    ) -> ToolCall:
        """Begin a tool call whose input is still being written; `ToolCall.ready` ends that.

        Args:
            name: The tool.
            display_name: The tool, for people.
            call_id: The call's id, which no other call of the turn has; by default one is made. Secrets in it
                are masked.
            client_id: The client that runs the tool.
            meta: The call's `_meta`.
        """
        self._part = None
        self._calls += 1
        call_id = self._core.redactor.redact(call_id) if call_id else f"{self.id}-call-{self._calls}"
        call = self._call(call_id, name)
        if client_id is not None:
            call.expect_result()
        self._act(
            a.SessionToolCallStartAction(
                turn_id=self.id,
                tool_call_id=call.id,
                tool_name=name,
                display_name=display_name,
                tool_client_id=client_id,
                meta=meta,
            )
        )
        return call

    def _call(self, call_id: str, name: str) -> ToolCall:
        return ToolCall(
            self.id,
            call_id,
            name,
            act=self._act,
            expect=self._questions.expect,
            begun=self.begun,
            patience=self._core.settings.client_tool_timeout_seconds,
        )

    async def found_call(self, call_id: str) -> ToolCall | None:
        """Find a call of a turn that the end of the host has interrupted; `None` when there is none.

        A call with an open question waits for its answer, as `ToolCall.ready` does.
        """
        turn = self._core.live.turn
        state = next(iter(turn.calls(call_id)), None) if turn is not None else None
        if state is None or isinstance(state, wire.UnknownStatus):
            return None
        call = self._call(call_id, state.tool_name)
        await call.rejoin(state)
        return call

    async def terminal(
        self,
        argv: Sequence[str],
        *,
        title: str | None = None,
        call: ToolCall | None = None,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
    ) -> HostTerminal:
        """Run a program in a terminal that anyone can follow. Show its `content` in a tool call.

        When the turn is cancelled the program is ended; otherwise it runs on, also after the turn.

        Args:
            argv: The program and its arguments.
            title: What people see.
            call: The tool call that it belongs to.
            cwd: Where it starts, as a URI; by default in the session's folder.
            env: Variables to add to the host's own.

        Raises:
            SessionGone: The turn was cancelled, before or meanwhile.
            SeraiError: The program cannot be started.
        """
        claim = t.TerminalSessionClaim(
            session=self._core.uri, turn_id=self.id, tool_call_id=call.id if call else None
        )
        if not self._is_cancelled:
            uri = f"ahp-terminal:/{self._core.new_id()}"
            terminal = await self._terminals.start(uri, claim, argv=argv, title=title, cwd=cwd, env=env)
            if not self._is_cancelled:
                self._started.append(terminal)
                return terminal
            await terminal.close()
        raise SessionGone(f"the turn {self.id!r} was cancelled")

    @property
    def _is_cancelled(self) -> bool:
        """True when the answer was cancelled."""
        return self.task is not None and self.task.cancelled()

    def _act(self, action: a.StateAction) -> None:
        """Let an action of the agent happen, unless its turn is over."""
        if self.is_running:
            self._core.act(action)
            if type(action) is a.SessionToolCallReadyAction:
                self._core.call_ready(action)
