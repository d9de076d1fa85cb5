"""Asks a person the questions of a session, one after the other.

A dialog is a generator: it yields a question, is sent the line of the person (`None` at the end of the
input), and returns the decision.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Generator
from dataclasses import dataclass
from math import isfinite
from typing import Any, TypeAlias, cast

from serai.ahp import types as t
from serai.ahp.rules.answers import problem_with_answer
from serai.ahp.wire import Unknown
from serai.cli.chat.view import about, about_edit, last_lines, text_of
from serai.cli.console.output import plain
from serai.cli.console.terminal import Ask, PlainTerminal
from serai.client import (
    QuestionAsked,
    ResultWaiting,
    SessionClient,
    ToolWaiting,
    TurnEvent,
)
from serai.client.answers import AnswerValue, answer_to
from serai.errors import Rejected

Decision: TypeAlias = Callable[[SessionClient], Awaitable[None]]
"""Sends a decision to the host. Raises `Rejected` when someone else was quicker or the answer is invalid."""

Dialog: TypeAlias = Generator[Ask, str | None, Decision]


# -- tool calls --------------------------------------------------------------------------------------------


def ask_call(call: t.ToolCallPendingConfirmationState, diff: str = "") -> Dialog:
    """Ask whether a call may run, and show the diff of its changes."""
    options = call.options or []
    yes = _first(options, t.ConfirmationOptionKind.APPROVE)
    no = _first(options, t.ConfirmationOptionKind.DENY)

    def allow(option: str | None, edited_input: str | None = None) -> Decision:
        return lambda session: session.approve(call.tool_call_id, option=option, edited_input=edited_input)

    def refuse(option: str | None, **why: str | None) -> Decision:
        return lambda session: session.deny(call.tool_call_id, option=option, **why)

    line = yield _menu(call, options, f"{_about(call)}\n{diff}")
    while line is not None:
        word = line.strip().casefold()
        option = _option(options, word)
        if option is not None:
            return (allow if option.kind == t.ConfirmationOptionKind.APPROVE else refuse)(option.id)
        if word in {"y", "yes"}:
            return allow(yes)
        if word in {"n", "no"}:
            return refuse(no)
        if word == "s":
            instead = yield Ask("What should it do instead? ")
            return refuse(no, suggestion=(instead or "").strip() or None)
        if word == "e" and call.editable:
            changed = yield from _edited(call.tool_input or "")
            if changed is not None:
                return allow(yes, changed)
        line = yield _menu(call, options)
    return refuse(None, reason="there was nobody to ask")


def ask_result(call: t.ToolCallPendingResultConfirmationState) -> Dialog:
    """Ask whether the agent may use a tool's result."""
    lines = [*last_lines(text_of(call.content)), *filter(None, map(about, call.content or ()))]
    shown = [plain(call.past_tense_message), *(f"  | {line}" for line in lines)]
    approved = yield from _yes_or_no("\n".join(shown) + "\n", "May the agent use this result? [y/n] ")
    return lambda session: session.confirm_result(call.tool_call_id, approved=approved)


def _yes_or_no(intro: str, question: str) -> Generator[Ask, str | None, bool]:
    choices = frozenset({"y", "yes", "n", "no"})
    line = yield Ask(intro + question, choices=choices)
    while line is not None and (word := line.strip().casefold()) not in {"n", "no", "/decline"}:
        if word in {"y", "yes"}:
            return True
        line = yield Ask(question, choices=choices)
    return False


def _about(call: t.ToolCallPendingConfirmationState) -> str:
    lines = [plain(call.confirmation_title) or f"{call.display_name}?", f"  {plain(call.invocation_message)}"]
    if call.tool_input:
        lines.append(f"  input: {call.tool_input}")
    lines += [f"  {about_edit(edit)}" for edit in (call.edits.items if call.edits else ())]
    return "\n".join(lines)


def _menu(
    call: t.ToolCallPendingConfirmationState, options: list[t.ConfirmationOption], intro: str = ""
) -> Ask:
    lines = [f"  {number}  {option.label}" for number, option in enumerate(options, start=1)]
    lines += [] if options else ["  y  allow", "  n  do not allow"]
    lines += ["  e  change its input, and allow it"] if call.editable else []
    lines += ["  s  do not allow, and say what to do instead"]
    keys = dict.fromkeys(["y", "n", *(line.split()[0] for line in lines)])
    text = "\n".join([*lines, f"({'/'.join(keys)}) Your choice: "])
    words = {*keys, "yes", "no", *(option.id.casefold() for option in options)}
    return Ask(f"{intro}{text}", choices=frozenset(words))


