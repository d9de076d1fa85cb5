"""Approvals and questions as a conversation of lines, for a terminal or a chat room.

A dialog is a generator: it yields what to show, is sent the line that was typed (`None` when there will be no
more), and returns what was decided. It checks each line and asks again when it does not fit. Nothing here
reads or prints.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast

from serai.ahp.rules.answers import problem_with_answer
from serai.ahp.types import (
    ConfirmationOption,
    ConfirmationOptionKind,
    SessionInputAnswered,
    SessionInputBooleanQuestion,
    SessionInputIntegerQuestion,
    SessionInputMultiSelectQuestion,
    SessionInputNumberQuestion,
    SessionInputOption,
    SessionInputQuestion,
    SessionInputRequest,
    SessionInputSingleSelectQuestion,
    SessionInputTextQuestion,
    ToolCallPendingConfirmationState,
    ToolCallPendingResultConfirmationState,
)
from serai.ahp.wire import Unknown
from serai.cli.chat.view import about, last_lines, text_of
from serai.cli.console.output import plain
from serai.client.answers import AnswerValue, answer_to
from serai.errors import Rejected

__all__ = [
    "Allow",
    "Decision",
    "Dialog",
    "Refuse",
    "Reply",
    "ask_call",
    "ask_questions",
    "ask_result",
]

_NOBODY = "there was nobody to ask"
_WHOLE_NUMBER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, slots=True)
class Allow:
    """The call may run, or its result may be used."""

    option: str | None = None
    edited_input: str | None = None


@dataclass(frozen=True, slots=True)
class Refuse:
    """It may not; or a question is not answered."""

    option: str | None = None
    reason: str | None = None
    suggestion: str | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answers to a request, by question."""

    answers: Mapping[str, AnswerValue] = field(default_factory=dict[str, AnswerValue])


Decision: TypeAlias = Allow | Refuse | Reply
Dialog: TypeAlias = Generator[str, str | None, Decision]


# -- tool calls --------------------------------------------------------------------------------------------


def ask_call(call: ToolCallPendingConfirmationState) -> Dialog:
    """Ask whether a call may run."""
    options = call.options or []
    said = yield f"{_about(call)}\n{_menu(call, options)}"
    while True:
        word = (said or "").strip().casefold()
        option = _option(options, word)
        if said is None:
            return Refuse(reason=_NOBODY)
        if option is not None:
            is_yes = option.kind == ConfirmationOptionKind.APPROVE
            return Allow(option=option.id) if is_yes else Refuse(option=option.id)
        if word in {"y", "yes"}:
            return Allow(option=_first(options, ConfirmationOptionKind.APPROVE))
        if word in {"n", "no"}:
            return Refuse(option=_first(options, ConfirmationOptionKind.DENY))
        if word == "s":
            instead = yield "What should it do instead? "
            no = _first(options, ConfirmationOptionKind.DENY)
            return Refuse(option=no, suggestion=(instead or "").strip() or None)
        if word == "e" and call.editable:
            changed = yield from _edited(call.tool_input or "")
            if changed is not None:
                return Allow(option=_first(options, ConfirmationOptionKind.APPROVE), edited_input=changed)
        said = yield _menu(call, options)


def ask_result(call: ToolCallPendingResultConfirmationState) -> Dialog:
    """Ask whether the agent may have what a tool brought."""
    shown = [plain(call.past_tense_message)]
    shown += [f"  | {line}" for line in last_lines(text_of(call.content))]
    shown += [f"  | {line}" for line in map(about, call.content or ()) if line]
    said = yield "\n".join(shown) + "\nMay the agent use this result? [y/n] "
    while True:
        word = (said or "").strip().casefold()
        if said is None or word in {"n", "no"}:
            return Refuse(reason=_NOBODY if said is None else None)
        if word in {"y", "yes"}:
            return Allow()
        said = yield "May the agent use this result? [y/n] "


