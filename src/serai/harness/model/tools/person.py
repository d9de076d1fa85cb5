"""`ask_user`: a question to the person, with answers to choose from or without."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta, field

from serai.ahp import types as t
from serai.errors import ToolError
from serai.harness.model.tool import Asking, BuiltIn, ToolAnswer, ToolContext

_QUESTION = "answer"


class AskUser(BuiltIn):
    """Ask the person something, and wait for the answer."""

    name, title = "ask_user", "Ask the person"
    asking, is_idempotent = Asking.NEVER, True

    question: Annotated[str, Meta(min_length=1)]
    options: Annotated[list[str], Meta(max_length=20, description="Answers to choose from")] = field(
        default_factory=list[str]
    )

    def summary(self) -> str:
        """Return the question."""
        return self.question

    async def run(self, context: ToolContext) -> ToolAnswer:
        """Ask the question. It keeps its id when the call runs again after a restart."""
        request_id = f"{context.call.id}-question"
        asked = t.SessionInputRequest(id=request_id, message=self.question, questions=[self._asked()])
        answers = await context.turn.ask(asked)
        said = self._said(answers.answers.get(_QUESTION)) if answers.accepted else ""
        if not said:
            raise ToolError("the person did not answer")
        return ToolAnswer(said)

    def _asked(self) -> t.SessionInputQuestion:
        if not self.options:
            return t.SessionInputTextQuestion(id=_QUESTION, message=self.question, required=True)
        options = [
            t.SessionInputOption(id=str(number), label=label) for number, label in enumerate(self.options)
        ]
        return t.SessionInputSingleSelectQuestion(
            id=_QUESTION, message=self.question, required=True, options=options, allow_freeform_input=True
        )

    def _said(self, answer: t.SessionInputAnswer | None) -> str:
        match answer:
            case t.SessionInputSubmitted(value=t.SessionInputTextAnswerValue(value=text)):
                return text
            case t.SessionInputSubmitted(value=t.SessionInputSelectedAnswerValue(value=chosen) as value):
                picked = [label for number, label in enumerate(self.options) if str(number) == chosen]
                return "; ".join([*picked, *(value.freeform_values or ())])
            case t.SessionInputSkipped(freeform_values=own):
                return "; ".join(own or ())
            case _:
                return ""
