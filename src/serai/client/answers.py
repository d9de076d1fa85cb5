"""Plain Python values as answers to questions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias, cast

from serai.ahp.types import (
    SessionInputAnswer,
    SessionInputAnswerValue,
    SessionInputBooleanAnswerValue,
    SessionInputBooleanQuestion,
    SessionInputMultiSelectQuestion,
    SessionInputNumberAnswerValue,
    SessionInputNumberQuestion,
    SessionInputQuestion,
    SessionInputRequest,
    SessionInputSelectedAnswerValue,
    SessionInputSelectedManyAnswerValue,
    SessionInputSingleSelectQuestion,
    SessionInputSkipped,
    SessionInputSubmitted,
    SessionInputTextAnswerValue,
)
from serai.ahp.wire import Unknown
from serai.errors import Rejected

AnswerValue: TypeAlias = str | bool | float | list[str] | tuple[str, ...] | None
"""Text, a number, yes or no, the ids of options, or `None` for a question that is passed over.

Text that is no option's id is free text, where the question allows it."""


def answers_to(
    request: SessionInputRequest, values: Mapping[str, AnswerValue]
) -> dict[str, SessionInputAnswer]:
    """All answers to a request, by the ids of its questions.

    Raises:
        Rejected: A question is not in the request, or a value is of the wrong kind.
    """
    questions = {_id_of(question): question for question in request.questions or ()}
    found: dict[str, SessionInputAnswer] = {}
    for question_id, value in values.items():
        question = questions.get(question_id)
        if question is None:
            known = ", ".join(key for key in questions if key) or "none"
            raise Rejected(f"bad_answer: the request asks no question {question_id!r}; it asks: {known}")
        found[question_id] = answer_to(question, value)
    return found


def answer_to(question: SessionInputQuestion, value: AnswerValue) -> SessionInputAnswer:
    """One answer. Whether it keeps the question's bounds, the host says.

    Raises:
        Rejected: The value is of the wrong kind.
    """
    if value is None:
        return SessionInputSkipped()
    made = _value_of(question, value)
    if made is None:
        kind = "an unknown kind" if isinstance(question, Unknown) else type(question).__struct_config__.tag
        raise Rejected(f"bad_answer: {value!r} does not answer {_id_of(question)!r}, a question of {kind}")
    return SessionInputSubmitted(value=made)


def _value_of(question: SessionInputQuestion, value: Any) -> SessionInputAnswerValue | None:
    match question:
        case SessionInputBooleanQuestion():
            return SessionInputBooleanAnswerValue(value=value) if isinstance(value, bool) else None
        case SessionInputNumberQuestion():
            is_number = isinstance(value, int | float) and not isinstance(value, bool)
            return SessionInputNumberAnswerValue(value=value) if is_number else None
        case SessionInputSingleSelectQuestion():
            return _one_of(question, value) if isinstance(value, str) else None
        case SessionInputMultiSelectQuestion():
            several = _texts(value)
            return None if several is None else _some_of(question, several)
        case _:  # text, and questions of kinds that are newer than this client
            return SessionInputTextAnswerValue(value=value) if isinstance(value, str) else None


def _texts(value: Any) -> list[str] | None:
    if not isinstance(value, list | tuple):
        return [value] if isinstance(value, str) else None
    several = cast("list[Any]", value)
    texts = [one for one in several if isinstance(one, str)]
    return texts if len(texts) == len(several) else None


def _one_of(question: SessionInputSingleSelectQuestion, value: str) -> SessionInputSelectedAnswerValue:
    if any(option.id == value for option in question.options) or not question.allow_freeform_input:
        return SessionInputSelectedAnswerValue(value=value)
    return SessionInputSelectedAnswerValue(value="", freeform_values=[value])


def _some_of(
    question: SessionInputMultiSelectQuestion, values: list[str]
) -> SessionInputSelectedManyAnswerValue:
    options = {option.id for option in question.options}
    free = [one for one in values if one not in options] if question.allow_freeform_input else []
    chosen = [one for one in values if one not in free]
    return SessionInputSelectedManyAnswerValue(value=chosen, freeform_values=free or None)


def _id_of(question: SessionInputQuestion) -> str:
    return str(question.raw.get("id", "")) if isinstance(question, Unknown) else question.id
