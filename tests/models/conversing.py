"""What the tests of the models say, and how they look at what came of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pydantic import BaseModel
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from agents.players import Players
from serai.models import AgentModel

Making: TypeAlias = Callable[..., AgentModel]


class City(BaseModel):
    name: str
    people: int


ROME = City(name="Rome", people=3)
ROME_JSON = '{"name": "Rome", "people": 3}'


def said(text: str) -> list[ModelMessage]:
    """A history with nothing but a prompt."""
    return [ModelRequest.user_text_prompt(text)]


def answer_of(messages: list[ModelMessage]) -> ModelResponse:
    """The last message, which is an answer."""
    response = messages[-1]
    assert isinstance(response, ModelResponse)
    return response


def prompts(players: Players) -> list[list[dict[str, Any]]]:
    """The blocks of all prompts that agents got."""
    return [each["params"]["prompt"] for each in players.heard if each["method"] == "session/prompt"]


def texts(players: Players) -> list[str]:
    """The texts of the same."""
    return ["\n".join(block.get("text", "") for block in blocks) for blocks in prompts(players)]
