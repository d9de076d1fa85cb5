"""Turns, tool calls and deliveries by the names of the GenAI conventions."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from serai.telemetry.activities import CONSUMER, INTERNAL, Activities, current_span
from serai.telemetry.metrics import Metrics
from serai.telemetry.otlp import Signal, payload
from telemetry.conftest import CANARY, CLEANER, SECRET, Clock, plain
from telemetry.oracle import ExportTraceServiceRequest, read, values

SESSION = "ahp-session:/1"


class World:
    """Activities, and what became of them."""

    def __init__(self, clock: Clock, *, content: bool) -> None:
        self.clock = clock
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.metrics = Metrics(clock())
        self.activities = Activities(CLEANER, self.metrics, clock, self.told.append, content=content)
        self.activities.recording = True

    @property
    def spans(self) -> list[dict[str, Any]]:
        return [span for _, span in self.told]

    def turn(self, **fields: Any) -> Any:
        return self.activities.turn("demo", SESSION, turn_id="t1", provider="acme", model="m-1", **fields)

    def delivery(self) -> Any:
        return self.activities.delivery(
            "d1", agent="demo", conversation=SESSION, mode="immediate", reason="dm"
        )

    def points(self, metric: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The points of a metric, each after its attributes."""
        (found,) = [each for _, each in self.metrics.read(self.clock(), CLEANER) if each["name"] == metric]
        data = found.get("sum") or found["histogram"]
        return [(plain(point["attributes"]), point) for point in data["dataPoints"]]


@pytest.fixture
def world(clock: Clock) -> World:
    return World(clock, content=False)


def test_a_turn_is_an_invocation_of_an_agent(world: World) -> None:
    turn = world.turn()
    turn.used(input_tokens=10, output_tokens=3)
    turn.used(input_tokens=100, output_tokens=20, cache_read_tokens=50, model="m-1-2030")
    turn.end("completed")
    (span,) = world.spans
    assert (span["name"], span["kind"], span["status"]) == ("invoke_agent demo", INTERNAL, {})
    assert plain(span["attributes"]) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "acme",
        "gen_ai.agent.name": "demo",
        "gen_ai.conversation.id": SESSION,
        "gen_ai.request.model": "m-1",
        "gen_ai.response.model": "m-1-2030",
        "gen_ai.usage.input_tokens": "100",
        "gen_ai.usage.output_tokens": "20",
        "gen_ai.usage.cache_read.input_tokens": "50",
        "serai.turn.id": "t1",
        "serai.outcome": "completed",
    }


def test_a_tool_call_is_part_of_its_turn(world: World) -> None:
    turn = world.turn()
    turn.tool("bash", "c1").end("completed")
    turn.end("completed")
    called, invoked = world.spans
    assert called["name"] == "execute_tool bash"
    assert (called["traceId"], called["parentSpanId"]) == (invoked["traceId"], invoked["spanId"])
    assert plain(called["attributes"]) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.agent.name": "demo",
        "gen_ai.conversation.id": SESSION,
        "serai.outcome": "completed",
    }


def test_a_delivery_tells_its_mode_its_reason_and_its_receipt(world: World) -> None:
    delivery = world.delivery()
    turn = world.turn(parent=delivery)
    delivery.end("delivered")
    turn.end("completed")
    delivered, invoked = world.spans
    assert (delivered["name"], delivered["kind"]) == ("deliver", CONSUMER)
    assert plain(delivered["attributes"]) == {
        "serai.delivery.id": "d1",
        "serai.delivery.mode": "immediate",
        "serai.delivery.reason": "dm",
        "serai.outcome": "delivered",
        "gen_ai.agent.name": "demo",
        "gen_ai.conversation.id": SESSION,
    }
    assert invoked["parentSpanId"] == delivered["spanId"]


def test_a_failure_has_a_type_and_a_cancelled_turn_is_no_error(world: World) -> None:
    world.turn().end("failed", "interrupted", f"the agent said {CANARY}")
    world.turn().end("cancelled")
    world.delivery().end("failed", "mailbox_full")
    failed, cancelled, undelivered = world.spans
    assert (failed["status"], plain(failed["attributes"])["error.type"]) == ({"code": 2}, "interrupted")
    assert plain(failed["attributes"])["serai.outcome"] == "failed"
    assert cancelled["status"] == {}
    assert "error.type" not in plain(cancelled["attributes"])
    assert plain(undelivered["attributes"])["error.type"] == "mailbox_full"


@pytest.mark.parametrize("recording", [True, False])
def test_what_ended_is_counted_whether_anyone_traces_or_not(world: World, recording: bool) -> None:
    world.activities.recording = recording
    turn = world.turn()
    call = turn.tool("bash", "c1")
    world.clock.tick(0.5)
    call.end("completed")
    call.end("completed")
    turn.tool("bash", "c2").end("cancelled")
    turn.used(input_tokens=1000, output_tokens=30)
    world.clock.tick(1.5)
    turn.end("failed", "agent_error")
    turn.end("completed")
    world.delivery().end("delivered")
    world.delivery().end("failed", "expired")
    assert [(each["serai.outcome"], point["asInt"]) for each, point in world.points("serai.tool_calls")] == [
        ("completed", "1"),
        ("cancelled", "1"),
    ]
    called, invoked = world.points("gen_ai.client.operation.duration")
    assert (called[1]["count"], called[1]["sum"]) == ("2", 0.5)
    assert called[0]["gen_ai.operation.name"] == "execute_tool"
    assert invoked[1]["sum"] == 2.0
    assert invoked[0] == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "m-1",
        "error.type": "agent_error",
    }
    tokens = world.points("gen_ai.client.token.usage")
    assert [(each["gen_ai.token.type"], point["sum"]) for each, point in tokens] == [
        ("input", 1000),
        ("output", 30),
    ]
    deliveries = world.points("serai.deliveries")
    assert [(each["serai.delivery.status"], point["asInt"]) for each, point in deliveries] == [
        ("delivered", "1"),
        ("failed", "1"),
    ]
    assert bool(world.spans) is recording


def test_a_span_is_told_once_when_it_ends_masked_and_read_by_the_real_messages(clock: Clock) -> None:
    world, start = World(clock, content=True), clock.now
    delivery = world.delivery()
    turn = world.turn(parent=delivery)
    call = turn.tool(SECRET, "c1")
    clock.tick(1)
    clock.tick(1)
    assert world.told == []
    call.end("failed", "timeout", f"no answer to {SECRET}")
    call.end("completed")
    request = read(payload(Signal.TRACES, [], world.told), ExportTraceServiceRequest)
    (got,) = request.resource_spans[0].scope_spans[0].spans
    assert (got.name, got.kind) == ("execute_tool [masked]", got.SPAN_KIND_INTERNAL)
    assert (got.start_time_unix_nano, got.end_time_unix_nano) == (start, start + 2_000_000_000)
    attributes = values(got.attributes)
    assert (attributes["gen_ai.tool.name"], attributes["error.type"]) == ("[masked]", "timeout")
    assert (got.status.code, got.status.message) == (2, "no answer to [masked]")
    assert (got.trace_id.hex(), got.span_id.hex()) == (delivery.trace_id, call.span_id)
    assert got.parent_span_id.hex() == turn.span_id


async def test_the_current_span_is_the_parent_also_in_tasks_and_not_beside_them(world: World) -> None:
    parent = world.turn()

    async def work() -> str:
        return world.turn().parent_id

    with parent.current():
        assert current_span() is parent
        task = asyncio.create_task(work())
    assert current_span() is None
    assert await task == parent.span_id
    assert await asyncio.create_task(work()) == ""
