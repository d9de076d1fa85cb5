"""What a chat hears: the session, the person, Ctrl-C, the connection; and what it asks of the host."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self, TypeAlias

from serai.cli.chat.calls import CallOutput, CallOutputs, SubagentEvent, Subagents
from serai.cli.chat.questions import Decided
from serai.cli.chat.queue import why_held
from serai.cli.console.terminal import PlainTerminal, interrupts
from serai.client import (
    Client,
    ClientEvent,
    QuestionAsked,
    QuestionClosed,
    SessionClient,
    TurnEvent,
    TurnStream,
)
from serai.client.events import Inbox
from serai.errors import SeraiError

__all__ = ["ChatInbox", "ErrandFailed", "Heard", "Interrupt", "Line", "QueueHeld", "SessionQuestion"]


@dataclass(frozen=True, slots=True)
class Line:
    """A line was typed; `None` when there will be no more."""

    text: str | None
    pasted: tuple[str, ...] = ()
    """Lines that came along with it."""


@dataclass(frozen=True, slots=True)
class ErrandFailed:
    """Something that was asked of the host went wrong."""

    error: SeraiError
    decided: Decided | None = None
    is_final: bool = False


@dataclass(frozen=True, slots=True)
class Interrupt:
    """Ctrl-C."""


@dataclass(frozen=True, slots=True)
class SessionQuestion:
    """Something is asked in the session, or no longer, whether or not a turn runs."""

    event: QuestionAsked | QuestionClosed


@dataclass(frozen=True, slots=True)
class QueueHeld:
    """Messages that wait do so until someone goes on."""


Heard: TypeAlias = (
    TurnEvent
    | ClientEvent
    | SubagentEvent
    | CallOutput
    | SessionQuestion
    | QueueHeld
    | Line
    | ErrandFailed
    | Interrupt
)


class ChatInbox:
    """Listens while it is entered, and keeps what comes until `get` takes it."""

    def __init__(
        self, client: Client, session: SessionClient, terminal: PlainTerminal, *, as_json: bool = False
    ) -> None:
        self._items: Inbox[Heard] = Inbox()
        self._client = client
        self._session = session
        self._terminal = terminal
        self._as_json = as_json
        self._outputs = CallOutputs(client, self._items.put)
        self._subagents = Subagents(client, self._items.put, frozenset({session.uri}))
        self._wants_line = asyncio.Event()
        self._is_line_wanted = False
        self._interrupted: Callable[[], object] = lambda: self._items.put(Interrupt())
        self._pumps: set[asyncio.Task[None]] = set()
        self._reader: asyncio.Task[None] | None = None
        self._errands: set[asyncio.Task[None]] = set()
        self._until = contextlib.ExitStack()

    async def __aenter__(self) -> Self:
        self._until.callback(self._client.on_event(self._items.put))
        self._until.enter_context(interrupts(self._on_interrupt))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._until.close()
        self._outputs.close()
        self._subagents.close()
        tasks = [*self._pumps, *self._errands]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _on_interrupt(self) -> None:
        self._interrupted()

    async def get(self) -> Heard:
        """The next thing that was heard."""
        return await self._items.get()

    # -- listening -----------------------------------------------------------------------------------------

    def listen(self, once: str | None) -> None:
        """Begin: with a message to send its turn is heard, else all turns; and the person in any case."""
        if once is None:
            _spawn(self._follow_turns(), self._pumps)
            _spawn(self._follow_queue(), self._pumps)
            # The lines of a pipe are messages: whoever wrote them knew of no question.
            if self._terminal.is_interactive or self._as_json:
                _spawn(self._follow_questions(), self._pumps)
        else:
            _spawn(self._follow_one_turn(once), self._pumps)
        self._reader = _spawn(self._read_lines(), self._pumps)

    def want_line(self) -> None:
        """Take one line of a pipe, and not a second one before that has come."""
        if not self._is_line_wanted:
            self._is_line_wanted = True
            self._wants_line.set()

    def has_line(self) -> None:
        """The line that was wanted was taken."""
        self._is_line_wanted = False

    @contextlib.contextmanager
    def lent(self, stop: Callable[[], object]) -> Generator[None]:
        """Leave what is typed to someone else, for the length of a block; Ctrl-C calls `stop` meanwhile."""
        if self._reader is not None:
            self._reader.cancel()
        interrupted, self._interrupted = self._interrupted, stop
        try:
            yield
        finally:
            self._interrupted = interrupted
            self._reader = _spawn(self._read_lines(), self._pumps)

    async def _follow_turns(self) -> None:
        try:
            async with contextlib.aclosing(self._session.turns()) as turns:
                async for turn in turns:
                    await self._hear(turn)
        except SeraiError as error:
            self._items.put(ErrandFailed(error, is_final=True))

    async def _follow_questions(self) -> None:
        with contextlib.suppress(SeraiError):  # who follows the turns says why
            async with contextlib.aclosing(self._session.questions()) as questions:
                async for event in questions:
                    self._items.put(SessionQuestion(event))

    async def _follow_queue(self) -> None:
        with contextlib.suppress(SeraiError):
            while True:
                await self._session.until(lambda state: why_held(state) is not None)
                self._items.put(QueueHeld())
                await self._session.until(lambda state: why_held(state) is None)

    async def _follow_one_turn(self, text: str) -> None:
        try:
            await self._hear(await self._session.prompt(text))
        except SeraiError as error:
            self._items.put(ErrandFailed(error, is_final=True))

    async def _hear(self, turn: TurnStream) -> None:
        async for event in turn:
            if not self._as_json:
                await self._outputs.before(event)
            self._subagents.heard(event)
            self._items.put(event)

    async def _read_lines(self) -> None:
        """A person may write at any time. From a pipe a line is taken when one is wanted, and not before."""
        while True:
            if not self._terminal.is_interactive:
                await self._wants_line.wait()
                self._wants_line.clear()
            text = await self._terminal.lines.read()
            is_typed = text is not None and self._terminal.is_interactive
            pasted = tuple(await self._terminal.lines.together()) if is_typed else ()
            self._items.put(Line(text, pasted))
            if text is None:
                return

    # -- asking --------------------------------------------------------------------------------------------

    def do(
        self,
        work: Coroutine[Any, Any, Any],
        done: Callable[[], None] | None = None,
        decided: Decided | None = None,
    ) -> None:
        """Ask something of the host without waiting for it: Ctrl-C has to work meanwhile.

        Args:
            work: What does it. What it raises is heard as `ErrandFailed`.
            done: Is called when it is done.
            decided: The decision that it tells the host.
        """

        async def run() -> None:
            try:
                await work
            except SeraiError as error:
                self._items.put(ErrandFailed(error, decided))
            else:
                if done is not None:
                    done()

        _spawn(run(), self._errands)

    async def finish(self, seconds: float) -> None:
        """Wait for what the host was asked, for so many seconds."""
        if self._errands:
            await asyncio.wait(self._errands, timeout=seconds)


def _spawn(work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task
