"""Asks a person, in plain lines, what sessions want to know: one question after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from serai.ahp.types import URI
from serai.cli.chat.dialogs import Allow, Decision, Dialog, Refuse, Reply, ask_call, ask_questions, ask_result
from serai.cli.console.terminal import PlainTerminal
from serai.client import (
    QuestionAsked,
    QuestionClosed,
    ResultWaiting,
    SessionClient,
    ToolFinished,
    ToolRunning,
    ToolWaiting,
    TurnEvent,
)
from serai.client.turn import without_drafts

__all__ = ["ChatQuestions", "Decided", "Question", "decide", "is_open"]

Question: TypeAlias = ToolWaiting | ResultWaiting | QuestionAsked
"""An event that someone has to answer."""

_CLOSED = "(no longer asked: it was answered elsewhere, or the turn is over)"


@dataclass(frozen=True, slots=True)
class Decided:
    """What someone said to a question."""

    session: SessionClient
    question: Question
    decision: Decision
    whose: str = ""


@dataclass(slots=True)
class _Open:
    session: SessionClient
    question: Question
    dialog: Dialog
    whose: str
    number: int
    """Its place in the row of questions, so that a person can tell equal ones apart."""
    is_shown: bool = False


class ChatQuestions:
    """The questions that are open here: the first one is asked, the others wait. True while there is one.

    Args:
        listen: Is called when a line is wanted: it comes back to `answer`.
        decided: Is called with what the person decided.
    """

    def __init__(
        self, terminal: PlainTerminal, listen: Callable[[], None], decided: Callable[[Decided], None]
    ) -> None:
        self._terminal = terminal
        self._listen = listen
        self._decided = decided
        self._open: dict[tuple[URI, str, str], _Open] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    def heed(self, session: SessionClient, event: TurnEvent, whose: str = "") -> None:
        """Take an event of a session: perhaps something is asked there, or no longer.

        Args:
            session: Where it happened.
            event: What happened.
            whose: Whose session it is, for people; nothing where that is plain.
        """
        match event:
            case ToolWaiting() | QuestionAsked():
                self._add(session, event, whose)
            case ToolRunning(call=call):
                self._close((session.uri, "call", call.tool_call_id))
            case ResultWaiting(call=call):
                self._close((session.uri, "call", call.tool_call_id))
                self._add(session, event, whose)
            case ToolFinished(call=call):
                self._close((session.uri, "call", call.tool_call_id))
                self._close((session.uri, "result", call.tool_call_id))
                self.settle()  # what it had others do is over, too
            case QuestionClosed(request_id=request_id):
                self._close((session.uri, "question", request_id))
            case _:
                return
        self._show()

    def answer(self, text: str | None) -> None:
        """Take a line for the question that is asked; `None` when there will be no more lines."""
        key, current = next(iter(self._open.items()))
        try:
            self._terminal.note(current.dialog.send(text), end="")
            self._listen()
        except StopIteration as end:
            del self._open[key]
            self._decided(Decided(current.session, current.question, end.value, current.whose))
            self._show()

    def failed(self, decided: Decided) -> None:
        """Ask again what the host did not take an answer to, if it still wants one."""
        if is_open(decided.session, decided.question):
            self._add(decided.session, decided.question, decided.whose)
            self._show()

    def settle(self) -> None:
        """Take back what is not asked any more."""
        for key in [key for key, one in self._open.items() if not is_open(one.session, one.question)]:
            self._close(key)

    def clear(self) -> None:
        """Take back everything, and say nothing about it."""
        self._open.clear()

    def _add(self, session: SessionClient, question: Question, whose: str) -> None:
        """Add a question. One that is open already stays as it is; one that has changed is asked anew."""
        match question:
            case ToolWaiting(call=call):
                key, dialog = ("call", call.tool_call_id), ask_call(call)
            case ResultWaiting(call=call):
                key, dialog = ("result", call.tool_call_id), ask_result(call)
            case QuestionAsked(request=request):
                key, dialog = ("question", request.id), ask_questions(request)
        known = self._open.get((session.uri, *key))
        if known is not None and _is_same(known.question, question):
            return
        self._open.pop((session.uri, *key), None)
        self._count = self._count + 1 if self._open else 1
        self._open[session.uri, *key] = _Open(session, question, dialog, whose, self._count)

    def _close(self, key: tuple[URI, str, str]) -> None:
        closed = self._open.pop(key, None)
        if closed is not None and closed.is_shown:
            self._terminal.note(_CLOSED)

    def _show(self) -> None:
        """Ask what is to be asked next, if it is not asked already."""
        current = next(iter(self._open.values()), None)
        if current is None or current.is_shown:
            return
        current.is_shown = True
        which = f"Question {current.number} of {self._count}\n" if self._count > 1 else ""
        whose = f"For {current.whose}:\n" if current.whose else ""
        self._terminal.note(f"{which}{whose}{next(current.dialog)}", end="")
        self._listen()


def _is_same(one: Question, other: Question) -> bool:
    if isinstance(one, QuestionAsked) and isinstance(other, QuestionAsked):
        return without_drafts(one.request) == without_drafts(other.request)
    return one == other


async def decide(decided: Decided) -> None:
    """Tell the host what was decided.

    Raises:
        Rejected: Someone else was quicker, or the answer does not fit.
    """
    session = decided.session
    match decided.question, decided.decision:
        case QuestionAsked(request=request), Reply(answers=answers):
            await session.answer(request.id, answers)
        case QuestionAsked(request=request), _:
            await session.decline(request.id)
        case ToolWaiting(call=call), Allow() as yes:
            await session.approve(call.tool_call_id, option=yes.option, edited_input=yes.edited_input)
        case ToolWaiting(call=call), Refuse() as no:
            await session.deny(
                call.tool_call_id, option=no.option, reason=no.reason, suggestion=no.suggestion
            )
        case ResultWaiting(call=call), decision:
            await session.confirm_result(call.tool_call_id, approved=isinstance(decision, Allow))
        case _:
            pass  # a reply to a tool call: no dialog gives one


def is_open(session: SessionClient, question: Question) -> bool:
    """Whether the host still waits for an answer to this."""
    live = session.live
    if live is None:
        return False
    if isinstance(question, QuestionAsked):
        return any(request.id == question.request.id for request in live.head.input_requests or ())
    return live.turn is not None and live.turn.call(question.call.tool_call_id) == question.call
