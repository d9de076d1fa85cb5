"""What an agent says about itself: models, modes, commands."""

from __future__ import annotations

from typing import Any

import pytest

from serai.acp.options import read_options
from serai.agents.catalogue.introduction import Introduction, introduce, models_of
from serai.agents.testing import EVERYTHING, ScriptedAgent
from serai.errors import AgentInitFailed, AuthRequired


async def introduced(agent: ScriptedAgent) -> Introduction:
    assert agent.processes is not None
    return await introduce(await agent.launch({}), agent.processes, mask=str)


async def test_it_tells_what_it_can_do_and_what_can_be_chosen() -> None:
    options = {"model": ["large", "small"], "effort": ["low"]}
    agent = ScriptedAgent(capabilities=EVERYTHING, modes=["ask", "do"], options=options, commands=["review"])
    told = await introduced(agent)
    assert told.handshake.capabilities.load_session
    assert told.modes is not None
    assert told.modes.value == "ask"
    assert [model.value for model in told.models.models] == ["large", "small"]
    assert [option.id for option in told.options] == ["serai.modes", "model", "effort"]
    assert [command["name"] for command in told.commands] == ["review"]
    assert told.problem is None


async def test_one_that_wants_a_person_to_sign_in_still_tells_what_it_can_do() -> None:
    refusal = {"session/new": {"code": -32000, "message": "sign in"}}
    told = await introduced(ScriptedAgent(capabilities=EVERYTHING, fails=refusal))
    assert isinstance(told.problem, AuthRequired)
    assert told.handshake.capabilities.load_session
    assert told.models.models == ()


async def test_one_that_does_not_start_says_why() -> None:
    with pytest.raises(AgentInitFailed, match="it is broken"):
        await introduced(ScriptedAgent(fails={"initialize": {"code": 5, "message": "it is broken"}}))


def option(name: str, *values: str, category: str | None = None, type: str = "select") -> dict[str, Any]:  # noqa: A002 - the wire's own name
    choices = [{"value": value, "name": value.upper()} for value in values]
    return {"id": name, "name": name, "type": type, "category": category, "options": choices}


def test_a_session_knows_best() -> None:
    options = read_options([option("mode", "x"), option("llm", "a", "b", category="model")])
    found = models_of(options, ["listed"])
    assert [(model.value, model.name) for model in found.models] == [("a", "A"), ("b", "B")]
    assert found.model_option is options[1]
    assert found.effort_option is None


def test_groups_are_flat() -> None:
    groups = [
        {"group": "g", "name": "G", "options": [{"value": "a", "name": "A"}]},
        {"value": "b", "name": "B"},
    ]
    found = models_of(read_options([{"id": "model", "type": "select", "options": groups}]))
    assert [model.value for model in found.models] == ["a", "b"]


def test_the_category_wins_over_the_id_and_the_id_over_a_likeness() -> None:
    by_likeness, by_id = option("chat-model", "c"), option("model", "b")
    by_category = option("x", "a", category="model")
    for options in ([by_likeness, by_id, by_category], [by_category, by_id, by_likeness]):
        found = models_of(read_options(options))
        assert found.model_option is not None
        assert found.model_option.id == "x"
    assert [model.value for model in models_of(read_options([by_likeness, by_id])).models] == ["b"]
    assert [model.value for model in models_of(read_options([by_likeness])).models] == ["c"]


@pytest.mark.parametrize(
    ("effort", "is_one"),
    [
        (option("reasoning_effort", "low", "high"), True),
        (option("x", "low", category="thought_level"), True),
        (option("thinking_budget", "1024", "4096"), True),
        (option("model_variant", "fast"), True),
        (option("reasoningEffort", "low"), True),
        (option("fast", type="boolean"), False),
    ],
)
def test_which_option_is_the_effort(effort: dict[str, Any], is_one: bool) -> None:
    found = models_of(read_options([option("model", "a"), effort]))
    assert (found.effort_option is not None) is is_one
