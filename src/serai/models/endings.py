"""How a turn ended, and what it took, in pydantic-ai's words. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from pydantic_ai.messages import FinishReason
from pydantic_ai.usage import RequestUsage

from serai.agents.ask.costs import Tokens
from serai.agents.ask.events import AskResult

__all__ = ["details_of", "finish_reason", "usage_of"]

_REASONS: dict[str, FinishReason] = {
    "end_turn": "stop",
    "cancelled": "stop",
    "max_tokens": "length",
    "refusal": "content_filter",
}


def finish_reason(stop_reason: str) -> FinishReason | None:
    """Why the agent stopped; `None` where pydantic-ai has no word for it."""
    return _REASONS.get(stop_reason)


def usage_of(result: AskResult) -> RequestUsage:
    """The tokens of the turn, where the agent tells them, and what the turn alone has cost.

    What an agent tells of a session's cost is the sum of all its turns, so it is not here.
    """
    usage = _tokens(result.usage) if result.usage else RequestUsage(unmeasured_requests=1)
    if result.cost_usd is not None:
        usage.cost = Decimal(str(result.cost_usd))
    return usage


def _tokens(told: Mapping[str, Any]) -> RequestUsage:
    """For pydantic-ai, cached tokens are input, and thoughts are output."""
    tokens = Tokens.of(told)
    return RequestUsage(
        input_tokens=tokens.input + tokens.cached_read + tokens.cached_write,
        output_tokens=tokens.output + tokens.thought,
        cache_read_tokens=tokens.cached_read,
        cache_write_tokens=tokens.cached_write,
        output_reasoning_tokens=tokens.thought,
    )


def details_of(result: AskResult) -> dict[str, Any]:
    """What pydantic-ai has no place for; `finish_reason` is the agent's own word."""
    details = {
        "finish_reason": result.stop_reason,
        "agent": result.agent,
        "session_id": result.session_id,
        "context_used": result.context_used,
        "context_size": result.context_size,
        "session_cost": None
        if result.cost is None
        else {"amount": result.cost.amount, "currency": result.cost.currency},
    }
    return {name: value for name, value in details.items() if value is not None}
