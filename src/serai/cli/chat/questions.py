"""Asks a person, in plain lines, what sessions want to know: one question after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from serai.ahp.types import URI
from serai.cli.chat.dialogs import Allow, Decision, Dialog, Refuse, Reply, ask_call, ask_questions, ask_result
from serai.cli.console.terminal import Terminal
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

__all__ = ["Asking", "Decided", "Question", "Questioner", "decide", "is_open"]

Question: TypeAlias = ToolWaiting | ResultWaiting | QuestionAsked
"""An event that someone has to answer."""


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
    """Its place in the row of questions."""
    shown: str | None = None
    """What is on the screen of it; `None` while it waits."""
    shown_of: int = 0
    """How many questions there were when it was shown."""


class Asking:
    """The questions that are open here. The first one is asked; the others wait.

    They are counted as long as one of them is open, so that a person can tell equal ones apart.
    """

    def __init__(self) -> None:
        self._open: dict[tuple[URI, str, str], _Open] = {}
        self._count = 0

    def __bool__(self) -> bool:
        return bool(self._open)

    def open(self, session: SessionClient, question: Question, whose: str = "") -> None:
        """Add a question. One that is open already stays as it is; one that has changed is asked anew.

        Args:
            session: Where it is asked.
            question: What is asked.
            whose: Who asks, for people, where that is not plain.
        """
        match question:
            case ToolWaiting(call=call):
                kind, name, dialog = "call", call.tool_call_id, ask_call(call)
            case ResultWaiting(call=call):
                kind, name, dialog = "result", call.tool_call_id, ask_result(call)
            case QuestionAsked(request=request):
                kind, name, dialog = "question", request.id, ask_questions(request)
        key = session.uri, kind, name
        known = self._open.get(key)
        if known is not None and _is_same(known.question, question):
            return
        self._open.pop(key, None)
        self._count = self._count if self._open else 0
        number = known.number if known is not None and self._open else self._count + 1
        self._count = max(self._count, number)
        self._open[key] = _Open(session, question, dialog, whose, number)

    def close(self, session: SessionClient, kind: str, name: str) -> str:
        """A `call`, `result` or `question` needs no answer any more.

        Returns what to say about it; nothing when it was not shown yet.
        """
        closed = self._open.pop((session.uri, kind, name), None)
        if closed is None or closed.shown is None:
            return ""
        which = f"question {closed.number} is " if self._count > 1 else ""
        return f"({which}no longer asked: it was answered elsewhere, or the turn is over)"

    def settle(self) -> list[str]:
        """Close what the host does not ask any more. Returns what to say about it."""
        gone = [key for key, one in self._open.items() if not is_open(one.session, one.question)]
        said = [self.close(self._open[key].session, *key[1:]) for key in gone]
        return [line for line in said if line]

    def clear(self) -> None:
        """No question needs an answer any more."""
        self._open.clear()

    def prompt(self) -> str | None:
        """What to show now; `None` when that has been shown, or nothing is asked."""
        current = next(iter(self._open.values()), None)
        if current is None or (current.shown is not None and current.shown_of == self._count):
            return None
        current.shown_of = self._count
        if current.shown is not None:  # others have come behind it
            return f"(question {current.number} of {self._count})\n{current.shown.rpartition(chr(10))[2]}"
        current.shown = next(current.dialog)
        which = f"Question {current.number} of {self._count}\n" if self._count > 1 else ""
        whose = f"For {current.whose}:\n" if current.whose else ""
        return f"{which}{whose}{current.shown}"

    def said(self, line: str | None) -> str | Decided:
        """A line for the question that is asked, or `None` when there will be no more lines.

        Returns what to show next, or what was decided.
        """
        key, current = next(iter(self._open.items()))
        try:
            current.shown = current.dialog.send(line)
        except StopIteration as end:
            del self._open[key]
            return Decided(current.session, current.question, end.value, current.whose)
        return current.shown


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


class Questioner:
    """Asks one question after the other. True as long as one is open.

    Args:
        terminal: Where the person is.
        listen: Is called when a line is wanted: it comes back to `answer`.
        decided: Is called with what the person decided.
    """

    def __init__(
        self, terminal: Terminal, listen: Callable[[], None], decided: Callable[[Decided], None]
    ) -> None:
        self._terminal = terminal
        self._listen = listen
        self._decided = decided
        self._asking = Asking()

    def __bool__(self) -> bool:
        return bool(self._asking)

    def heed(self, session: SessionClient, event: TurnEvent, whose: str = "") -> None:
        """Something has happened in a session: perhaps something is asked there, or no longer.

        Args:
            session: Where it happened.
            event: What happened.
            whose: Whose session it is, for people; nothing where that is plain.
        """
        match event:
            case ToolWaiting() | QuestionAsked():
                self._asking.open(session, event, whose)
            case ToolRunning(call=call):
                self._close(session, "call", call.tool_call_id)
            case ResultWaiting(call=call):
                self._close(session, "call", call.tool_call_id)
                self._asking.open(session, event, whose)
            case ToolFinished(call=call):
                self._close(session, "call", call.tool_call_id)
                self._close(session, "result", call.tool_call_id)
                self.settle()  # what it had others do is over, too
            case QuestionClosed(request_id=request_id):
                self._close(session, "question", request_id)
            case _:
                return
        self._show()

    def answer(self, text: str | None) -> None:
        """Someone has written a line; `None` when there will be no more."""
        outcome = self._asking.said(text)
        if isinstance(outcome, Decided):
            self._decided(outcome)
            self._show()
        else:
            self._terminal.note(outcome, end="")
            self._listen()

    def failed(self, decided: Decided) -> None:
        """The host did not take an answer: ask again, if it still wants one."""
        if is_open(decided.session, decided.question):
            self._asking.open(decided.session, decided.question, decided.whose)
            self._show()

    def settle(self) -> None:
        """Take back what is not asked any more."""
        for line in self._asking.settle():
            self._terminal.note(line)

    def clear(self) -> None:
        """Nothing needs an answer any more; nothing is said about it."""
        self._asking.clear()

    def _close(self, session: SessionClient, kind: str, name: str) -> None:
        if line := self._asking.close(session, kind, name):
            self._terminal.note(line)

    def _show(self) -> None:
        """Ask what is to be asked next, if it is not asked already."""
        prompt = self._asking.prompt()
        if prompt is not None:
            self._terminal.note(prompt, end="")
            self._listen()
