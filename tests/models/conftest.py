"""What the tests of the models share: the agents of the tests next door."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agents.conftest import players
from agents.players import Players
from serai.agents.testing import ScriptedAgent, ScriptedTurn
from serai.models import AgentModel

__all__ = ["model", "odd", "players"]


@pytest.fixture
def model(players: Players) -> Callable[..., AgentModel]:
    """Makes models of the agents that play: `model("player", model="large")`."""

    def make(agent: Any = "player", /, **options: Any) -> AgentModel:
        return AgentModel(agent, **{**players.options, **options})

    return make


async def _odd(turn: ScriptedTurn) -> None:
    """A turn of an agent with a few habits that others do not have."""
    if turn.text == "two messages":
        for text, message in (("One ", "a"), ("message.", "a"), ("Another.", "b")):
            turn.say(text, message)
    elif turn.text == "tool between":
        turn.say("One.", "a")
        turn.tool("Look", "read", status="completed")
        turn.say("Another.", "b")
    else:
        # Arguments come after the beginning, and what came of it after the end.
        call = turn.tool("Search", "search")
        turn.update("tool_call_update", toolCallId=call, rawInput={"for": "it"}, title="Search for it")
        turn.tool_update(call)
        turn.tool_update(call, text="found")
        turn.tool("Odd", "other", rawInput="words", status="in_progress")
        turn.say("Done.")


@pytest.fixture
def odd() -> AgentModel:
    """A model of an agent with habits of its own."""
    return AgentModel(ScriptedAgent(_odd, name="odd"))
