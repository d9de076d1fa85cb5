"""One conversation on a terminal: what comes in, and what is done about it."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Coroutine
from dataclasses import dataclass
from functools import partial
from typing import Any

from serai.ahp.extensions import LOGIN
from serai.ahp.types import TurnState
from serai.cli.chat.calls import CallOutput, CallOutputs, SubagentEvent
from serai.cli.chat.inbox import ChatInbox, ErrandFailed, Heard, Interrupt, Line, QueueHeld, SessionQuestion
from serai.cli.chat.questions import ChatQuestions, Decided, decide, is_open
from serai.cli.chat.queue import NOTHING_WAITS, Queue
from serai.cli.chat.view import TurnView
from serai.cli.console.output import json_text
from serai.cli.console.signin import SignInDialog
from serai.cli.console.terminal import PlainTerminal
from serai.client import (
    Client,
    ClientEvent,
    Connected,
    Disconnected,
    QuestionAsked,
    QuestionClosed,
    ResultWaiting,
    SessionAdded,
    SessionChanged,
    SessionClient,
    SessionRemoved,
    SignInNeeded,
    ToolWaiting,
    TurnEnded,
    TurnEvent,
    TurnStarted,
    event_json,
)
from serai.errors import AuthRequired

__all__ = ["Chat"]

_PATIENCE = 2.0
"""How long leaving may take when something is still to be told to the host, in seconds."""

_HELP = """\
Write a message, and the agent answers. Lines that are pasted together are one message.
  /cancel        stop the running turn (Ctrl-C does it, too)
  /queue TEXT    leave a message for after the running turn
  /steer TEXT    leave a message that reaches the running turn
  /go            send the messages that are held
  /drop NUMBER   take back a message that waits
  /title TEXT    give the session a title
  /signin        sign in to the agent, in a terminal of the host
  /quit          leave; the session stays, and so does a running turn
  //TEXT         send a message that begins with a slash"""

_COMMANDS = frozenset({"/cancel", "/queue", "/steer", "/go", "/drop", "/title", "/signin", "/quit", "/help"})

_TAKE_A_PASTE = frozenset({"/queue", "/steer"})
"""The commands whose text may have several lines."""


def _first_word(text: str) -> str:
    """The word that a line begins with."""
    return next(iter(text.split(None, 1)), "")


def _pieces(text: str | None, pasted: tuple[str, ...], *, is_asked: bool) -> list[str | None]:
    """What lines that came at once are: one message, or one thing after the other.

    Args:
        text: The first line; `None` when there will be no more.
        pasted: Those that came along with it.
        is_asked: Whether something is asked: then each line is an answer.
    """
    if not pasted:
        return [text]
    whole = "\n".join([text or "", *pasted]).strip("\n")
    word = _first_word(whole)
    is_message = not word.startswith("/") or word.startswith("//") or word in _TAKE_A_PASTE
    return [whole] if is_message and not is_asked else [text, *pasted]


_BUSY = "A turn is running: /queue sends this afterwards, /steer now, /cancel stops the turn."


@dataclass(frozen=True, slots=True)
class _Refused:
    """A message was refused, since nobody is signed in; or (`None`) the person wants to sign in anyhow."""

    message: str | None


