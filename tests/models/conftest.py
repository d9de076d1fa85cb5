"""What the tests of the models share: the agents of the tests next door."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agents.conftest import players
from agents.players import Players
from serai.agents.catalogue.agents import Catalogue
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.models import AgentModel

__all__ = ["model", "odd", "players"]


@pytest.fixture
def model(players: Players) -> Callable[..., AgentModel]:
    """Makes models of the agents that play: `model("player", model="large")`."""

    def make(agent: Any = "player", /, **options: Any) -> AgentModel:
        return AgentModel(agent, **{**players.options, **options})

    return make


@pytest.fixture
def odd(model: Callable[..., AgentModel]) -> AgentModel:
    """A model of an agent with habits of its own: `odd_agent.py` has them."""
    way = Way(program=sys.executable, args=("-I", "-S", str(Path(__file__).with_name("odd_agent.py"))))
    definition = AgentDefinition(id="odd", label="Odd", ways=(way,))
    return model("odd", catalogue=Catalogue([definition]))
