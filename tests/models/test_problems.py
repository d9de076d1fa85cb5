"""Errors of agents, and what an agent cannot do."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import (
    ModelAPIError,
    ModelAuthenticationError,
    ModelConnectionError,
    ModelNotFoundError,
    ModelRateLimitError,
    ModelRequestRejectedError,
    ModelServerError,
    ModelTimeoutError,
    UnsupportedSettingWarning,
    UsageLimitExceeded,
    UserError,
)
from pydantic_ai.models.fallback import FallbackModel

from agents.players import Players
from models.conversing import Making
from serai.agents import CostTracker
from serai.errors import (
    AgentClosed,
    AgentError,
    AgentInitTimedOut,
    AgentUnknown,
    AuthRequired,
    BudgetExceeded,
    CapabilityNotSupportedError,
    ConfigInvalid,
    RateLimited,
    SeraiError,
    SessionCreateFailed,
)
from serai.models.problems import failure_of


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (AgentUnknown("x"), ModelNotFoundError),
        (AuthRequired("x"), ModelAuthenticationError),
        (RateLimited("x"), ModelRateLimitError),
        (AgentInitTimedOut("x"), ModelTimeoutError),
        (AgentClosed("x"), ModelConnectionError),
        (CapabilityNotSupportedError("loadSession"), ModelRequestRejectedError),
        (SessionCreateFailed("x"), ModelServerError),
        (AgentError("x"), ModelAPIError),
    ],
)
def test_an_error_has_its_counterpart(error: SeraiError, kind: type[ModelAPIError]) -> None:
    failure = failure_of(error, "player", in_stream=True)
    assert type(failure) is kind
    assert isinstance(failure, ModelAPIError)
    assert str(failure) == str(error)
    assert (failure.model_name, failure.in_stream) == ("player", True)
    assert (failure.provider_error_code, failure.body) == (error.code, error.to_wire())


def test_what_is_the_persons_own_affair_is_no_failure_of_the_model() -> None:
    spent = failure_of(BudgetExceeded(spent_usd=2, budget_usd=1), "player", in_stream=False)
    assert type(spent) is UsageLimitExceeded
    assert type(failure_of(ConfigInvalid("x"), "player", in_stream=False)) is UserError


async def test_a_fallback_model_goes_on_to_the_next(players: Players, model: Making) -> None:
    busy = {"code": -32603, "message": "429 rate limit exceeded"}
    players.add_missing("missing")
    players.add("closed", new_error={"code": -32000, "message": "Authentication required"})
    players.add("busy", new_error=busy)
    names = ["missing", "unheard-of", "closed", "busy", "player"]
    agent = Agent(FallbackModel(*(model(name) for name in names)))
    async with agent.run_stream("echo a") as stream:
        assert await stream.get_output() == "a"


async def test_a_spent_budget_is_not_spent_elsewhere(players: Players, model: Making) -> None:
    costs = CostTracker(budget_usd=0.1)
    agent = Agent(FallbackModel(model(costs=costs), model()))
    with pytest.raises(UsageLimitExceeded) as raised:
        await agent.run("cost 0.2")
    assert isinstance(raised.value.__cause__, BudgetExceeded)
    assert players.methods.count("initialize") == 1


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


async def test_function_tools_are_refused(model: Making, players: Players) -> None:
    def weather() -> str:
        """Never called."""
        raise AssertionError

    with pytest.raises(UserError, match=r"cannot call these function tools: weather\. .*mcp_servers"):
        await Agent(model(), tools=[weather]).run("echo a")
    assert not players._record.exists()