class Chat:
    """One conversation. All that happens, happens in `run`, one thing after the other.

    With `once` it sends that message and ends with its answer; with `as_json` it prints events for a program.
    """

    def __init__(
        self,
        client: Client,
        session: SessionClient,
        terminal: PlainTerminal,
        *,
        once: str | None = None,
        as_json: bool = False,
    ) -> None:
        self._client = client
        self._session = session
        self._terminal = terminal
        self._view = TurnView(terminal)
        self._once = once
        self._as_json = as_json
        self._inbox = ChatInbox(client, session, terminal, as_json=as_json)
        self._questions = ChatQuestions(terminal, self._listen, self._decided)
        self._asked_aside: set[str] = set()
        self._own_turns: set[str] = set()
        self._is_busy = False
        self._no_more_lines = False
        self._interrupts = 0
        self._is_unwanted = False  # the turn was cancelled before it began
        self._is_lost = False
        self._refused: _Refused | None = None
        self._unsent = ""  # what was written while a turn was running
        self._queue = Queue(session)
        self._exit: int | None = None

    async def run(self) -> int:
        """Talk. Returns the exit code.

        Raises:
            SeraiError: The session is gone, or the host for good.
        """
        async with self._inbox:
            await self._begin()
            while self._exit is None:
                self._handle(await self._inbox.get())
                if self._refused is not None and self._exit is None:
                    await self._sign_in(self._refused)
            if self._client.is_connected and self._interrupts == 0:
                await self._inbox.finish(_PATIENCE)
        return self._exit

    async def _begin(self) -> None:
        if self._once is None:
            self._is_busy = self._session.active_turn_id is not None
            if not self._as_json:
                await self._greet()
                self._tell_held()
        else:
            self._is_busy = True
        self._inbox.listen(self._once)
        self._show_prompt()

    async def _greet(self) -> None:
        """Say whom one talks to, and what was said last."""
        state = self._session.state
        agent, title = state.summary.provider, state.summary.title
        self._note(f"{agent}{f' {title!r}' if title else ''} ({self._session.id}). /help tells more.")
        if not state.turns and state.active_turn is None and self._client.root:
            agents = [one for one in self._client.root.agents if one.provider == agent and one.description]
            for one in agents:
                self._note(one.description)
        if LOGIN in (state.meta or {}):
            self._note("(nobody is signed in to the agent: /signin does it)")
        if state.turns:
            last = state.turns[-1]
            self._note(f"(turns so far: {len(state.turns)}; the last one:)\n> {last.user_message.text}")
            outputs = CallOutputs(self._client, self._view.show_output)
            async for event in self._session.follow_turn(last.id):
                await outputs.before(event)
                self._view.show(event)

    # -- what comes in -------------------------------------------------------------------------------------

    def _handle(self, item: Heard) -> None:
        match item:
            case Line():
                self._written(item)
            case Interrupt():
                self._interrupted()
            case ErrandFailed():
                self._failed(item)
            case CallOutput():
                self._view.show_output(item)
            case SessionQuestion(event=event):
                self._aside(event)
            case QueueHeld():
                if self._tell_held():
                    self._show_prompt()
            case SubagentEvent():
                self._from_subagent(item)
            case _:
                self._happened(item)

    def _happened(self, event: TurnEvent | ClientEvent) -> None:
        match event:
            case Connected() | Disconnected():
                self._connection(event)
            case SessionAdded() | SessionChanged() | SessionRemoved():
                pass  # other sessions are not talked about here
            case SignInNeeded():
                self._note(f"(a sign-in is needed: {event.resource})")
            case _:
                if self._as_json:
                    self._print(event)
                else:
                    self._view.show(event)
                self._follow(event)

    # -- the person ----------------------------------------------------------------------------------------

    def _written(self, line: Line) -> None:
        self._interrupts = 0
        self._inbox.has_line()
        if line.text is not None:
            self._terminal.typed()
        for piece in _pieces(line.text, line.pasted, is_asked=bool(self._questions)):
            if self._exit is None:
                self._line(piece)

    def _line(self, text: str | None) -> None:
        if text is None:
            self._no_more_lines = True
        command = _first_word(text or "")
        rest = (text or "").strip().removeprefix(command)
        is_left = text is None and not self._is_busy  # what no turn waits for, others may answer
        if self._questions and command not in _COMMANDS and not is_left:
            self._questions.answer(text)
            self._show_prompt()
        elif text is None:
            if self._terminal.is_interactive or not self._is_busy:
                self._leave()
        elif command in _COMMANDS:
            self._command(command, rest.strip())
        elif command.startswith("/") and not command.startswith("//"):
            self._note(f"There is no command {command}. /help lists those that there are.")
            self._show_prompt()
        elif not text.strip():
            self._show_prompt()
        elif self._is_busy:
            self._unsent = text[1:] if text.startswith("//") else text
            self._note(_BUSY)
        else:
            self._prompt(text[1:] if text.startswith("//") else text)

    def _command(self, command: str, rest: str) -> None:
        match command:
            case "/quit":
                self._leave()
            case "/signin":
                self._refused = _Refused(None)
            case "/help":
                self._tell(_HELP)
            case "/cancel":
                self._cancel()
                self._show_prompt()
            case "/go":
                self._go_on()
            case "/drop":
                self._drop(rest)
            case _:
                self._text_command(command, rest)

    def _text_command(self, command: str, text: str) -> None:
        session = self._session
        if command in _TAKE_A_PASTE:
            text, self._unsent = text or self._unsent, ""
        if not text:
            self._tell(f"{command} needs a text after it.")
        elif command == "/queue":
            when = "It waits for the end of the turn." if self._is_busy else None
            self._do(session.queue(text), when)
            self._is_busy = True  # an idle session takes it at once
            self._show_prompt()
        elif command == "/steer":
            when = "It waits for the turn's next step." if self._is_busy else "It waits for the next turn."
            self._do(session.steer(text), when)
        else:
            self._do(session.set_title(text), "The session has a new title.")

    def _go_on(self) -> None:
        """Send the first of the messages that wait; the others follow it."""
        start = self._queue.next_turn()
        if start is None:
            self._tell(NOTHING_WAITS)
        elif self._is_busy:
            self._tell("A turn is running. What waits comes after it.")
        else:
            self._is_busy = True
            self._do(self._session.dispatch(start))

    def _drop(self, number: str) -> None:
        message = self._queue.chosen(number)
        if isinstance(message, str):
            self._tell(message)
        else:
            self._do(self._session.unqueue(message.id), "It is taken back.")

    def _tell_held(self) -> bool:
        """Say what is held, if that is new; while a turn runs here, it waits for its end."""
        notice = None if self._as_json or self._is_busy else self._queue.notice()
        if notice is not None:
            self._note(notice)
        return notice is not None

    def _prompt(self, text: str) -> None:
        self._is_busy = True
        self._unsent = ""
        turn_id = str(uuid.uuid4())
        self._own_turns.add(turn_id)
        self._do(self._session.begin_turn(text, turn_id=turn_id))

    def _interrupted(self) -> None:
        self._interrupts += 1
        if self._interrupts > 1:
            self._leave()
        elif self._is_busy:
            self._note("(stopping the turn; Ctrl-C again leaves)")
            self._cancel()
        else:
            self._note("(Ctrl-C again leaves, and so does /quit)")
            self._show_prompt()

    def _cancel(self) -> None:
        if self._session.active_turn_id is not None:
            self._questions.clear()  # what it asks needs no answer any more
            self._do(self._session.cancel())
        elif self._is_busy:
            self._is_unwanted = True
        else:
            self._note("No turn is running.")

    def _leave(self) -> None:
        live = self._session.live
        if live is not None and live.turn is not None:
            self._note(f"The turn goes on on the host. Come back with: serai chat {self._session.id}")
        elif live is not None and live.head.turns and self._terminal.is_interactive and not self._as_json:
            self._note(f"Come back with: serai chat {self._session.id}")
        else:
            self._terminal.new_line()
        self._exit = 0 if self._once is None else 1

    # -- questions -----------------------------------------------------------------------------------------

    def _listen(self) -> None:
        """Something is asked: wait for a line, if there will be one."""
        if self._no_more_lines:
            self._questions.answer(None)
        else:
            self._inbox.want_line()

    def _decided(self, decided: Decided) -> None:
        self._do(decide(decided), decided=decided)

    def _aside(self, event: QuestionAsked | QuestionClosed) -> None:
        """What is asked while a turn runs, that turn tells, in its place among all else."""
        live = self._session.live
        if isinstance(event, QuestionAsked):
            if live is None or live.turn is not None or not is_open(self._session, event):
                return
            self._asked_aside.add(event.request.id)
        elif event.request_id not in self._asked_aside:
            return
        else:
            self._asked_aside.discard(event.request_id)
        if self._as_json:
            self._print(event)
        was_asked = bool(self._questions)
        self._questions.heed(self._session, event)
        if was_asked:
            self._show_prompt()

    def _from_subagent(self, item: SubagentEvent) -> None:
        if not self._as_json:
            self._view.interrupt()
        elif isinstance(item.event, ToolWaiting | ResultWaiting | QuestionAsked | QuestionClosed):
            self._print(item.event, session=item.session.uri)
        self._questions.heed(item.session, item.event, item.whose)

    # -- the turn ------------------------------------------------------------------------------------------

    def _follow(self, event: TurnEvent) -> None:
        match event:
            case TurnStarted(turn_id=turn_id, message=message):
                self._is_busy = True
                self._queue.goes_on()
                if self._once is None and not self._as_json and turn_id not in self._own_turns:
                    self._note(f"> {message.text}")  # someone else's, or one from the queue
                if self._is_unwanted:
                    self._is_unwanted = False
                    self._cancel()
            case TurnEnded():
                self._ended(event)
            case _:
                if isinstance(event, QuestionAsked):
                    self._asked_aside.discard(event.request.id)  # from now on the turn tells of it
                self._questions.heed(self._session, event)

    def _ended(self, event: TurnEnded) -> None:
        self._interrupts = 0
        self._questions.settle()
        if self._once is not None:
            self._terminal.new_line()
            self._exit = 0 if event.state == TurnState.COMPLETE else 1
            return
        live = self._session.live
        goes_on = event.state == TurnState.COMPLETE and live is not None and live.head.queued_messages
        self._is_busy = bool(goes_on) or (live is not None and live.turn is not None)
        if event.error is not None and event.error.error_type == AuthRequired.code and not self._is_busy:
            self._offer_sign_in()
        self._tell_held()
        self._show_prompt()

    # -- signing in ----------------------------------------------------------------------------------------

    def _offer_sign_in(self) -> None:
        """Whoever sent the message that was refused is asked, if there is a person to ask."""
        live = self._session.live
        last = live.head.turns[-1] if live is not None and live.head.turns else None
        has_person = self._terminal.is_interactive and not self._as_json
        if has_person and last is not None and last.id in self._own_turns:
            self._refused = _Refused(last.user_message.text)

    async def _sign_in(self, refused: _Refused) -> None:
        """Have the person sign in, and send again what was refused. Ctrl-C stops it."""
        dialog = SignInDialog(self._client, self._terminal)
        agent = self._session.state.summary.provider
        text = refused.message
        work = asyncio.create_task(dialog.run(agent) if text is None else dialog.offer(agent))
        try:
            with self._inbox.lent(work.cancel):
                await asyncio.wait({work})
        finally:
            work.cancel()
        self._refused = None
        if text is not None and not work.cancelled() and work.result() and not self._is_busy:
            self._note(f"> {text}")
            self._prompt(text)
        else:
            self._show_prompt()

    # -- the rest ------------------------------------------------------------------------------------------

    def _connection(self, event: Connected | Disconnected) -> None:
        if self._as_json:
            self._print(event)
        elif isinstance(event, Connected):
            self._is_lost = False
            self._note("(connected again)")
            self._show_prompt()
        elif not self._is_lost and event.retry_in is not None:  # one line, however many tries it takes
            self._is_lost = True
            self._note(f"(connection lost: {event.reason}; trying again)")

    def _failed(self, failed: ErrandFailed) -> None:
        if failed.is_final or self._session.live is None or self._client.failure is not None:
            raise failed.error
        self._note(str(failed.error))
        if failed.decided is not None:
            self._questions.failed(failed.decided)
        else:
            self._is_busy = self._session.active_turn_id is not None
        self._show_prompt()

    def _do(
        self, work: Coroutine[Any, Any, Any], note: str | None = None, decided: Decided | None = None
    ) -> None:
        """Ask something of the host, and say so when it is done."""
        self._inbox.do(work, None if note is None else partial(self._tell, note), decided)

    def _tell(self, text: str) -> None:
        self._note(text)
        self._show_prompt()

    def _print(self, event: TurnEvent | ClientEvent, **more: str) -> None:
        self._terminal.raw(json_text({**event_json(event), **more}))

    def _note(self, text: str) -> None:
        self._terminal.note(text)

    def _show_prompt(self) -> None:
        """The agent is done: the person may write. Where something is asked, that is what they answer."""
        if self._questions:
            self._inbox.want_line()
        if self._is_busy or self._questions or self._refused is not None or self._exit is not None:
            return
        if self._no_more_lines:
            self._leave()
        elif self._once is None:
            self._inbox.want_line()
            if self._terminal.is_interactive and not self._as_json:
                self._terminal.note("> ", end="")
