"""A running turn, as the agent sees it: where it says, thinks, does and asks.

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
from collections.abc import Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serai.ahp import actions as a
from serai.ahp import wire
from serai.ahp.commands import ContentEncoding, ResourceReadResult, ResourceWriteParams
from serai.ahp.types import (
    ROOT,
    ConfirmationOption,
    ContentRef,
    FileEdit,
    FreeForm,
    MarkdownResponsePart,
    ModelSelection,
    ReasoningResponsePart,
    ResourceResponsePart,
    SessionActiveClient,
    SessionInputRequest,
    StringOrMarkdown,
    SystemNotificationResponsePart,
    TerminalSessionClaim,
    UsageInfo,
    UserMessage,
)
from serai.customizations import Definition
from serai.errors import SessionGone
from serai.host.content import BLOB_SCHEME
from serai.host.delegation import Subagent, delegate
from serai.host.expecting import Answers
from serai.host.tool_call import ToolCall
from serai.machine.files import path_of
from serai.machine.files import write as write_file
from serai.store.contract import BlobRow

if TYPE_CHECKING:
    from serai.host.changes.edit import Edit
    from serai.host.session import Session
    from serai.host.surroundings.terminals import HostTerminal

__all__ = ["GRANTS", "Answers", "Turn"]

GRANTS = "serai.grants"
"""In a session's `_meta`: the tools that may run without asking again. Only the host writes it."""