def _about(call: ToolCallPendingConfirmationState) -> str:
    lines = [plain(call.confirmation_title) or f"{call.display_name}?", f"  {plain(call.invocation_message)}"]
    if call.tool_input:
        lines.append(f"  input: {call.tool_input}")
    for edit in call.edits.items if call.edits else ():
        side = edit.after or edit.before
        counts = f" (+{edit.diff.added or 0} -{edit.diff.removed or 0})" if edit.diff else ""
        lines.append(f"  changes: {side.uri if side else 'a file'}{counts}")
    return "\n".join(lines)


def _menu(call: ToolCallPendingConfirmationState, options: list[ConfirmationOption]) -> str:
    lines = [f"  {number}  {option.label}" for number, option in enumerate(options, start=1)]
    lines += [] if options else ["  y  allow", "  n  do not allow"]
    lines += ["  e  change its input, and allow it"] if call.editable else []
    lines += ["  s  do not allow, and say what to do instead"]
    return "\n".join(lines) + "\nYour choice: "


def _option(options: list[ConfirmationOption], word: str) -> ConfirmationOption | None:
    number = _place(word, len(options))
    if number is not None:
        return options[number]
    return next((option for option in options if word and word == option.id.casefold()), None)


def _place(word: str, count: int) -> int | None:
    """A number from 1 on as a place in a list."""
    known = {str(number + 1): number for number in range(count)}
    return known.get(word)


def _first(options: list[ConfirmationOption], kind: ConfirmationOptionKind) -> str | None:
    return next((option.id for option in options if option.kind == kind), None)


def _edited(before: str) -> Generator[str, str | None, str | None]:
    """The input as it is to be; `None` when it was left as it is. JSON stays JSON."""
    problem = ""
    while True:
        said = yield f"{problem}New input (empty for no change): "
        text = (said or "").strip()
        if not text:
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


def ask_questions(request: SessionInputRequest) -> Dialog:
    """Ask all questions of a request, one after the other. `/decline` gives no answers at all."""
    head = [request.message] if request.message else []
    head += [f"Open this address: {request.url}"] if request.url else []
    intro = "".join(f"{line}\n" for line in head)
    answers: dict[str, AnswerValue] = {}
    for question in request.questions or ():
        found = yield from _ask(request, question, intro)
        if isinstance(found, Refuse):
            return found
        answers.update(found)
        intro = ""
    if not request.questions:
        said = yield f"{intro}Go on? [y/n] "
        while said is not None and said.strip().casefold() not in {"y", "yes", "n", "no", "/decline"}:
            said = yield "Go on? [y/n] "
        if said is None or said.strip().casefold() not in {"y", "yes"}:
            return Refuse(reason=_NOBODY if said is None else None)
    return Reply(answers)


def _ask(
    request: SessionInputRequest, question: SessionInputQuestion, intro: str
) -> Generator[str, str | None, dict[str, AnswerValue] | Refuse]:
    if isinstance(question, Unknown):
        return {}  # a kind that is newer than we are; the host says whether it can do without
    default = _default(request, question)
    problem = ""
    while True:
        said = yield f"{intro}{problem}{_wording(question, default)}"
        intro = ""
        text = (said or "").strip()
        if said is None or text == "/decline":
            return Refuse(reason=_NOBODY if said is None else None)
        if not text and default is not None:
            return {question.id: default}
        if not text and not question.required:
            return {question.id: None}
        if not text:
            problem = "An answer is needed (or /decline).\n"
            continue
        value = _read(question, text)
        if value is None:
            problem = f"{text!r} does not answer this.{_how_to_quote(question, text)}\n"
            continue
        try:
            found = problem_with_answer(request, question.id, answer_to(question, value))
        except Rejected as error:
            found = error.reason
        if found is None:
            return {question.id: value}
        problem = f"It {found.removeprefix(f'the answer to {question.id!r} ')}.\n"


def _default(request: SessionInputRequest, question: Any) -> AnswerValue:
    """What an empty line means: what someone has begun to answer, else what the question itself says."""
    draft = (request.answers or {}).get(question.id)
    if isinstance(draft, SessionInputAnswered):
        return draft.value
    if isinstance(question, SessionInputSingleSelectQuestion):
        return next((option.id for option in question.options if option.recommended), None)
    if isinstance(question, SessionInputMultiSelectQuestion):
        return [option.id for option in question.options if option.recommended] or None
    return question.default_value


