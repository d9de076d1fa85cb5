"""Forms of agents, and what people answer."""

from __future__ import annotations

from typing import Any

import pytest

from serai.ahp import wire
from serai.ahp.types import SessionInputSkipped, SessionInputSubmitted
from serai.harness.acp.content import questions_of, values_of


def question(**told: Any) -> dict[str, Any]:
    (found,) = questions_of({"properties": {"q": told}})
    return wire.to_json(found)


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ({}, {"kind": "text", "message": "q"}),
        ({"type": "string", "format": "email"}, {"kind": "text", "message": "q", "format": "email"}),
        (
            {"type": "string", "title": "T", "description": "D", "default": "x", "maxLength": 3},
            {"kind": "text", "title": "T", "message": "D", "defaultValue": "x", "max": 3},
        ),
        (
            {"type": "number", "minimum": 0.5, "maximum": 2},
            {"kind": "number", "message": "q", "min": 0.5, "max": 2},
        ),
        ({"type": "boolean", "default": True}, {"kind": "boolean", "message": "q", "defaultValue": True}),
        (
            {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}], "default": "b"},
            {
                "kind": "single-select",
                "message": "q",
                "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "b", "recommended": True}],
            },
        ),
        (
            {"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 1},
            {"kind": "multi-select", "message": "q", "options": [{"id": "a", "label": "a"}], "min": 1},
        ),
        ({"type": "string", "minLength": "many"}, {"kind": "text", "message": "q"}),
    ],
)
def test_each_property_is_a_question(told: dict[str, Any], asked: dict[str, Any]) -> None:
    assert question(**told) == {"id": "q", **asked}


def test_what_is_required_says_so() -> None:
    first, second = questions_of({"properties": {"a": {}, "b": {}}, "required": ["b"]})
    assert (wire.to_json(first).get("required"), wire.to_json(second)["required"]) == (None, True)


@pytest.mark.parametrize("told", [{}, {"properties": []}, {"properties": {"a": 3}}])
def test_a_form_that_is_none_asks_at_most_for_text(told: dict[str, Any]) -> None:
    assert all(wire.to_json(each)["kind"] == "text" for each in questions_of(told))


def submitted(**value: Any) -> SessionInputSubmitted:
    return wire.convert({"state": "submitted", "value": value}, SessionInputSubmitted)


def test_answers_have_the_types_of_the_form_and_what_was_passed_over_is_left_out() -> None:
    schema = {"properties": {"n": {"type": "integer"}, "x": {"type": "number"}, "s": {}, "t": {}}}
    answers = {
        "n": submitted(kind="number", value=3.0),
        "x": submitted(kind="number", value=3.5),
        "s": SessionInputSkipped(),
        "other": submitted(kind="text", value="nobody asked"),
    }
    values = values_of(schema, answers)
    assert values == {"n": 3, "x": 3.5}
    assert isinstance(values["n"], int)