def _option(options: list[t.ConfirmationOption], word: str) -> t.ConfirmationOption | None:
    places = {str(number): option for number, option in enumerate(options, start=1)}
    named = {option.id.casefold(): option for option in reversed(options)}
    return places.get(word) or named.get(word)


def _first(options: list[t.ConfirmationOption], kind: t.ConfirmationOptionKind) -> str | None:
    return next((option.id for option in options if option.kind == kind), None)


def _edited(before: str) -> Generator[Ask, str | None, str | None]:
    """Ask for a new input; `None` for no change. JSON has to stay JSON."""
    problem, text = "", before
    while True:
        line = yield Ask(f"{problem}New input (empty for no change): ", prefill=text)
        text = (line or "").strip()
        if text in {"", before.strip()}:
            return None
        if not _is_json(before) or _is_json(text):
            return text
        problem = "That is not JSON. "


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


# -- questions ---------------------------------------------------------------------------------------------


def ask_questions(request: t.SessionInputRequest) -> Dialog:
    """Ask all questions of a request, one after the other. `/decline` declines them all."""
    head = [request.message] if request.message else []
    head += [f"Open this address: {request.url}"] if request.url else []
    intro = "".join(f"{line}\n" for line in head)
    answers: dict[str, AnswerValue] = {}
    for question in request.questions or ():
        found = yield from _ask(request, question, intro)
        if found is None:
            return lambda session: session.decline(request.id)
        answers.update(found)
        intro = ""
    if not request.questions and not (yield from _yes_or_no(intro, "Go on? [y/n] ")):
        return lambda session: session.decline(request.id)
    return lambda session: session.answer(request.id, answers)


def _ask(
    request: t.SessionInputRequest, question: t.SessionInputQuestion, intro: str
) -> Generator[Ask, str | None, dict[str, AnswerValue] | None]:
    """Ask one question. Returns its answer; `None` when the person declines all questions."""
    if isinstance(question, Unknown):
        return {}  # an unknown kind of question: the host checks whether it may be left out
    default = _default(question)
    problem = ""
    while True:
        is_secret = getattr(question, "format", None) == "password"
        line = yield Ask(f"{intro}{problem}{_wording(question, default)}", secret=is_secret)
        intro = ""
        text = (line or "").strip()
        if line is None or text == "/decline":
            return None
        if not text and (default is not None or not question.required):
            return {question.id: default}
        if not text:
            problem = "An answer is needed (or /decline).\n"
            continue
        value = _read(question, text)
        if value is None:
            problem = f"{text!r} does not answer this.\n"
            continue
        try:
            found = problem_with_answer(request, question.id, answer_to(question, value))
        except Rejected as error:
            found = error.reason
        if found is None:
            return {question.id: value}
        problem = f"It {found.removeprefix(f'the answer to {question.id!r} ')}.\n"


def _default(question: Any) -> AnswerValue:
    """Return the answer that an empty line stands for."""
    if isinstance(question, t.SessionInputSingleSelectQuestion):
        return next((option.id for option in question.options if option.recommended), None)
    if isinstance(question, t.SessionInputMultiSelectQuestion):
        return [option.id for option in question.options if option.recommended] or None
    return question.default_value


def _wording(question: Any, default: AnswerValue) -> str:
    title = f"{question.title}: " if question.title else ""
    lines = [f"{title}{question.message}"]
    options: list[t.SessionInputOption] = getattr(question, "options", [])
    for number, option in enumerate(options, start=1):
        about = f": {option.description}" if option.description else ""
        lines.append(f"  {number}  {option.label}{about}{' (recommended)' if option.recommended else ''}")
    hints = [_HINTS[type(question)]]
    hints += ["or text of your own"] if getattr(question, "allow_freeform_input", False) else []
    for words, bound in (
        ("at least", getattr(question, "min", None)),
        ("at most", getattr(question, "max", None)),
    ):
        hints += [f"{words} {bound}{_UNITS.get(question.__class__, '')}"] if bound is not None else []
    hints += [] if question.required else ["optional"]
    hints += [f"empty: {_shown(default)}"] if default is not None else []
    return "\n".join(lines) + f"\n({', '.join(hints)}) "


_UNITS: dict[Any, str] = {
    t.SessionInputTextQuestion: " characters",
    t.SessionInputMultiSelectQuestion: " of them",
}

_HINTS: dict[type, str] = {
    t.SessionInputTextQuestion: "text",
    t.SessionInputNumberQuestion: "a number",
    t.SessionInputIntegerQuestion: "a whole number",
    t.SessionInputBooleanQuestion: "y or n",
    t.SessionInputSingleSelectQuestion: "one of the numbers",
    t.SessionInputMultiSelectQuestion: "numbers, with commas between",
}


