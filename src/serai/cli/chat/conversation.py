"""One conversation on a terminal: its input, its events, and the reactions to them."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import uuid
from collections.abc import Awaitable, Callable, Coroutine
from functools import partial
from typing import Any

from serai.ahp import actions as a
from serai.ahp.channels import is_run
from serai.ahp.extensions import LOGIN
from serai.ahp.types import PendingMessage, TurnState
from serai.cli.chat.completion import ChatCompletions
from serai.cli.chat.questions import ChatQuestions, Decision, Question
from serai.cli.chat.view import TurnView, diff_of, one_line, output_elsewhere, turn_lines, why_held
from serai.cli.console.output import json_text
from serai.cli.console.signin import sign_in
from serai.cli.console.terminal import PlainTerminal, signals
from serai.client import (
    Client,
    ClientEvent,
    Connected,
    Disconnected,
    QuestionAsked,
    QuestionClosed,
    SessionClient,
    SignInNeeded,
    ToolFinished,
    ToolWaiting,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    TurnStream,
)
from serai.client.events import ClosableQueue
from serai.errors import AuthRequired, SeraiError

_PATIENCE = 2.0
"""Seconds that leaving waits for requests to the host."""

_USAGE = {
    "/cancel": "stop the running turn (Ctrl-C does it, too)",
    "/queue TEXT": "leave a message for after the turn, also while something is asked",
    "/steer TEXT": "leave a message that reaches the running turn",
    "/go": "send the messages that are held",
    "/drop NUMBER": "take back a message that waits",
    "/title TEXT": "give the session a title",
    "/signin": "sign in to the agent, in a terminal of the host",
    "/quit": "leave; the session stays, and so does a running turn",
    "/help": "tell all this",
    "//TEXT": "send a message that begins with a slash",
}
_HELP = """\
Write a message, and the agent answers. While it works, the next one waits for its end.
Lines that are pasted together are one message. Tab completes @files and /commands.
""" + "\n".join(f"  {usage:<14} {about}" for usage, about in _USAGE.items())

_COMMANDS = {usage.split()[0]: about for usage, about in _USAGE.items() if not usage.startswith("//")}

_QUEUED = "(queued: it follows this turn; /drop takes it back)"
_NOTHING_WAITS = "No message waits."


class Chat:
    """One conversation. All reactions to events happen in `run`, one after the other.

    With `once` it sends that message, or follows that turn, and ends with the answer. With `as_json` it
    prints events for a program.
    """

    def __init__(
        self,
        client: Client,
        session: SessionClient,
        terminal: PlainTerminal,
        *,
        once: str | TurnStream | None = None,
        as_json: bool = False,
    ) -> None:
        self._client = client
        self._session = session
        self._terminal = terminal
        self._once = once
        self._as_json = as_json
        self._has_person = terminal.is_interactive and not as_json
        self._view = TurnView(terminal)
        self._completions = ChatCompletions(client, session, _COMMANDS)
        terminal.suggest = self._completions.suggest
        self._questions = ChatQuestions(session, terminal, self._listen, self._decided)
        self._heard: ClosableQueue[Callable[[], None]] = ClosableQueue()  # reactions to events, in order
        self._tasks: set[asyncio.Task[None]] = set()
        self._errands: set[asyncio.Task[None]] = set()  # requests to the host
        self._reading: asyncio.Task[None] | None = None
        self._sign_in_dialog: asyncio.Task[bool] | None = None
        self._own_turns: set[str] = set()
        # The lines of a pipe are messages: their writer knew of no question.
        self._hears_questions = once is None and (terminal.is_interactive or as_json)
        self._is_busy = False
        self._no_more_lines = False
        self._interrupts = 0
        self._is_lost = False
        self._is_signing_in = False
        self._refused: str | None = None  # the message that needs a sign-in
        self._exit: int | None = None

    async def run(self) -> int:
        """Run the conversation. Returns the exit code.

        Raises:
            SeraiError: The session is gone, or the host for good.
        """
        stop = self._client.on_event(partial(self._later, self._connection))
        try:
            with signals({signal.SIGINT: self._interrupt}):
                self._begin()
                while self._exit is None:
                    (await anext(self._heard))()
                    if self._is_signing_in and self._exit is None:
                        await self._sign_in()
                if self._errands and self._client.is_connected and self._interrupts == 0:
                    await asyncio.wait(self._errands, timeout=_PATIENCE)
        finally:
            stop()
            tasks = [*self._tasks, *self._errands]
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        return self._exit

    def _begin(self) -> None:
        self._is_busy = self._once is not None or self._session.active_turn_id is not None
        if self._once is None and not self._as_json:
            self._greet()
            if not self._is_busy:
                self._tell_held(why_held(self._session.state))
        _spawn(self._follow_turns(), self._tasks)
        if self._hears_questions:
            _spawn(self._follow_questions(), self._tasks)
        if self._terminal.is_interactive:
            self._want_line()
        self._show_prompt()

    def _greet(self) -> None:
        """Show the agent, the session and the last turn."""
        state = self._session.state
        agent, title = state.summary.provider, state.summary.title
        named = f"{agent} {title!r}" if title else agent
        self._terminal.note(f"{named} ({self._session.id}). /help tells more.")
        if not state.turns and state.active_turn is None and self._client.root:
            for one in self._client.root.agents:
                if one.provider == agent and one.description:
                    self._terminal.note(one.description)
        if LOGIN in (state.meta or {}):
            self._terminal.note("(nobody is signed in to the agent: /signin does it)")
        if state.turns:
            last = "\n".join(turn_lines(state.turns[-1]))
            self._terminal.note(f"(turns so far: {len(state.turns)}; the last one:)\n{last}")

    # -- input and events ----------------------------------------------------------------------------------

    def _later(self, do: Callable[..., None], *about: Any) -> None:
        self._heard.put(partial(do, *about))

    async def _follow_turns(self) -> None:
        try:
            if self._once is not None:
                once = self._once
                await self._follow_turn(await self._session.prompt(once) if isinstance(once, str) else once)
                return
            async with contextlib.aclosing(self._session.turns()) as turns:
                async for turn in turns:
                    await self._follow_turn(turn)
        except SeraiError as error:
            self._later(self._give_up, error)

    async def _follow_turn(self, turn: TurnStream) -> None:
        async for event in turn:
            diff = ""
            if isinstance(event, ToolFinished) and not self._as_json:
                self._later(self._view.finish, event.call, await output_elsewhere(self._client, event.call))
            elif isinstance(event, ToolWaiting) and not self._as_json:
                diff = await diff_of(self._client, event.call)
            self._later(self._happened, event, diff)

    async def _follow_questions(self) -> None:
        with contextlib.suppress(SeraiError):  # the task that follows the turns reports it
            async with contextlib.aclosing(self._session.questions()) as questions:
                async for event in questions:
                    self._later(self._asked, event)

    def _want_line(self) -> None:
        """Read one line, unless a line is being read already."""
        if self._reading is None and not self._no_more_lines:
            self._reading = _spawn(self._read_line(), self._tasks)

    async def _read_line(self) -> None:
        self._later(self._written, await anext(self._terminal.lines, None))

    def _do(self, work: Awaitable[Any], note: str | None = None, question: Question | None = None) -> None:
        """Send a request to the host without waiting for it: Ctrl-C has to work meanwhile.

        Args:
            work: The request.
            note: A note for when it is done.
            question: The question that it answers.
        """

        async def run() -> None:
            try:
                await work
            except SeraiError as error:
                self._later(self._failed, error, question)
            else:
                if note is not None:
                    self._tell(note)

        _spawn(run(), self._errands)

    # -- the person ----------------------------------------------------------------------------------------

    def _written(self, text: str | None) -> None:
        self._interrupts = 0
        self._reading = None
        if text is None:
            self._no_more_lines = True
            if self._is_busy and self._questions:  # others may still answer
                self._questions.answer(None)
                self._show_prompt()
            elif self._terminal.is_interactive or not self._is_busy:
                self._leave()
            return
        self._terminal.typed()
        if self._terminal.is_interactive:
            self._want_line()  # a person may write at any time
        self._line(text.strip("\n"))

    def _line(self, text: str) -> None:
        command = next(iter(text.split(None, 1)), "")
        message = text[1:] if text.startswith("//") else text
        if command in _COMMANDS:
            self._command(command, text.strip().removeprefix(command).strip())
        elif self._questions:
            self._questions.answer(text)
            self._show_prompt()
        elif command.startswith("/") and not command.startswith("//"):
            self._do(self._pass_on(command, message))
        elif not command:
            self._show_prompt()
        else:
            self._send(message)

    def _command(self, command: str, rest: str) -> None:
        match command:
            case "/quit":
                self._leave()
            case "/signin":
                self._is_signing_in = True
            case "/help":
                self._tell(_HELP)
            case "/cancel":
                self._cancel()
                self._show_prompt()
            case "/go":
                self._go_on()
            case "/drop":
                self._drop(rest)
            case _ if not rest:
                self._tell(f"{command} needs a text after it.")
            case "/queue":
                self._send(rest)
            case "/steer":
                when = "the turn's next step" if self._is_busy else "the next turn"
                steered = self._session.steer(rest, attachments=self._completions.attachments(rest))
                self._do(steered, f"It waits for {when}.")
            case _:
                self._do(self._session.set_title(rest), "The session has a new title.")

    async def _pass_on(self, command: str, text: str) -> None:
        """Send a command that is not the chat's own, if the host or the agent has it."""
        if await self._completions.has(command):
            self._later(self._send, text)
        else:
            self._tell(f"There is no command {command}. /help lists those that there are.")

    def _send(self, text: str) -> None:
        """Send a message, now or after the running turn."""
        attachments = self._completions.attachments(text)
        if self._is_busy:
            self._do(self._session.queue(text, attachments=attachments), _QUEUED)
            return
        self._is_busy = True
        turn_id = str(uuid.uuid4())
        self._own_turns.add(turn_id)
        self._do(self._session.begin_turn(text, attachments=attachments, turn_id=turn_id))

    def _interrupt(self) -> None:
        if self._sign_in_dialog is not None:
            self._sign_in_dialog.cancel()
        else:
            self._later(self._interrupted)

    def _interrupted(self) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._leave()
        elif self._is_busy:
            self._terminal.note("(stopping the turn; Ctrl-C again leaves)", aside=True)
            self._cancel()
        else:
            self._tell("(Ctrl-C again leaves, and so does /quit)")

    def _cancel(self) -> None:
        turn = self._session.state.active_turn  # also one that the host has not confirmed yet
        if turn is None:
            self._terminal.note("No turn is running.")
        else:
            self._questions.clear()  # its questions need no answer any more
            self._do(self._session.dispatch(a.SessionTurnCancelledAction(turn_id=turn.id)))

    def _leave(self) -> None:
        live = self._session.live
        if live is not None and live.turn is not None:
            self._terminal.note(f"The turn goes on on the host. Come back with: {self._way_back}")
        elif live is not None and live.head.turns and self._has_person:
            self._terminal.note(f"Come back with: {self._way_back}")
        else:
            self._terminal.new_line()
        self._exit = 0 if self._once is None else 1

    @property
    def _way_back(self) -> str:
        command = "workflow run --resume" if is_run(self._session.uri) else "chat"
        return f"serai {command} {self._session.id}"

    # -- queued messages -----------------------------------------------------------------------------------

    @property
    def _waiting(self) -> list[PendingMessage]:
        live = self._session.live
        return (live.head.queued_messages if live is not None else None) or []

    def _tell_held(self, why: str | None) -> None:
        """List the messages that are held, with the reason."""
        if why is not None and self._waiting:
            how = "/go sends them, /drop NUMBER takes one back, or write on and they follow"
            self._terminal.note(f"(held, since {why}: {how})\n{self._listed()}")

    def _listed(self) -> str:
        texts = (one_line(message.user_message.text) for message in self._waiting)
        return "\n".join(f"  {place}  {text}" for place, text in enumerate(texts, start=1))

    def _go_on(self) -> None:
        """Send the first held message; the others follow it."""
        if not self._waiting:
            self._tell(_NOTHING_WAITS)
        elif self._is_busy:
            self._tell("A turn is running. What waits comes after it.")
        else:
            self._is_busy = True
            first = self._waiting[0]
            start = a.SessionTurnStartedAction(
                turn_id=str(uuid.uuid4()), user_message=first.user_message, queued_message_id=first.id
            )
            self._do(self._session.dispatch(start))

    def _drop(self, number: str) -> None:
        places = {str(place): message for place, message in enumerate(self._waiting, start=1)}
        if not places:
            self._tell(_NOTHING_WAITS)
        elif message := places.get(number or "1" if len(places) == 1 else number):
            self._do(self._session.unqueue(message.id), "It is taken back.")
        else:
            self._tell(f"Which one? /drop NUMBER takes it back.\n{self._listed()}")

    # -- questions -----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Wait for the answer to a question, if there will be more lines."""
        if self._no_more_lines:
            self._questions.answer(None)
        else:
            self._want_line()

    def _decided(self, question: Question, decision: Decision) -> None:
        self._do(decision(self._session), question=question)

    def _asked(self, event: QuestionAsked | QuestionClosed) -> None:
        if self._as_json:
            self._print(event)
        was_asked = bool(self._questions)
        self._questions.update(event)
        if was_asked:
            self._show_prompt()

    # -- the turn ------------------------------------------------------------------------------------------

    def _happened(self, event: TurnEvent, diff: str) -> None:
        if self._hears_questions and isinstance(event, QuestionAsked | QuestionClosed):
            return  # they are heard apart from the turn, since they also come without one
        if self._as_json:
            self._print(event)
        else:
            self._view.show(event)
        match event:
            case TurnStarted(turn_id=turn_id, message=message):
                self._is_busy = True
                if self._once is None and not self._as_json and turn_id not in self._own_turns:
                    self._terminal.note(f"> {message.text}")  # someone else's, or one from the queue
            case TurnEnded():
                self._ended(event)
            case _:
                self._questions.update(event, diff)

    def _ended(self, event: TurnEnded) -> None:
        self._interrupts = 0
        self._questions.settle()
        if self._once is not None:
            self._terminal.new_line()
            self._exit = 0 if event.state == TurnState.COMPLETE else 1
            return
        live = self._session.live
        goes_on = event.state == TurnState.COMPLETE and self._waiting
        self._is_busy = bool(goes_on) or (live is not None and live.turn is not None)
        if not self._is_busy:
            if event.error is not None and event.error.error_type == AuthRequired.code:
                self._offer_sign_in()
            if not self._as_json:
                self._tell_held("the turn was cancelled" if event.error is None else "the turn failed")
        self._show_prompt()

    # -- signing in ----------------------------------------------------------------------------------------

    def _offer_sign_in(self) -> None:
        """Offer a sign-in to the person who sent the refused message."""
        last = self._session.state.turns[-1]
        if self._has_person and last.id in self._own_turns:
            self._is_signing_in, self._refused = True, last.user_message.text

    async def _sign_in(self) -> None:
        """Run the sign-in, and send the refused message again. Ctrl-C stops it."""
        agent = self._session.state.summary.provider
        text, self._refused = self._refused, None
        if self._reading is not None:
            self._reading.cancel()  # the input belongs to the dialog
            self._reading = None
        dialog = sign_in(self._client, self._terminal, agent, offer=text is not None)
        self._sign_in_dialog = work = asyncio.create_task(dialog)
        try:
            await asyncio.wait({work})
        finally:
            self._sign_in_dialog = None
            work.cancel()
        self._is_signing_in = False
        if self._terminal.is_interactive:
            self._want_line()
        if text is not None and not work.cancelled() and work.result() and not self._is_busy:
            self._terminal.note(f"> {text}")
            self._send(text)
        else:
            self._show_prompt()

    # -- the rest ------------------------------------------------------------------------------------------

    def _connection(self, event: ClientEvent) -> None:
        match event:
            case Connected() | Disconnected() if self._as_json:
                self._print(event)
            case Connected():
                self._is_lost = False
                self._tell("(connected again)")
            case Disconnected(reason=reason, retry_in=float()) if not self._is_lost:
                self._is_lost = True  # one line, however many tries it takes
                self._terminal.note(f"(connection lost: {reason}; trying again)")
            case SignInNeeded(resource=resource):
                self._terminal.note(f"(a sign-in is needed: {resource})")
            case _:
                pass  # an event of another session

    def _give_up(self, error: SeraiError) -> None:
        raise error

    def _failed(self, error: SeraiError, question: Question | None) -> None:
        if self._session.live is None or self._client.failure is not None:
            raise error
        self._terminal.note(str(error))
        if question is not None:
            self._questions.ask_again(question)
        else:
            self._is_busy = self._session.active_turn_id is not None
        self._show_prompt()

    def _tell(self, text: str) -> None:
        """Write a note for the person, above the agent's text."""
        self._terminal.note(text, aside=True)
        self._show_prompt()

    def _print(self, event: TurnEvent | ClientEvent) -> None:
        self._terminal.raw(json_text(event))

    def _show_prompt(self) -> None:
        """Show the prompt, if the agent is done and no question is open."""
        if self._questions:
            self._want_line()
        if self._is_busy or self._questions or self._is_signing_in or self._exit is not None:
            return
        if self._no_more_lines:
            self._leave()
        elif self._once is None:
            self._want_line()
            if self._has_person:
                self._terminal.prompt()


def _spawn(work: Coroutine[Any, Any, None], tasks: set[asyncio.Task[None]]) -> asyncio.Task[None]:
    task = asyncio.create_task(work)
    tasks.add(task)
    task.add_done_callback(tasks.discard)
    return task
