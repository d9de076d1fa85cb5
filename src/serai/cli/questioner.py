"""Asking a person, in plain lines, what sessions want to know."""

from __future__ import annotations

from collections.abc import Callable

from serai.cli.chat.asking import Asking, Decided, is_open
from serai.cli.terminal import Terminal
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

__all__ = ["Questioner"]


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
