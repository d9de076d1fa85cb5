"""Answers of a certain shape: read whatever agents put around them, checked, and sent back once."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest

from agents.players import Players
from serai import agents
from serai.agents.ask.json_answer import LARGEST, Unfit, read_answer, shape_of
from serai.errors import JsonInvalid, Mismatch


class Point(msgspec.Struct):
    x: int
    y: int = 0


class Model(pydantic.BaseModel):
    x: int


class Undescribed(pydantic.BaseModel):
    """There is no JSON Schema of it."""

    x: Callable[[int], int]


class Unfinished(pydantic.BaseModel):
    """One of its types is nowhere."""

    x: "Nowhere"  # type: ignore[name-defined]  # noqa: F821, UP037  # pyright: ignore[reportUndefinedVariable] - that is the point


@dataclass
class Plain:
    x: int


SCHEMA = {"type": "object", "properties": {"x": {"type": "integer"}}, "required": ["x"]}
SHAPES = [Point, Model, Plain, pydantic.TypeAdapter(Model), SCHEMA, json.dumps(SCHEMA)]


@pytest.mark.parametrize(
    "schema", SHAPES, ids=["msgspec", "pydantic", "dataclass", "adapter", "schema", "text"]
)
@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1}',
        '  {"x": 1}\n',
        '```json\n{"x": 1}\n```',
        '```\r\n{"x": 1}\r\n```\r\n',
        'Here it is:\n\n~~~json\n{"x": 1}\n~~~\n\nAnything else?',
        'Here it is: {"x": 1} (as [you] asked)',
        'First I thought {"x": "no"}, but it is {"x": 1}.',
        '```json\n{"x": 5}\n```\nNo, rather:\n```json\n{"x": 1}\n```',
        'It ends without a fence:\n```json\n{"x": 1}',
        'With quotes " and [ before: {"x": 1}',
    ],
)
def test_json_is_found_in_what_an_agent_says(schema: Any, text: str) -> None:
    data, raw = read_answer(text, shape_of(schema))
    assert json.loads(raw)["x"] == 1
    assert (data["x"] if isinstance(data, dict) else data.x) == 1


@pytest.mark.parametrize(
    "schema", SHAPES, ids=["msgspec", "pydantic", "dataclass", "adapter", "schema", "text"]
)
@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("", "empty"),
        ("I cannot do that.", "no JSON"),
        ('{"x": 1', "no JSON"),
        ('{"x": "one"}', "$.x"),
        ("[" * 1000 + "]" * 1000, ""),
        ('"' + "x" * LARGEST + '"', "longer than 5 MiB"),
    ],
)
def test_what_is_wrong_is_told(schema: Any, text: str, issue: str) -> None:
    with pytest.raises(Unfit) as caught:
        read_answer(text, shape_of(schema))
    assert issue in caught.value.issues[0]


def test_values_that_are_no_objects_can_be_asked_for() -> None:
    assert read_answer("[1, 2]", shape_of(list[int]))[0] == [1, 2]
    assert read_answer("```\n7\n```", shape_of({"type": "integer"}))[0] == 7
    assert read_answer('"yes"', shape_of(str))[0] == "yes"


@pytest.mark.parametrize(
    "text",
    ["[" * 600_000, "[]" * 300_000, '["' * 300_000, "```json\n{}\n" * 60_000, "[" + "{}" * 300_000],
    ids=["open", "empty", "quotes", "fences", "long"],
)
def test_a_long_answer_takes_no_long_time(text: str) -> None:
    began = time.process_time()
    with pytest.raises(Unfit):
        read_answer(text, shape_of(Point))
    assert time.process_time() - began < 1


NO_SCHEMAS: list[Any] = [
    "no json",
    {"type": "nothing"},
    object(),
    5,
    Undescribed,
    Unfinished,
    pydantic.TypeAdapter(Undescribed),
    list[Undescribed],
]


@pytest.mark.parametrize("schema", NO_SCHEMAS)
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(Mismatch, match="schema"):
        shape_of(schema)


def test_a_schema_that_refers_elsewhere_fetches_nothing() -> None:
    with pytest.raises(Mismatch, match="not in it"):
        read_answer("{}", shape_of({"$ref": "http://127.0.0.1:9/schema"}))
    local = {"$defs": {"n": {"type": "integer"}}, "$ref": "#/$defs/n"}
    assert read_answer("3", shape_of(local))[0] == 3


# -- asking ------------------------------------------------------------------------------------------------


async def test_an_answer_comes_with_its_type(players: Players) -> None:
    players.add("right", answers=['```json\n{"x": 4}\n```'])
    answer = await agents.ask_json("right", "Where?", Point, **players.options)
    assert answer.data == Point(4, 0)
    assert (answer.raw, answer.repaired) == ('{"x": 4}', False)
    assert answer.result.stop_reason == "end_turn"
    [question, told] = players.heard[-1]["params"]["prompt"]
    assert question["text"] == "Where?"
    assert '"x":{"type":"integer"}' in told["text"]


async def test_an_answer_that_is_not_right_is_sent_back_once(players: Players) -> None:
    players.add("wrong", answers=['{"x": "four"}', '{"x": 4}'])
    answer = await agents.ask_json("wrong", "Where?", Model, **players.options)
    assert (answer.data, answer.repaired) == (Model(x=4), True)
    assert "valid integer" in players.heard[-1]["params"]["prompt"][0]["text"]


async def test_after_two_wrong_answers_it_is_over(players: Players) -> None:
    players.add("stubborn", answers=["No.", '{"x": null}', '{"x": 4}'])
    with pytest.raises(JsonInvalid) as caught:
        await agents.ask_json("stubborn", "Where?", SCHEMA, **players.options)
    assert caught.value.text == '{"x": null}'
    assert caught.value.issues == ("None is not of type 'integer' - at `$.x`",)
    assert players.methods.count("session/prompt") == 2


async def test_a_refusal_is_not_sent_back(players: Players) -> None:
    """The player does what the last line of the first text says."""
    with pytest.raises(JsonInvalid, match="refusal"):
        await agents.ask_json("player", "refuse", Point, **players.options)
    assert players.methods.count("session/prompt") == 1


async def test_what_is_no_schema_starts_no_agent(players: Players) -> None:
    with pytest.raises(Mismatch):
        await agents.ask_json("player", "Where?", {"type": "nothing"}, **players.options)
    assert not players._record.exists()


@pytest.mark.parametrize("schema", [list[Model], Model | None, dict[str, Model]])
def test_a_type_made_of_pydantic_models_can_be_asked_for(schema: Any) -> None:
    shape = shape_of(schema)
    assert "Model" in str(shape.schema)
    with pytest.raises(Unfit):
        read_answer('"x"', shape)


def test_a_list_of_pydantic_models_is_read() -> None:
    [model], _ = read_answer('[{"x": 1, "y": 2}]', shape_of(list[Model]))
    assert isinstance(model, Model)
