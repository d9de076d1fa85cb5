"""Approvals and questions as a conversation of lines.

A dialog is a generator: it yields what to ask, is sent the line that was typed (`None` when there will be no
more), and returns what was decided. Nothing here reads or prints.
"""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Any, TypeAlias, cast

from serai.ahp.rules.answers import problem_with_answer
from serai.ahp.types import (
    ConfirmationOption,
    ConfirmationOptionKind,
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
from serai.cli.chat.view import about, about_edit, last_lines, text_of
from serai.cli.console.output import plain
from serai.cli.console.terminal import Ask
from serai.client.answers import AnswerValue, answer_to
from serai.errors import Rejected

_NOBODY = "there was nobody to ask"


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


Dialog: TypeAlias = Generator[Ask, str | None, Decision]


# -- tool calls --------------------------------------------------------------------------------------------


def ask_call(call: ToolCallPendingConfirmationState, diff: str = "") -> Dialog:
    """Ask whether a call may run, with the diff of what it is going to change."""
    options = call.options or []
    said = yield _menu(call, options, f"{_about(call)}\n{diff}")
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
            instead = yield Ask("What should it do instead? ")
            no = _first(options, ConfirmationOptionKind.DENY)
            return Refuse(option=no, suggestion=(instead or "").strip() or None)
        if word == "e" and call.editable:
            changed = yield from _edited(call.tool_input or "")
            if changed is not None:
                return Allow(option=_first(options, ConfirmationOptionKind.APPROVE), edited_input=changed)
        said = yield _menu(call, options)


def ask_result(call: ToolCallPendingResultConfirmationState) -> Dialog:
    """Ask whether the agent may have what a tool brought."""
    lines = [*last_lines(text_of(call.content)), *filter(None, map(about, call.content or ()))]
    shown = [plain(call.past_tense_message), *(f"  | {line}" for line in lines)]
    return (yield from _yes_or_no("\n".join(shown) + "\n", "May the agent use this result? [y/n] ", Allow()))


def _yes_or_no(intro: str, question: str, yes: Decision) -> Dialog:
    choices = frozenset({"y", "yes", "n", "no"})
    said = yield Ask(intro + question, choices=choices)
    while said is not None and (word := said.strip().casefold()) not in {"n", "no", "/decline"}:
        if word in {"y", "yes"}:
            return yes
        said = yield Ask(question, choices=choices)
    return Refuse(reason=_NOBODY if said is None else None)


def _about(call: ToolCallPendingConfirmationState) -> str:
    lines = [plain(call.confirmation_title) or f"{call.display_name}?", f"  {plain(call.invocation_message)}"]
    if call.tool_input:
        lines.append(f"  input: {call.tool_input}")
    lines += [f"  {about_edit(edit)}" for edit in (call.edits.items if call.edits else ())]
    return "\n".join(lines)


def _menu(call: ToolCallPendingConfirmationState, options: list[ConfirmationOption], intro: str = "") -> Ask:
    lines = [f"  {number}  {option.label}" for number, option in enumerate(options, start=1)]
    lines += [] if options else ["  y  allow", "  n  do not allow"]
    lines += ["  e  change its input, and allow it"] if call.editable else []
    lines += ["  s  do not allow, and say what to do instead"]
    keys = dict.fromkeys(["y", "n", *(line.split()[0] for line in lines)])
    text = "\n".join([*lines, f"({'/'.join(keys)}) Your choice: "])
    words = {*keys, "yes", "no", *(option.id.casefold() for option in options)}
    return Ask(f"{intro}{text}", choices=frozenset(words))


def _option(options: list[ConfirmationOption], word: str) -> ConfirmationOption | None:
    places = {str(number): option for number, option in enumerate(options, start=1)}
    named = {option.id.casefold(): option for option in reversed(options)}
    return places.get(word) or named.get(word)


def _first(options: list[ConfirmationOption], kind: ConfirmationOptionKind) -> str | None:
    return next((option.id for option in options if option.kind == kind), None)


def _edited(before: str) -> Generator[Ask, str | None, str | None]:
    """The input as it is to be; `None` when it was left as it is. JSON stays JSON."""
    problem, text = "", before
    while True:
        said = yield Ask(f"{problem}New input (empty for no change): ", prefill=text)
        text = (said or "").strip()
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
        return (yield from _yes_or_no(intro, "Go on? [y/n] ", Reply()))
    return Reply(answers)


def _ask(
    request: SessionInputRequest, question: SessionInputQuestion, intro: str
) -> Generator[Ask, str | None, dict[str, AnswerValue] | Refuse]:
    if isinstance(question, Unknown):
        return {}  # a kind that is newer than we are; the host says whether it can do without
    default = _default(question)
    problem = ""
    while True:
        is_secret = getattr(question, "format", None) == "password"
        said = yield Ask(f"{intro}{problem}{_wording(question, default)}", secret=is_secret)
        intro = ""
        text = (said or "").strip()
        if said is None or text == "/decline":
            return Refuse(reason=_NOBODY if said is None else None)
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
    """What an empty line means."""
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
    for words, bound in (
        ("at least", getattr(question, "min", None)),
        ("at most", getattr(question, "max", None)),
    ):
        hints += [f"{words} {bound}{_UNITS.get(question.__class__, '')}"] if bound is not None else []
    hints += [] if question.required else ["optional"]
    hints += [f"empty: {_shown(default)}"] if default is not None else []
    return "\n".join(lines) + f"\n({', '.join(hints)}) "


_UNITS: dict[Any, str] = {
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


def _shown(value: AnswerValue) -> str:
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
    try:
        value = float(text)
    except ValueError:
        return None
    if not isfinite(value):
        return None
    return int(text) if text.lstrip("+-").isdecimal() else value


def _chosen(options: list[SessionInputOption], text: str, free: bool | None) -> str | None:
    """The option that a number or a word means, or text of one's own where that is allowed."""
    places = {str(number): option.id for number, option in enumerate(options, start=1)}
    word = text.casefold()
    named = (option.id for option in options if word in {option.id.casefold(), option.label.casefold()})
    return places.get(text) or next(named, text if free else None)
