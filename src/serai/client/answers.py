"""Converts plain Python values into answers to questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from serai.ahp import types as t
from serai.ahp.wire import Unknown
from serai.errors import Rejected

AnswerValue: TypeAlias = str | bool | float | list[str] | tuple[str, ...] | None
"""Text, a number, yes or no, ids of options, or `None` to skip a question.

Text that is not the id of an option is free text, where the question allows it."""


def answers_to(
    request: t.SessionInputRequest, values: Mapping[str, AnswerValue]
) -> dict[str, t.SessionInputAnswer]:
    """Return the answers to a request, by the ids of its questions.

    Raises:
        Rejected: A question is not in the request, or a value is of the wrong kind.
    """
    questions = {_id_of(question): question for question in request.questions or ()}
    found: dict[str, t.SessionInputAnswer] = {}
    for question_id, value in values.items():
        question = questions.get(question_id)
        if question is None:
            known = ", ".join(key for key in questions if key) or "none"
            raise Rejected(f"bad_answer: the request asks no question {question_id!r}; it asks: {known}")
        found[question_id] = answer_to(question, value)
    return found


def answer_to(question: t.SessionInputQuestion, value: AnswerValue) -> t.SessionInputAnswer:
    """Return one answer. The host checks the bounds of the question.

    Raises:
        Rejected: The value is of the wrong kind.
    """
    if value is None:
        return t.SessionInputSkipped()
    made = _value_of(question, value)
    if made is None:
        kind = "an unknown kind" if isinstance(question, Unknown) else type(question).__struct_config__.tag
        raise Rejected(f"bad_answer: {value!r} does not answer {_id_of(question)!r}, a question of {kind}")
    return t.SessionInputSubmitted(value=made)


def _value_of(question: t.SessionInputQuestion, value: Any) -> t.SessionInputAnswerValue | None:
    match question, value:
        case t.SessionInputBooleanQuestion(), bool():
            return t.SessionInputBooleanAnswerValue(value=value)
        case t.SessionInputNumberQuestion(), int() | float() if not isinstance(value, bool):
            return t.SessionInputNumberAnswerValue(value=value)
        case (t.SessionInputSingleSelectQuestion(), str()) | (
            t.SessionInputMultiSelectQuestion(),
            str() | [*_],
        ):
            values: list[Any] = [value] if isinstance(value, str) else list(value)
            if any(not isinstance(one, str) for one in values):
                return None
            options = {option.id for option in question.options}
            free = [one for one in values if one not in options and question.allow_freeform_input]
            chosen = [one for one in values if one not in free]
            if isinstance(question, t.SessionInputSingleSelectQuestion):
                return t.SessionInputSelectedAnswerValue(value="".join(chosen), freeform_values=free or None)
            return t.SessionInputSelectedManyAnswerValue(value=chosen, freeform_values=free or None)
        case ((t.SessionInputTextQuestion() | Unknown()), str()):
            return t.SessionInputTextAnswerValue(value=value)
        case _:
            return None


def _id_of(question: t.SessionInputQuestion) -> str:
    return str(question.raw.get("id", "")) if isinstance(question, Unknown) else question.id
