"""What an agent cannot do: warnings, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import (
    UnsupportedSettingWarning,
    UserError,
)
from pydantic_ai.settings import ModelSettings

from agents.players import ALL, Players
from models.conversing import ROME, ROME_JSON, City, Making, texts
from serai import agents
from serai.models import AgentModel


async def test_settings_are_ignored_with_a_warning(model: Making) -> None:
    settings: Any = {
        "temperature": 0.1,
        "top_p": 0.2,
        "frequency_penalty": 0.3,
        "presence_penalty": 0.4,
        "stop_sequences": ["x"],
        "seed": 5,
        "tool_choice": "none",
        "max_tokens": 6,
        "openai_user": "not meant for it",
        "request_timeout": 60,
    }
    with pytest.warns(UnsupportedSettingWarning) as caught:
        result = await Agent(model(), model_settings=settings).run("echo a")
    assert result.output == "a"
    [warning] = caught
    assert str(warning.message) == (
        'Agent "player" does not take these settings — ignored: temperature, top_p, frequency_penalty, '
        "presence_penalty, stop_sequences, seed, tool_choice, max_tokens."
    )


async def test_the_settings_of_the_model_itself_count_too(players: Players) -> None:
    warm = AgentModel("player", settings=ModelSettings(temperature=1.0), **players.options)
    async with agents.session("player", **players.options) as session:
        bound = AgentModel.of(session, settings=ModelSettings(seed=1))
        for one, name in ((warm, "temperature"), (bound, "seed")):
            with pytest.warns(UnsupportedSettingWarning, match=f"ignored: {name}."):
                await Agent(one).run("echo a")


async def test_function_tools_are_refused(model: Making, players: Players) -> None:
    def weather() -> str:
        """Never called."""
        raise AssertionError

    with pytest.raises(UserError, match=r"cannot call these function tools: weather\. .*mcp_servers"):
        await Agent(model(), tools=[weather]).run("echo a")
    assert not players._record.exists()


async def test_a_profile_can_be_said_in_both_ways(players: Players) -> None:
    template = "As JSON: {schema}"
    players.add("json", answers=[ROME_JSON])
    for profile in (
        {"prompted_output_template": template},
        lambda default: {**default, "prompted_output_template": template},  # pyright: ignore[reportUnknownLambdaType] - as users write it
    ):
        said: Any = profile
        agent = Agent(AgentModel("json", profile=said, **players.options), output_type=City)
        assert (await agent.run("Which city?")).output == ROME
    assert all(text.startswith("As JSON: {") for text in texts(players))


async def test_an_able_agent_needs_no_warning(players: Players, model: Making) -> None:
    players.add("able", capabilities=ALL)
    assert (await Agent(model("able")).run("echo a")).output == "a"
    assert players.warnings == []
