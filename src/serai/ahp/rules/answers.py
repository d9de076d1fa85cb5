"""Checks of answers against their questions."""

from __future__ import annotations

from collections.abc import Mapping

from serai.ahp.types import (
    Number,
    SessionInputAnswer,
    SessionInputAnswerValue,
    SessionInputBooleanAnswerValue,
    SessionInputBooleanQuestion,
    SessionInputIntegerQuestion,
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
    SessionInputTextQuestion,
)
from serai.ahp.wire import Unknown, Value


def problem_with_answer(
    request: SessionInputRequest, question_id: str, answer: SessionInputAnswer, *, final: bool = False
) -> str | None:
    """Return why an answer does not fit its question; `None` when it does.

    A draft needs the right kind of value and no more; a submitted answer has to keep the question's bounds,
    and so has a draft that is `final`: it goes to the agent as it is. A `format` is a hint for who answers.
    """
    question = _question(request, question_id)
    if question is None and not request.questions:
        return None  # a request without questions accepts any answer
    if question is None:
        return f"the request asks no question {question_id!r}"
    if isinstance(answer, Unknown):
        return f"the answer to {question_id!r} is in a state that this host does not know"
    if isinstance(answer, SessionInputSkipped) or isinstance(question, Unknown):
        return None
    wanted, problem = _VALUES[type(question)], None
    if not isinstance(answer.value, wanted):
        problem = f"must be of kind {wanted.__struct_config__.tag!r}"
    elif final or isinstance(answer, SessionInputSubmitted):
        problem = _bounds_problem(question, answer.value)
    return problem and f"the answer to {question_id!r} {problem}"


def problem_with_answers(
    request: SessionInputRequest, final: Mapping[str, SessionInputAnswer] | None
) -> str | None:
    """Return why a request cannot be accepted with these answers; `None` when it can."""
    # Earlier answers may belong to a request that this one has replaced, with other questions.
    synced = {key: answer for key, answer in (request.answers or {}).items() if _question(request, key)}
    answers = {**synced, **(final or {})}
    for question_id, answer in answers.items():
        problem = problem_with_answer(request, question_id, answer, final=True)
        if problem:
            return problem
    for question in request.questions or ():
        if isinstance(question, Unknown) or not question.required:
            continue
        if not isinstance(answers.get(question.id), SessionInputSubmitted):
            return f"the question {question.id!r} is required and has no submitted answer"
    return None


def _question(request: SessionInputRequest, question_id: str) -> SessionInputQuestion | None:
    for question in request.questions or ():
        if (question.raw.get("id") if isinstance(question, Unknown) else question.id) == question_id:
            return question
    return None


_VALUES: dict[type, type[Value]] = {
    SessionInputTextQuestion: SessionInputTextAnswerValue,
    SessionInputNumberQuestion: SessionInputNumberAnswerValue,
    SessionInputIntegerQuestion: SessionInputNumberAnswerValue,
    SessionInputBooleanQuestion: SessionInputBooleanAnswerValue,
    SessionInputSingleSelectQuestion: SessionInputSelectedAnswerValue,
    SessionInputMultiSelectQuestion: SessionInputSelectedManyAnswerValue,
}


def _bounds_problem(question: SessionInputQuestion, value: SessionInputAnswerValue) -> str | None:
    match question, value:
        case SessionInputTextQuestion(), SessionInputTextAnswerValue():
            return _out_of_range(len(value.value), question.min, question.max, "characters")
        case SessionInputIntegerQuestion(), SessionInputNumberAnswerValue() if value.value != int(
            value.value
        ):
            return "must be a whole number"
        case SessionInputNumberQuestion(), SessionInputNumberAnswerValue():
            return _out_of_range(value.value, question.min, question.max)
        case SessionInputSingleSelectQuestion(), SessionInputSelectedAnswerValue():
            chosen = [value.value] if value.value else []
            return _choice_problem(question, chosen, value.freeform_values)
        case SessionInputMultiSelectQuestion(), SessionInputSelectedManyAnswerValue():
            count = len({*value.value}) + len({*(value.freeform_values or ())})
            return _choice_problem(question, value.value, value.freeform_values) or _out_of_range(
                count, question.min, question.max, "choices"
            )
        case _:
            return None


def _choice_problem(
    question: SessionInputSingleSelectQuestion | SessionInputMultiSelectQuestion,
    chosen: list[str],
    freeform: list[str] | None,
) -> str | None:
    if freeform and not question.allow_freeform_input:
        return "must be one of the options: free text is not allowed"
    offered = {option.id for option in question.options}
    unknown = [choice for choice in chosen if choice not in offered]
    if unknown:
        return f"names no option: {', '.join(unknown)}"
    if not chosen and not freeform and isinstance(question, SessionInputSingleSelectQuestion):
        return "names no option"
    return None


def _out_of_range(value: Number, low: Number | None, high: Number | None, unit: str = "") -> str | None:
    if low is not None and value < low:
        return f"must be at least {low} {unit}".rstrip()
    if high is not None and value > high:
        return f"must be at most {high} {unit}".rstrip()
    return None
