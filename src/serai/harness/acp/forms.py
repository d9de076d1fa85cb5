"""An agent's forms as questions to a person, and the answers as the form wants them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from serai.acp.shapes import is_list, list_of, object_of, objects_of, text_of, texts_of
from serai.ahp.types import (
    SessionInputAnswer,
    SessionInputBooleanAnswerValue,
    SessionInputBooleanQuestion,
    SessionInputIntegerQuestion,
    SessionInputMultiSelectQuestion,
    SessionInputNumberAnswerValue,
    SessionInputNumberQuestion,
    SessionInputOption,
    SessionInputQuestion,
    SessionInputSelectedAnswerValue,
    SessionInputSelectedManyAnswerValue,
    SessionInputSingleSelectQuestion,
    SessionInputSubmitted,
    SessionInputTextAnswerValue,
    SessionInputTextQuestion,
)

__all__ = ["questions_of", "values_of"]


def questions_of(schema: Mapping[str, Any]) -> list[SessionInputQuestion]:
    """The questions of a form: a question for each property of its JSON Schema."""
    required = texts_of(schema.get("required"))
    return [
        _question(name, object_of(told), required=name in required)
        for name, told in object_of(schema.get("properties")).items()
    ]


def _question(name: str, told: Mapping[str, Any], *, required: bool) -> SessionInputQuestion:
    title = text_of(told.get("title"))
    base: dict[str, Any] = {
        "id": name,
        "message": text_of(told.get("description")) or title or name,
        "title": title,
        "required": required or None,
    }
    default = told.get("default")
    match told.get("type"):
        case "boolean":
            return SessionInputBooleanQuestion(
                **base, default_value=default if isinstance(default, bool) else None
            )
        case "integer" | "number" as kind:
            question = SessionInputIntegerQuestion if kind == "integer" else SessionInputNumberQuestion
            return question(
                **base,
                min=_number(told.get("minimum")),
                max=_number(told.get("maximum")),
                default_value=_number(default),
            )
        case "array":
            return SessionInputMultiSelectQuestion(
                **base,
                options=_options(object_of(told.get("items")), list_of(default)),
                min=_number(told.get("minItems")),
                max=_number(told.get("maxItems")),
            )
        case _ if options := _options(told, [default]):
            return SessionInputSingleSelectQuestion(**base, options=options)
        case _:
            return SessionInputTextQuestion(
                **base,
                format=text_of(told.get("format")),
                min=_number(told.get("minLength")),
                max=_number(told.get("maxLength")),
                default_value=text_of(default),
            )


def _options(told: Mapping[str, Any], default: list[Any]) -> list[SessionInputOption]:
    return [
        SessionInputOption(
            id=value, label=label, description=description, recommended=True if value in default else None
        )
        for value, label, description in _choices(told)
    ]


def _choices(told: Mapping[str, Any]) -> Iterator[tuple[str, str, str | None]]:
    """The values that there are to choose from, each with its name and what it means."""
    titled = objects_of(told.get("oneOf")) or objects_of(told.get("anyOf"))
    for each in titled:
        if isinstance(value := each.get("const"), str):
            yield value, text_of(each.get("title")) or value, text_of(each.get("description"))
    if titled:
        return
    names = list_of(told.get("enumNames"))
    for number, value in enumerate(list_of(told.get("enum"))):
        if isinstance(value, str):
            name = names[number] if number < len(names) else None
            yield value, text_of(name) or value, None


def _number(value: Any) -> int | float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def values_of(schema: Mapping[str, Any], answers: Mapping[str, SessionInputAnswer]) -> dict[str, Any]:
    """What the person answered, as values of the form. What was passed over is left out."""
    properties = object_of(schema.get("properties"))
    found = {name: _value(object_of(properties[name]), answers.get(name)) for name in properties}
    return {name: value for name, value in found.items() if value is not None}


def _value(told: Mapping[str, Any], answer: SessionInputAnswer | None) -> Any:
    if not isinstance(answer, SessionInputSubmitted):
        return None
    match answer.value:
        case SessionInputNumberAnswerValue(value=number):
            return int(number) if told.get("type") == "integer" else number
        case SessionInputSelectedManyAnswerValue(value=chosen):
            return list(chosen)
        case (
            SessionInputTextAnswerValue(value=value)
            | SessionInputBooleanAnswerValue(value=value)
            | SessionInputSelectedAnswerValue(value=value)
        ):
            return [value] if is_list(told.get("default")) else value
        case _:
            return None
