"""Other ways to make a model: of a client, and with defaults."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent

from agents.players import Players
from serai import agents
from serai.models import AgentModel, agent_provider


async def test_a_client_is_an_agent_with_options(players: Players) -> None:
    client = agents.client("player", **players.options)
    assert (await Agent(AgentModel(client)).run("permit allow_once reject_once")).output == "allow_once"
    careful = AgentModel(client, permissions="auto-reject")
    assert (await Agent(careful).run("permit allow_once reject_once")).output == "reject_once"


async def test_a_provider_has_defaults_for_all(players: Players) -> None:
    careful: Any = {**players.options, "permissions": "auto-reject"}
    models = agent_provider(**careful)
    assert (await Agent(models("player")).run("permit allow_once reject_once")).output == "reject_once"
    generous = models("player", permissions="auto-allow", model="large")
    assert generous.model_name == "player/large"
    assert (await Agent(generous).run("permit allow_once reject_once")).output == "allow_once"
    odd: Any = {"colour": "red"}
    with pytest.raises(TypeError, match="no option"):
        agent_provider(**odd)