class Turn:
    """The agent's side of a running turn."""

    message: UserMessage
    """What the turn answers. The harness takes it from the message that it was handed, and sets it."""

    def __init__(self, session: Session, turn_id: str) -> None:
        self._session = session
        self.id = turn_id
        self._terminals: list[HostTerminal] = []
        self._part: tuple[type, str] | None = None
        self._parts = 0
        self._calls = 0
        self.begun: dict[str, ToolCall] = {}
        """The calls that run already while someone is asked whether they may."""
        self.task: asyncio.Task[None] | None = None

    def run(self, answer: Coroutine[Any, Any, None]) -> None:
        """Hand over the coroutine that answers the turn. The host owns it.

        When it returns the turn is complete; when it raises the turn has failed; when someone cancels the
        turn it is cancelled.
        """
        self.task = self._session.turns.own(self, answer)
        self.task.add_done_callback(lambda _task: self._leave(answer))

    def _leave(self, answer: Coroutine[Any, Any, None]) -> None:
        """The answer has ended, one way or another: leave nothing of it behind."""
        answer.close()  # a turn that is cancelled at once never began it
        if self._is_cancelled:
            self._session.end_terminals(self._terminals)

    # -- the session ---------------------------------------------------------------------------------------

    @property
    def settings(self) -> Mapping[str, Any]:
        """The session's settings as they are now; someone may change them while the turn runs."""
        config = self._session.live.head.config
        return config.values if config is not None else {}

    @property
    def model(self) -> ModelSelection | None:
        """The model that was chosen for the session. A choice during a turn holds from the next one on."""
        return self._session.live.head.summary.model

    @property
    def active_client(self) -> SessionActiveClient | None:
        """The client that lends its tools to the session now, and those tools."""
        return self._session.live.head.active_client

    async def definitions(self) -> tuple[Definition, ...]:
        """The agents, skills, prompts, rules, hooks and MCP servers that the session has now.

        Use those that are `enabled`, and run nothing of those that are not `runnable`.
        """
        return await self._session.customizations.definitions()

    def granted(self, tool: str) -> bool:
        """Whether someone has allowed a tool for the rest of the session."""
        return tool in self._grants()

    def grant(self, tool: str) -> None:
        """Remember, with the session, that a tool is allowed. Its calls are then `confirmed` by `setting`."""
        if not self.granted(tool):
            meta = {**(self._session.live.head.meta or {}), GRANTS: [*self._grants(), tool]}
            self._act(a.SessionMetaChangedAction(meta=meta))

    def _grants(self) -> list[str]:
        return (self._session.live.head.meta or {}).get(GRANTS, [])

    def keep(self, data: bytes, content_type: str) -> ContentRef:
        """Keep content beside the session, such as a file before and after an edit, and refer to it."""
        data = self._session.masked_bytes(data)
        digest = hashlib.sha256(data).hexdigest()
        self._session.journal.side.blobs.append(BlobRow(digest, content_type, data, self._session.uri))
        return ContentRef(uri=f"{BLOB_SCHEME}{digest}", size_hint=len(data), content_type=content_type)

    # -- files ---------------------------------------------------------------------------------------------

    @property
    def working_directory(self) -> str | None:
        """The session's folder, as a URI."""
        return self._session.live.head.summary.working_directory

    async def read(self, uri: str) -> ResourceReadResult:
        """Read a file: below the session's folders, or what a person has allowed it.

        Raises:
            ProtocolError: It is not there, may not be read, or is too large to be read at once.
        """
        return await self._session.seat.read(uri)

    async def write(self, uri: str, text: str) -> None:
        """Write a file as a whole: below the session's folder, or where a person has allowed it.

        Raises:
            ProtocolError: It may not be written, or cannot be.
        """
        roots = await self._session.host.files.for_session(self._session)
        params = ResourceWriteParams(channel=ROOT, uri=uri, data=text, encoding=ContentEncoding.UTF8.value)
        async with self.editing(path_of(uri)):
            await self._session.host.files.run(write_file, params, roots)

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
        """Add to the answer, or to the reasoning, at once. Who adds much waits for `room` now and then."""
        kind = ReasoningResponsePart if reasoning else MarkdownResponsePart
        if self._part is None or self._part[0] is not kind:
            self._parts += 1
            self._part = kind, f"{self.id}-part-{self._parts}"
            part = kind(id=self._part[1], content="")
            self._act(a.SessionResponsePartAction(turn_id=self.id, part=part))
        delta = a.SessionReasoningAction if reasoning else a.SessionDeltaAction
        self._act(delta(turn_id=self.id, part_id=self._part[1], content=text))

    async def room(self) -> None:
        """Wait while too much waits for the disk."""
        await self._session.journal.room()

    async def notice(self, content: StringOrMarkdown) -> None:
        """Tell both the agent and the person something that neither of them said."""
        self._part = None
        self._act(
            a.SessionResponsePartAction(turn_id=self.id, part=SystemNotificationResponsePart(content=content))
        )
        await self._session.journal.room()

    def apart(self) -> None:
        """What is said or thought next begins a part of its own."""
        self._part = None

    async def refer(self, content: ContentRef) -> None:
        """Add content that is kept elsewhere, such as a picture, to the answer."""
        self._part = None
        part = ResourceResponsePart(
            uri=content.uri, size_hint=content.size_hint, content_type=content.content_type
        )
        self._act(a.SessionResponsePartAction(turn_id=self.id, part=part))

    @property
    def is_running(self) -> bool:
        """Whether what is done here still counts: someone may have cancelled the turn."""
        return self._session.turns.is_running(self)

    async def used(self, usage: UsageInfo) -> None:
        """Report what the turn has used so far.

        Raises:
            Mismatch: A count is no number, or none that can be written.
        """
        usage = wire.decode(wire.encode(usage), UsageInfo)
        self._act(a.SessionUsageAction(turn_id=self.id, usage=usage))

    async def activity(self, text: str | None) -> None:
        """Say what the session is doing, in a few words; `None` for nothing."""
        self._act(a.SessionActivityChangedAction(activity=text))

    # -- asking --------------------------------------------------------------------------------------------

    async def ask(self, request: SessionInputRequest) -> Answers:
        """Ask the person something, and wait for the answer."""
        answer = self._session.expecting.expect(("input", request.id))
        self._act(a.SessionInputRequestedAction(request=request))
        return await answer

    def steering(self, evidence: str = "journal") -> UserMessage | None:
        """Take the message that someone wants to reach the agent now, if there is one.

        Args:
            evidence: How it is known that the agent has it: it stands in the receipt.
        """
        message = self._session.live.head.steering_message
        if message is None or not self._session.turns.is_running(self):
            return None
        self._session.turns.take_steering(message, evidence)
        return message.user_message

    async def delegate(self, provider: str, message: UserMessage, *, title: str) -> Subagent:
        """Begin a session for another agent. Show its `content` in a tool call, then wait for its `answer`.

        Raises:
            ProtocolError: There is no such agent.
            CapabilityUnsupported: Too many agents stand one above the other.
        """
        return await delegate(self._session, provider, message, title)

    # -- doing ---------------------------------------------------------------------------------------------

    async def tool(
        self,
        name: str,
        display_name: str,
        *,
        message: StringOrMarkdown,
        input: str | None = None,  # noqa: A002 - it is what a tool call has
        confirmed: str | None = None,
        title: StringOrMarkdown | None = None,
        options: list[ConfirmationOption] | None = None,
        editable: bool = False,
        edits: list[FileEdit] | None = None,
        client_id: str | None = None,
        meta: FreeForm | None = None,
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
        meta: FreeForm | None = None,
    ) -> ToolCall:
        """Begin a tool call whose input is still being written; `ToolCall.ready` ends that.

        Args:
            name: The tool.
            display_name: The tool, for people.
            call_id: The call's id, which no other call of the turn has; by default one is made.
            client_id: The client that runs the tool.
            meta: The call's `_meta`.
        """
        self._part = None
        self._calls += 1
        call = ToolCall(self._session, self, call_id or f"{self.id}-call-{self._calls}", name, None)
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

    def editing(self, *paths: str | Path, since: int | None = None) -> AbstractAsyncContextManager[Edit]:
        """Say which files a block is about to make, change or delete, so that it is seen what it did.

            async with turn.editing("notes.md"):
                ...

        In a git repository this does nothing: changes are seen there without it. It never fails.

        Args:
            paths: Absolute, or from the working directory. What is outside of that is not looked at.
            since: For what may have changed them already: when it was first heard of (`time.time_ns()`).
        """
        return self._session.changing.bases.editing(self.id, paths, since)

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
        host = self._session.host
        claim = TerminalSessionClaim(
            session=self._session.uri, turn_id=self.id, tool_call_id=call.id if call else None
        )
        uri = f"ahp-terminal:/{host.new_id()}"
        if not self._is_cancelled:
            terminal = await host.terminals.start(uri, claim, argv=argv, title=title, cwd=cwd, env=env)
            if not self._is_cancelled:
                self._terminals.append(terminal)
                return terminal
            await terminal.close()
        raise SessionGone(f"the turn {self.id!r} was cancelled")

    @property
    def _is_cancelled(self) -> bool:
        """Whether the answer was cancelled, and what it had started was ended."""
        return self.task is not None and self.task.cancelled()

    def _act(self, action: a.StateAction) -> None:
        self._session.act_in_turn(self, action)
