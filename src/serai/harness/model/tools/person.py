"""`ask_user`: a question to the person, with answers to choose from or without."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from serai.ahp import types as t
from serai.errors import ToolFailed
from serai.harness.model.tool import Asking, Tool, ToolContext, ToolInput, ToolOutput

_QUESTION = "answer"


def question_id(call_id: str) -> str:
    """The id of the question that a call asks: the same whenever the call runs again."""
    return f"{call_id}-question"


class AskUserInput(ToolInput):
    """What is asked."""

    question: Annotated[str, Meta(min_length=1)]
    options: Annotated[list[str], Meta(max_length=20, description="Answers to choose from")] = field(
        default_factory=list[str]
    )


class AskUser(Tool[AskUserInput]):
    """Asks the person, and waits for the answer."""

    name, title = "ask_user", "Ask the person"
    description = "Ask the person something, and wait for the answer."
    takes = AskUserInput
    asking, is_idempotent = Asking.NEVER, True

    def summary(self, given: AskUserInput) -> str:
        """See `Tool`."""
        return given.question

    async def run(self, given: AskUserInput, context: ToolContext) -> ToolOutput:
        """See `Tool`. The question has the same id when the call runs again after a restart."""
        answers = await context.turn.ask(
            t.SessionInputRequest(
                id=question_id(context.call.id), message=given.question, questions=[_question(given)]
            )
        )
        said = _said(given, answers.answers.get(_QUESTION)) if answers.accepted else ""
        if not said:
            raise ToolFailed("the person did not answer")
        return ToolOutput(said)


def _said(given: AskUserInput, answer: t.SessionInputAnswer | None) -> str:
    match answer:
        case t.SessionInputSubmitted(value=t.SessionInputTextAnswerValue(value=text)):
            return text
        case t.SessionInputSubmitted(value=t.SessionInputSelectedAnswerValue(value=chosen) as value):
            picked = [given.options[int(chosen)]] if chosen in _ids(given) else []
            return "; ".join([*picked, *(value.freeform_values or ())])
        case t.SessionInputSkipped(freeform_values=own):
            return "; ".join(own or ())
        case _:
            return ""


def _ids(given: AskUserInput) -> list[str]:
    return [str(number) for number in range(len(given.options))]


def _question(given: AskUserInput) -> t.SessionInputQuestion:
    if not given.options:
        return t.SessionInputTextQuestion(id=_QUESTION, message=given.question, required=True)
    options = [
        t.SessionInputOption(id=number, label=label)
        for number, label in zip(_ids(given), given.options, strict=True)
    ]
    return t.SessionInputSingleSelectQuestion(
        id=_QUESTION, message=given.question, required=True, options=options, allow_freeform_input=True
    )
