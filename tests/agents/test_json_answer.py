"""Answers that are JSON of a certain shape."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
import pydantic
import pytest

from agents.players import Players
from serai import agents
from serai.agents import Renewed, Retries
from serai.agents.ask.json_answer import Unfit, read_answer, shape_of
from serai.agents.testing import ScriptedAgent, ScriptedTurn
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
SHAPES = [Point, Model, Plain, SCHEMA, json.dumps(SCHEMA)]


@pytest.mark.parametrize(
    "text",
    [
        '{"x": 1}',
        '```json\n{"x": 1}\n```',
        'Here it is:\n\n~~~json\n{"x": 1}\n~~~\n\nAnything else?',
        'Here it is: {"x": 1} (as [you] asked)',
        'First I thought {"x": "no"}, but it is {"x": 1}.',
        '```json\n{"x": 5}\n```\nNo, rather:\n```json\n{"x": 1}\n```',
        'It ends without a fence:\n```json\n{"x": 1}',
        'With quotes " and [ before: {"x": 1}',
    ],
)
def test_json_is_found_in_what_an_agent_says(text: str) -> None:
    data, raw = read_answer(text, shape_of(Point))
    assert (data.x, json.loads(raw)["x"]) == (1, 1)


@pytest.mark.parametrize("schema", SHAPES, ids=["msgspec", "pydantic", "dataclass", "schema", "text"])
def test_a_shape_is_described_in_many_ways(schema: Any) -> None:
    data, _ = read_answer('{"x": 1}', shape_of(schema))
    assert (data["x"] if isinstance(data, dict) else data.x) == 1
    with pytest.raises(Unfit) as caught:
        read_answer('{"x": "one"}', shape_of(schema))
    assert "$.x" in caught.value.issues[0]


@pytest.mark.parametrize(
    ("text", "issue"),
    [
        ("", "empty"),
        ("I cannot do that.", "no JSON"),
        ('{"x": 1', "no JSON"),
        ("[" * 1000 + "]" * 1000, ""),
    ],
)
def test_what_is_wrong_is_told(text: str, issue: str) -> None:
    with pytest.raises(Unfit) as caught:
        read_answer(text, shape_of(Point))
    assert issue in caught.value.issues[0]


@pytest.mark.parametrize("text", ["[" * 100_000, '["' * 100_000, "[]" * 100_000])
def test_an_answer_full_of_brackets_is_given_up(text: str) -> None:
    with pytest.raises(Unfit):
        read_answer(text, shape_of(Point))


NO_SCHEMAS: list[Any] = [
    "no json",
    {"type": "nothing"},
    object(),
    5,
    Undescribed,
    Unfinished,
    list[Undescribed],
]


@pytest.mark.parametrize("schema", NO_SCHEMAS)
def test_what_is_no_schema_is_refused(schema: Any) -> None:
    with pytest.raises(Mismatch, match="schema"):
        shape_of(schema)


def test_a_schema_that_refers_elsewhere_fetches_nothing() -> None:
    with pytest.raises(Mismatch, match="outside it"):
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


LIMIT = 10.0
QUESTION = "How many files?"
AT_ONCE = Retries(waits=())


def kinds(agent: ScriptedAgent) -> list[str]:
    """What the agent was asked: the question itself, its repair, or something else."""
    return [
        "question" if QUESTION in each else "repair" if "cannot be used" in each else each
        for each in agent.prompts
    ]


async def test_an_agent_is_not_started_anew_before_it_has_mended_its_answer() -> None:
    renewed: list[Renewed] = []
    agent = ScriptedAgent(["many", "7", "later"])
    async with agents.session(
        agent, recycle_after=1, on_renewed=renewed.append, on_warning=lambda _: None
    ) as session:
        answer = await session.ask_json(QUESTION, int)
        assert (answer.data, answer.repaired) == (7, True)
        assert (agent.starts, renewed) == (1, [])
        assert (await session.ask("go on")).text == "later"
    assert kinds(agent) == ["question", "repair", "go on"]
    assert agent.starts == 2


async def test_what_others_ask_meanwhile_waits_for_the_repair() -> None:
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    async def wrong(turn: ScriptedTurn) -> None:
        is_asked.set()
        await may_answer.wait()
        turn.say("many")

    agent = ScriptedAgent([wrong, "7", "other", "8"])
    async with agents.session(agent, retries=AT_ONCE) as session, asyncio.timeout(LIMIT):
        asking = asyncio.create_task(session.ask_json(QUESTION, int))
        await is_asked.wait()
        other = asyncio.create_task(session.ask("other"))
        third = asyncio.create_task(session.ask_json("third", int))
        await asyncio.sleep(0)  # both stand in line
        may_answer.set()
        assert (await asking).data == 7
        assert (await other).text == "other"
        assert (await third).data == 8
    assert kinds(agent)[:3] == ["question", "repair", "other"]
