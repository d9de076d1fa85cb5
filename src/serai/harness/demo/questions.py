"""The questions of the demo agent: a request with every kind of question, and a summary of the answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from serai.ahp import types as t
from serai.ahp.wire import Unknown
from serai.harness.demo.stage import DemoStage, Misuse, quoted

_URL = "https://example.com/"

_BREAD = [
    t.SessionInputOption(id="flat", label="Flat bread", description="As it is made here", recommended=True),
    t.SessionInputOption(id="rye", label="Rye bread"),
    t.SessionInputOption(id="none", label="No bread", description="The soup is thick enough"),
]
_EXTRAS = [
    t.SessionInputOption(id="tea", label="Tea", recommended=True),
    t.SessionInputOption(id="dates", label="Dates", recommended=True),
    t.SessionInputOption(id="lamp", label="A lamp", description="For those who read at night"),
    t.SessionInputOption(id="story", label="A story"),
]

Question: TypeAlias = (
    t.SessionInputTextQuestion
    | t.SessionInputNumberQuestion
    | t.SessionInputIntegerQuestion
    | t.SessionInputBooleanQuestion
    | t.SessionInputSingleSelectQuestion
    | t.SessionInputMultiSelectQuestion
)
"""All kinds of questions."""

QUESTIONS: Mapping[str, tuple[Question, ...]] = {
    "text": (
        t.SessionInputTextQuestion(
            id="name",
            title="Name",
            message="What may I call you?",
            required=True,
            min=2,
            default_value="Traveller",
        ),
        t.SessionInputTextQuestion(
            id="email", title="Address", message="Where do letters reach you?", format="email", max=200
        ),
    ),
    "number": (
        t.SessionInputNumberQuestion(
            id="warmth", title="Warmth", message="How warm, in °C?", min=10, max=30, default_value=19.5
        ),
    ),
    "integer": (
        t.SessionInputIntegerQuestion(
            id="nights", title="Nights", message="How many nights?", min=1, max=14, default_value=2
        ),
    ),
    "boolean": (
        t.SessionInputBooleanQuestion(
            id="camel", title="Camel", message="Do you bring a camel?", default_value=False
        ),
    ),
    "single": (
        t.SessionInputSingleSelectQuestion(
            id="bread", title="Bread", message="Which bread?", options=_BREAD, allow_freeform_input=True
        ),
    ),
    "multi": (
        t.SessionInputMultiSelectQuestion(
            id="extras",
            title="Extras",
            message="What else?",
            options=_EXTRAS,
            allow_freeform_input=True,
            min=1,
            max=3,
        ),
    ),
}
"""The questions, by kind."""

KINDS = (*QUESTIONS, "url")
"""The arguments of `ask`: a kind of question, or `url` to open an address."""


async def ask(stage: DemoStage, kind: str) -> None:
    """Ask all questions, or those of one kind, and repeat the answers."""
    request = _request(stage.question_id(), kind.lower())
    reply = await stage.turn.ask(request)
    match reply.response:
        case t.SessionInputResponseKind.ACCEPT:
            pass
        case t.SessionInputResponseKind.DECLINE:
            await stage.say("You would rather not say. That is your right.")
            return
        case _:
            await stage.say("You closed the questions, so I leave it at that.")
            return
    questions = [question for question in request.questions or () if not isinstance(question, Unknown)]
    if not questions:
        await stage.say(f"Thank you for looking at {_URL}.")
        return
    told = [
        f"- {question.title}: {_answer_text(question, reply.answers.get(question.id))}"
        for question in questions
    ]
    await stage.say("Thank you. I have written down:\n\n" + "\n".join(told))


def _request(request_id: str, kind: str) -> t.SessionInputRequest:
    if kind == "url":
        message = "Please look at this page, then come back."
        return t.SessionInputRequest(id=request_id, message=message, url=_URL)
    if kind and kind not in QUESTIONS:
        raise Misuse(f"{quoted(kind)} is no kind of question")
    asked = [question for name, some in QUESTIONS.items() if kind in {"", name} for question in some]
    message = (
        "One question." if len(asked) == 1 else "Some questions for the guest book. Only the name is needed."
    )
    return t.SessionInputRequest(
        id=request_id, message=message, url=None if kind else _URL, questions=[*asked]
    )


def _answer_text(question: Question, answer: t.SessionInputAnswer | None) -> str:
    default = getattr(question, "default_value", None)
    match answer:
        case None:
            return "no answer" if default is None else f"no answer, so I take {_plain(default)}"
        case t.SessionInputAnswered(value=value) if not isinstance(value, Unknown):
            draft = ", only a draft" if isinstance(answer, t.SessionInputDraft) else ""
            return _value(question, value) + draft
        case _:
            why = getattr(answer, "freeform_values", None)
            return f"skipped ({quoted(' '.join(why))})" if why else "skipped"


def _value(question: Question, value: t.SessionInputAnswerValue) -> str:
    if not isinstance(value, t.SessionInputSelectedAnswerValue | t.SessionInputSelectedManyAnswerValue):
        return _plain(getattr(value, "value", None))
    labels = {option.id: option.label for option in getattr(question, "options", ())}
    chosen = [value.value] if isinstance(value.value, str) else value.value
    named = [labels.get(option_id, option_id) for option_id in chosen if option_id]
    return ", ".join([*named, *map(quoted, value.freeform_values or ())]) or "none"


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return quoted(value) if isinstance(value, str) else f"{value:g}"
