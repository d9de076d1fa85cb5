"""How a turn ended, and what it took."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from serai.acp import Cost
from serai.agents.ask.events import AskResult
from serai.models.response import details_of, finish_reason, usage_of


def result(**told: Any) -> AskResult:
    usual: dict[str, Any] = {
        "messages": ("a",),
        "thinking": "",
        "stop_reason": "end_turn",
        "agent": "player",
        "session_id": "s",
        "duration": 1.0,
    }
    return AskResult(**{**usual, **told})


@pytest.mark.parametrize(
    ("told", "reason"),
    [
        ("end_turn", "stop"),
        ("cancelled", "stop"),
        ("max_tokens", "length"),
        ("refusal", "content_filter"),
        ("max_turn_requests", None),
        ("something_newer", None),
    ],
)
def test_why_it_stopped(told: str, reason: str | None) -> None:
    assert finish_reason(told) == reason
    assert details_of(result(stop_reason=told))["finish_reason"] == told


def test_tokens_that_are_told_apart_are_put_together() -> None:
    told = {
        "inputTokens": 10,
        "outputTokens": 20,
        "cachedReadTokens": 300,
        "cachedWriteTokens": 4000,
        "thoughtTokens": 5,
        "totalTokens": 4335,
    }
    usage = usage_of(result(usage=told))
    assert (usage.input_tokens, usage.output_tokens) == (4310, 25)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (300, 4000)
    assert usage.output_reasoning_tokens == 5
    assert usage.total_tokens == 4335


def test_tokens_that_are_told_as_parts_are_not_counted_twice() -> None:
    told = {
        "inputTokens": 310,
        "outputTokens": 25,
        "cachedReadTokens": 300,
        "thoughtTokens": 5,
        "totalTokens": 335,
    }
    usage = usage_of(result(usage=told))
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (310, 25, 300)


def test_what_is_not_told_is_not_made_up() -> None:
    usage = usage_of(result())
    assert (usage.unmeasured_requests, usage.cost, usage.total_tokens) == (1, None, 0)
    assert usage_of(result(usage={"inputTokens": None, "outputTokens": "many"})).total_tokens == 0


@pytest.mark.parametrize("strange", [-1, 2.5, -2.0, float("inf"), float("nan"), True, "7"])
def test_a_figure_that_is_no_number_of_tokens_counts_as_nothing(strange: Any) -> None:
    told = {
        "inputTokens": 3.0,
        "outputTokens": 2,
        "cachedReadTokens": strange,
        "thoughtTokens": strange,
        "totalTokens": strange,
    }
    usage = usage_of(result(usage=told))
    assert (usage.input_tokens, usage.output_tokens) == (3, 2)
    assert (usage.cache_read_tokens, usage.output_reasoning_tokens) == (0, 0)


def test_the_turns_own_cost_counts_and_the_sessions_is_a_detail() -> None:
    told = result(cost=Cost(amount=2.5, currency="USD"), cost_usd=0.25, context_used=10, context_size=100)
    assert usage_of(told).cost == Decimal("0.25")
    assert details_of(told) == {
        "finish_reason": "end_turn",
        "agent": "player",
        "session_id": "s",
        "context_used": 10,
        "context_size": 100,
        "session_cost": {"amount": 2.5, "currency": "USD"},
    }