def _wording(question: Any, default: AnswerValue) -> str:
    title = f"{question.title}: " if question.title else ""
    lines = [f"{title}{question.message}"]
    options: list[SessionInputOption] = getattr(question, "options", [])
    for number, option in enumerate(options, start=1):
        about = f": {option.description}" if option.description else ""
        lines.append(f"  {number}  {option.label}{about}{' (recommended)' if option.recommended else ''}")
    hints = [_HINTS[type(question)]]
    hints += ["or text of your own"] if getattr(question, "allow_freeform_input", False) else []
    hints += _bounds(question)
    hints += [f"format {question.format}"] if getattr(question, "format", None) else []
    hints += [] if question.required else ["optional"]
    if default is not None:
        hints.append(f"empty: {_shown(default)}")
    return "\n".join(lines) + f"\n({', '.join(hints)}) "


def _bounds(question: Any) -> list[str]:
    low, high = getattr(question, "min", None), getattr(question, "max", None)
    unit = next((unit for kind, unit in _UNITS.items() if isinstance(question, kind)), "")
    if low is not None and high is not None:
        return [f"{low} to {high}{unit}"]
    return [
        f"{words} {bound}{unit}"
        for words, bound in (("at least", low), ("at most", high))
        if bound is not None
    ]


_UNITS: dict[type, str] = {
    SessionInputTextQuestion: " characters",
    SessionInputMultiSelectQuestion: " of them",
}

_HINTS: dict[type, str] = {
    SessionInputTextQuestion: "text",
    SessionInputNumberQuestion: "a number",
    SessionInputIntegerQuestion: "a whole number",
    SessionInputBooleanQuestion: "y or n",
    SessionInputSingleSelectQuestion: "one of the numbers",
    SessionInputMultiSelectQuestion: "numbers, with commas between",
}


def _shown(default: AnswerValue) -> str:
    value: Any = getattr(default, "value", default)
    if isinstance(value, bool):
        return "y" if value else "n"
    return ", ".join(cast("list[str]", value)) if isinstance(value, list | tuple) else str(value)


def _read(question: Any, text: str) -> AnswerValue:
    """A line as the value that it stands for; `None` when it stands for none."""
    match question:
        case SessionInputBooleanQuestion():
            return {"y": True, "yes": True, "n": False, "no": False}.get(text.casefold())
        case SessionInputNumberQuestion():
            return _number(text)
        case SessionInputSingleSelectQuestion():
            return _chosen(question.options, text, question.allow_freeform_input)
        case SessionInputMultiSelectQuestion():
            free = question.allow_freeform_input
            found = [_chosen(question.options, one.strip(), free) for one in text.split(",") if one.strip()]
            several = [one for one in found if one is not None]
            return several if len(several) == len(found) else None
        case _:
            return text


def _number(text: str) -> float | int | None:
    readers: tuple[Callable[[str], float], ...] = (int, float)
    for read in readers:
        try:
            value = read(text)
        except ValueError:
            continue
        return value if value == value and abs(value) != float("inf") else None  # noqa: PLR0124 - not NaN
    return None


def _chosen(options: list[SessionInputOption], text: str, free: bool | None) -> str | None:
    number = _place(text, len(options))
    if number is not None:
        return options[number].id
    word = text.casefold()
    named = (option.id for option in options if word in {option.id.casefold(), option.label.casefold()})
    return next(named, _free_text(text) if free else None)


def _free_text(text: str) -> str | None:
    """Text of one's own. A bare number was meant to be that of an option; in quotes it is text."""
    unquoted = text.removeprefix('"').removesuffix('"')
    if not _WHOLE_NUMBER.fullmatch(unquoted):
        return text
    return unquoted if text == f'"{unquoted}"' else None


def _how_to_quote(question: Any, text: str) -> str:
    """For a number that is no option's, where there could be text."""
    if not getattr(question, "allow_freeform_input", False):
        return ""
    numbers = filter(_WHOLE_NUMBER.fullmatch, map(str.strip, text.split(",")))
    other = next((one for one in numbers if _chosen(question.options, one, free=False) is None), None)
    return f' As text of your own, a number goes in quotes: "{other}".' if other is not None else ""