def _shown(value: AnswerValue) -> str:
    if isinstance(value, bool):
        return "y" if value else "n"
    return ", ".join(cast("list[str]", value)) if isinstance(value, list | tuple) else str(value)


def _read(question: Any, text: str) -> AnswerValue:
    """Read a line as an answer; `None` if it is invalid."""
    match question:
        case t.SessionInputBooleanQuestion():
            return {"y": True, "yes": True, "n": False, "no": False}.get(text.casefold())
        case t.SessionInputNumberQuestion():
            return _number(text)
        case t.SessionInputSingleSelectQuestion():
            return _chosen(question.options, text, question.allow_freeform_input)
        case t.SessionInputMultiSelectQuestion():
            free = question.allow_freeform_input
            found = [_chosen(question.options, one.strip(), free) for one in text.split(",") if one.strip()]
            several = [one for one in found if one is not None]
            return several if len(several) == len(found) else None
        case _:
            return text


def _number(text: str) -> float | int | None:
    try:
        value = float(text)
    except ValueError:
        return None
    if not isfinite(value):
        return None
    return int(text) if text.lstrip("+-").isdecimal() else value


def _chosen(options: list[t.SessionInputOption], text: str, free: bool | None) -> str | None:
    """Return the option of a number or a word, or free text where that is allowed."""
    places = {str(number): option.id for number, option in enumerate(options, start=1)}
    word = text.casefold()
    named = (option.id for option in options if word in {option.id.casefold(), option.label.casefold()})
    return places.get(text) or next(named, text if free else None)


# -- open questions ----------------------------------------------------------------------------------------

Question: TypeAlias = ToolWaiting | ResultWaiting | QuestionAsked
"""An event that needs an answer."""

_CLOSED = "(no longer asked: it was answered elsewhere, or the turn is over)"


@dataclass(slots=True)
class _Open:
    question: Question
    dialog: Dialog
    is_shown: bool = False


class ChatQuestions:
    """The open questions: the first one is asked, the others wait. True while there is one.

    Args:
        session: The session that asks.
        terminal: The terminal of the person.
        listen: Called when a line is wanted, which is then passed to `answer`.
        decided: Called with a question and the decision of the person.
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

    def __bool__(self) -> bool:
        return bool(self._open)

    def update(self, event: TurnEvent, diff: str = "") -> None:
        """Handle an event of the session, which may open or close a question.

        Args:
            event: The event.
            diff: The diff of a call that waits.
        """
        if isinstance(event, ToolWaiting | ResultWaiting | QuestionAsked):
            self._add(event, diff)
        self.settle()
        self._show()

    def answer(self, text: str | None) -> None:
        """Answer the question that is asked with a line; `None` at the end of the input."""
        key, current = next(iter(self._open.items()))
        try:
            self._ask(current.dialog.send(text))
        except StopIteration as end:
            del self._open[key]
            self._decided(current.question, end.value)
            self._show()

    def ask_again(self, question: Question) -> None:
        """Ask a question again whose answer the host refused, if it is still open."""
        if is_open(self._session, question):
            self._add(question)
            self._show()

    def settle(self) -> None:
        """Withdraw questions that are closed."""
        for key, one in list(self._open.items()):
            if not is_open(self._session, one.question):
                del self._open[key]
                if one.is_shown:
                    self._terminal.unask()
                    self._terminal.note(_CLOSED)

    def clear(self) -> None:
        """Withdraw all questions silently."""
        self._open.clear()
        self._terminal.unask()

    def _add(self, question: Question, diff: str = "") -> None:
        """Add a question. If it is open already, it is asked anew only if it has changed."""
        match question:
            case ToolWaiting(call=call):
                key, dialog = ("call", call.tool_call_id), ask_call(call, diff)
            case ResultWaiting(call=call):
                key, dialog = ("result", call.tool_call_id), ask_result(call)
            case QuestionAsked(request=request):
                key, dialog = ("question", request.id), ask_questions(request)
        known = self._open.get(key)
        if known is None or known.question != question:
            self._open.pop(key, None)
            self._open[key] = _Open(question, dialog)

    def _show(self) -> None:
        """Ask the first open question, if it is not asked already."""
        current = next(iter(self._open.values()), None)
        if current is not None and not current.is_shown:
            current.is_shown = True
            self._ask(next(current.dialog))

    def _ask(self, asked: Ask) -> None:
        self._terminal.ask(asked)
        self._listen()


def is_open(session: SessionClient, question: Question) -> bool:
    """Tell whether the host still waits for an answer to a question."""
    live = session.live
    if live is None:
        return False
    if isinstance(question, QuestionAsked):
        return any(request.id == question.request.id for request in live.head.input_requests or ())
    return live.turn is not None and live.turn.call(question.call.tool_call_id) == question.call
