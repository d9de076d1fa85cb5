"""The trace that a program is in goes along to the agents that it asks."""

from __future__ import annotations

from typing import Any

from opentelemetry import context, trace
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags

from serai import agents
from serai.agents.testing import EVERYTHING, ScriptedAgent

SPAN = SpanContext(0xABC, 0xDEF, is_remote=False, trace_flags=TraceFlags(TraceFlags.SAMPLED))
PARENT = "00-00000000000000000000000000000abc-0000000000000def-01"


def metas(agent: ScriptedAgent) -> list[Any]:
    opening = ("session/new", "session/load", "session/prompt")
    return [each["params"].get("_meta") for each in agent.requests if each.get("method") in opening]


async def test_the_span_that_is_active_is_told_with_sessions_and_prompts() -> None:
    agent = ScriptedAgent(["a", "b", "c"], capabilities=EVERYTHING)
    token = context.attach(trace.set_span_in_context(NonRecordingSpan(SPAN)))
    try:
        await agents.ask(agent, "go", meta={"mine": 1})
        await agents.ask(agent, "go", load="session-1", meta={"traceparent": "my own"})
    finally:
        context.detach(token)
    told = {"traceparent": PARENT, "mine": 1}
    assert metas(agent) == [told, told, {"traceparent": "my own"}, {"traceparent": "my own"}]


async def test_without_a_span_nothing_is_told() -> None:
    agent = ScriptedAgent(["a"])
    await agents.ask(agent, "go")
    assert metas(agent) == [None, None]
