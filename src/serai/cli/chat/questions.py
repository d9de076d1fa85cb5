"""Asks a person, in plain lines, what a session wants to know: one question after the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from serai.cli.chat.dialogs import (
    Allow,
    Decision,
    Dialog,
    Refuse,
    Reply,
    ask_call,
    ask_questions,
    ask_result,
)
from serai.cli.console.terminal import Ask, PlainTerminal
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

Question: TypeAlias = ToolWaiting | ResultWaiting | QuestionAsked
"""An event that someone has to answer."""

_CLOSED = "(no longer asked: it was answered elsewhere, or the turn is over)"


@dataclass(slots=True)
class _Open:
    question: Question
    dialog: Dialog
    is_shown: bool = False


class ChatQuestions:
    """The questions that are open here: the first one is asked, the others wait. True while there is one.

    Args:
        session: Who asks.
        terminal: Where it is asked.
        listen: Is called when a line is wanted: it comes back to `answer`.
        decided: Is called with a question and what the person decided.
    """

    def __init__(
        self,
        session: SessionClient,
        terminal: PlainTerminal,
        listen: Callable[[], None],
        decided: Callable[[Question, Decision], None],
    ) -> None:
        self._session = session
        self._terminal = terminal
        self._listen = listen
        self._decided = decided
        self._open: dict[tuple[str, str], _Open] = {}
        self._diffs: dict[str, str] = {}  # by call

    def __bool__(self) -> bool:
        return bool(self._open)

    def heed(self, event: TurnEvent, diff: str = "") -> None:
        """Take an event of the session: perhaps something is asked, or no longer.

        Args:
            event: What has happened.
            diff: What the call that waits is going to change.
        """
        match event:
            case ToolWaiting(call=call):
                self._diffs[call.tool_call_id] = diff
                self._add(event)
            case QuestionAsked():
                self._add(event)
            case ToolRunning(call=call):
                self._close(("call", call.tool_call_id))
            case ResultWaiting(call=call):
                self._close(("call", call.tool_call_id))
                self._add(event)
            case ToolFinished(call=call):
                self._close(("call", call.tool_call_id))
                self._close(("result", call.tool_call_id))
            case QuestionClosed(request_id=request_id):
                self._close(("question", request_id))
            case _:
                return
        self._show()

    def answer(self, text: str | None) -> None:
        """Take a line for the question that is asked; `None` when there will be no more lines."""
        key, current = next(iter(self._open.items()))
        try:
            self._ask(current.dialog.send(text))
        except StopIteration as end:
            del self._open[key]
            self._decided(current.question, end.value)
            self._show()

    def ask_again(self, question: Question) -> None:
        """Ask what the host did not take an answer to, if it still wants one."""
        if is_open(self._session, question):
            self._add(question)
            self._show()

    def settle(self) -> None:
        """Take back what is not asked any more."""
        for key in [key for key, one in self._open.items() if not is_open(self._session, one.question)]:
            self._close(key)

    def clear(self) -> None:
        """Take back everything, and say nothing about it."""
        self._open.clear()
        self._terminal.unask()

    def _add(self, question: Question) -> None:
        """Add a question. One that is open already stays as it is; one that has changed is asked anew."""
        match question:
            case ToolWaiting(call=call):
                diff = self._diffs.get(call.tool_call_id, "")
                key, dialog = ("call", call.tool_call_id), ask_call(call, diff)
            case ResultWaiting(call=call):
                key, dialog = ("result", call.tool_call_id), ask_result(call)
            case QuestionAsked(request=request):
                key, dialog = ("question", request.id), ask_questions(request)
        known = self._open.get(key)
        if known is None or known.question != question:
            self._open.pop(key, None)
            self._open[key] = _Open(question, dialog)

    def _close(self, key: tuple[str, str]) -> None:
        closed = self._open.pop(key, None)
        if closed is not None and closed.is_shown:
            self._terminal.unask()
            self._terminal.note(_CLOSED)

    def _show(self) -> None:
        """Ask what is to be asked next, if it is not asked already."""
        current = next(iter(self._open.values()), None)
        if current is not None and not current.is_shown:
            current.is_shown = True
            self._ask(next(current.dialog))

    def _ask(self, asked: Ask) -> None:
        self._terminal.ask(asked)
        self._listen()


async def decide(session: SessionClient, question: Question, decision: Decision) -> None:
    """Tell the host what was decided.

    Raises:
        Rejected: Someone else was quicker, or the answer does not fit.
    """
    match question, decision:
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
        case ResultWaiting(call=call), _:
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
