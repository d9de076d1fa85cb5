"""Open questions, one after the other: what is asked now, what waits behind it, and what was decided.

For a client that has one place to ask, such as a terminal. Nothing here reads or prints.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from serai.client.dialogs import Allow, Decision, Dialog, Refuse, Reply, ask_call, ask_questions, ask_result
from serai.client.events import QuestionAsked, ResultWaiting, ToolWaiting
from serai.client.session import SessionClient

__all__ = ["Asking", "Decided", "Question", "decide", "is_open"]

Question: TypeAlias = ToolWaiting | ResultWaiting | QuestionAsked
"""An event that someone has to answer."""


@dataclass(frozen=True, slots=True)
class Decided:
    """What someone said to a question."""

    question: Question
    decision: Decision


@dataclass(slots=True)
class _Open:
    question: Question
    dialog: Dialog
    is_shown: bool = False


class Asking:
    """The questions that are open here. The first one is asked; the others wait."""

    def __init__(self) -> None:
        self._open: dict[str, _Open] = {}

    def __bool__(self) -> bool:
        return bool(self._open)

    def open(self, question: Question) -> None:
        """Add a question. One that is open already is asked anew."""
        match question:
            case ToolWaiting(call=call):
                key, dialog = f"call {call.tool_call_id}", ask_call(call)
            case ResultWaiting(call=call):
                key, dialog = f"result {call.tool_call_id}", ask_result(call)
            case QuestionAsked(request=request):
                key, dialog = f"question {request.id}", ask_questions(request)
        self._open.pop(key, None)
        self._open[key] = _Open(question, dialog)

    def close(self, kind: str, name: str) -> bool:
        """A `call`, `result` or `question` needs no answer any more. Returns whether it was shown."""
        closed = self._open.pop(f"{kind} {name}", None)
        return closed is not None and closed.is_shown

    def clear(self) -> None:
        """No question needs an answer any more."""
        self._open.clear()

    def prompt(self) -> str | None:
        """What to show now; `None` when that has been shown, or nothing is asked."""
        current = next(iter(self._open.values()), None)
        if current is None or current.is_shown:
            return None
        current.is_shown = True
        return next(current.dialog)

    def said(self, line: str | None) -> str | Decided:
        """A line for the question that is asked, or `None` when there will be no more lines.

        Returns what to show next, or what was decided.
        """
        key, current = next(iter(self._open.items()))
        try:
            return current.dialog.send(line)
        except StopIteration as end:
            del self._open[key]
            return Decided(current.question, end.value)


async def decide(session: SessionClient, decided: Decided) -> None:
    """Tell the host what was decided.

    Raises:
        Rejected: Someone else was quicker, or the answer does not fit.
    """
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
