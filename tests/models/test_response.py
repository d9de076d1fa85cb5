"""What an agent answers, in pydantic-ai's words."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelRequest,
    NativeToolCallPart,
    NativeToolReturnPart,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
)
from pydantic_ai.models import ModelRequestParameters

from agents.players import Players
from models.conversing import Making, said
from serai.acp.updates import Cost
from serai.agents.ask.events import AskResult
from serai.models import AgentModel
from serai.models.response import _REASONS, details_of, usage_of


async def test_the_answer_comes_while_the_agent_works(model: Making, players: Players) -> None:
    async with Agent(model()).run_stream("wait") as stream:
        async for text in stream.stream_text(debounce_by=None):
            assert text == "waiting"
            break
        assert "session/cancel" not in players.methods
    assert players.methods[-1] == "session/cancel"


async def test_a_stream_has_thinking_tools_and_text(model: Making) -> None:
    started: list[str] = []
    added: list[str] = []
    async with Agent(model()).run_stream_events("work") as events:
        async for event in events:
            if isinstance(event, PartStartEvent):
                started.append(event.part.part_kind)
            if isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                added.append(event.delta.content_delta)
    assert started == ["thinking", "text", "builtin-tool-call", "builtin-tool-return", "text"]
    assert added == ["fine."]


async def test_a_stream_that_is_cancelled_stops_the_agent(model: Making, players: Players) -> None:
    async with model().request_stream(
        [ModelRequest.user_text_prompt("wait")], None, ModelRequestParameters()
    ) as stream:
        async for _ in stream:
            await stream.cancel()
    assert players.methods.count("session/cancel") == 1
    response = stream.get()
    assert (response.text, response.state) == ("waitingstopped", "interrupted")
    assert response.provider_response_id == "s1"


async def test_a_message_that_follows_another_is_a_new_paragraph(odd: AgentModel) -> None:
    assert (await Agent(odd).run("two messages")).output == "One message.\n\nAnother."


async def test_a_message_after_a_tool_call_stands_alone(odd: AgentModel) -> None:
    assert (await Agent(odd).run("tool between")).output == "Another."


async def test_what_is_told_late_of_a_tool_is_part_of_the_answer(odd: AgentModel) -> None:
    async with odd.request_stream(said("late"), None, ModelRequestParameters()) as stream:
        kinds = [event.event_kind async for event in stream]
    call, came, other, text = stream.get().parts
    assert isinstance(call, NativeToolCallPart)
    assert (call.tool_name, call.args) == ("search", {"for": "it"})
    assert call.provider_details is not None
    assert call.provider_details["title"] == "Search for it"
    assert isinstance(came, NativeToolReturnPart)
    assert (came.content, came.outcome) == ("found", "success")
    assert isinstance(other, NativeToolCallPart)  # of which nothing came
    assert other.args == {"input": "words"}
    assert text == TextPart("Done.")
    assert kinds.count("part_start") == 4


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
        ("max_tokens", "length"),
        ("something_newer", None),
    ],
)
def test_why_it_stopped(told: str, reason: str | None) -> None:
    assert _REASONS.get(told) == reason
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
