"""Turns, tool calls and deliveries by the names of the GenAI conventions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from serai.telemetry.activities import Activities, wants_content
from serai.telemetry.metrics import Metrics
from serai.telemetry.records import Distribution, Metric, SpanKind, SpanRecord, StatusCode, Sum
from serai.telemetry.tracing import Tracer
from telemetry.conftest import CLEANER, SECRET, Clock

SESSION = "ahp-session:/1"
CANARY = "canary-in-a-coal-mine"


class World:
    """Activities, and what became of them."""

    def __init__(self, clock: Clock, *, content: bool) -> None:
        self.clock = clock
        self.spans: list[SpanRecord] = []
        self.tracer = Tracer(CLEANER, clock, self.spans.append)
        self.tracer.recording = True
        self.metrics = Metrics(clock())
        self.activities = Activities(self.tracer, self.metrics, clock, content=content)

    def turn(self, **fields: Any) -> Any:
        return self.activities.turn("demo", SESSION, turn_id="t1", provider="acme", model="m-1", **fields)

    def delivery(self) -> Any:
        return self.activities.delivery(
            "d1", agent="demo", conversation=SESSION, mode="immediate", reason="dm"
        )

    def reading(self) -> dict[str, Metric]:
        return {metric.name: metric for metric in self.metrics.read(self.clock(), CLEANER)}


@pytest.fixture
def world(clock: Clock) -> World:
    return World(clock, content=False)


@pytest.fixture
def open_world(clock: Clock) -> World:
    return World(clock, content=True)


def test_a_turn_is_an_invocation_of_an_agent(world: World) -> None:
    turn = world.turn()
    turn.used(input_tokens=10, output_tokens=3)
    turn.used(input_tokens=100, output_tokens=20, cache_read_tokens=50, model="m-1-2030")
    turn.complete()
    (span,) = world.spans
    assert (span.name, span.kind, span.status) == (
        "invoke_agent demo",
        SpanKind.INTERNAL,
        StatusCode.UNSET,
    )
    assert span.attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "acme",
        "gen_ai.agent.name": "demo",
        "gen_ai.conversation.id": SESSION,
        "gen_ai.request.model": "m-1",
        "gen_ai.response.model": "m-1-2030",
        "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20,
        "gen_ai.usage.cache_read.input_tokens": 50,
        "serai.turn.id": "t1",
        "serai.outcome": "completed",
    }


def test_a_tool_call_is_part_of_its_turn(world: World) -> None:
    turn = world.turn()
    call = turn.tool("bash", "c1")
    call.complete()
    turn.complete()
    called, invoked = world.spans
    assert called.name == "execute_tool bash"
    assert (called.trace_id, called.parent_id) == (invoked.trace_id, invoked.span_id)
    assert called.attributes == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.agent.name": "demo",
        "gen_ai.conversation.id": SESSION,
        "serai.outcome": "completed",
    }


def test_a_delivery_tells_its_mode_its_reason_and_its_receipt(world: World) -> None:
    delivery = world.delivery()
    delivery.accepted()
    turn = world.turn(parent=delivery)
    delivery.settle("delivered")
    turn.complete()
    delivered, invoked = world.spans
    assert (delivered.name, delivered.kind) == ("deliver", SpanKind.CONSUMER)
    assert delivered.attributes == {
        "serai.delivery.id": "d1",
        "serai.delivery.mode": "immediate",
        "serai.delivery.reason": "dm",
        "serai.delivery.status": "delivered",
        "serai.outcome": "delivered",
        "gen_ai.agent.name": "demo",
        "gen_ai.conversation.id": SESSION,
    }
    assert [event.name for event in delivered.events] == ["accepted"]
    assert invoked.parent_id == delivered.span_id


def test_a_failure_has_a_type_and_a_cancelled_turn_is_no_error(world: World) -> None:
    world.turn().fail("interrupted", f"the agent said {CANARY}")
    world.turn().cancel()
    world.delivery().settle("failed", error_type="mailbox_full")
    failed, cancelled, undelivered = world.spans
    assert (failed.status, failed.attributes["error.type"]) == (StatusCode.ERROR, "interrupted")
    assert failed.attributes["serai.outcome"] == "failed"
    assert cancelled.status is StatusCode.UNSET
    assert "error.type" not in cancelled.attributes
    assert undelivered.attributes["error.type"] == "mailbox_full"


def say_everything(world: World) -> None:
    turn = world.turn(prompt=f"{CANARY} with {SECRET}")
    call = turn.tool("bash", "c1", arguments=json.dumps({"command": f"echo {CANARY} {SECRET}"}))
    call.returned(f"{CANARY} {SECRET}")
    call.complete()
    turn.answered(f'{CANARY} "quoted" {SECRET}')
    turn.tool("bash", "c2").fail("tool_error", f"{CANARY} {SECRET}")
    turn.fail("agent_error", f"{CANARY} {SECRET}")


def test_content_is_nowhere_unless_it_was_asked_for(world: World) -> None:
    say_everything(world)
    assert len(world.spans) == 3
    assert CANARY not in repr(world.spans)
    assert CANARY not in repr(world.reading())
    assert {span.message for span in world.spans} == {""}


def test_content_that_was_asked_for_is_there_and_masked(open_world: World) -> None:
    say_everything(open_world)
    call, failed, turn = open_world.spans
    assert json.loads(str(turn.attributes["gen_ai.input.messages"])) == [
        {"role": "user", "parts": [{"type": "text", "content": f"{CANARY} with [masked]"}]}
    ]
    assert json.loads(str(turn.attributes["gen_ai.output.messages"])) == [
        {"role": "assistant", "parts": [{"type": "text", "content": f'{CANARY} "quoted" [masked]'}]}
    ]
    assert call.attributes["gen_ai.tool.call.arguments"] == f'{{"command": "echo {CANARY} [masked]"}}'
    assert call.attributes["gen_ai.tool.call.result"] == f"{CANARY} [masked]"
    assert failed.message == turn.message == f"{CANARY} [masked]"
    assert SECRET not in repr(open_world.spans)


@pytest.mark.parametrize(
    ("value", "wanted"),
    [("true", True), ("TRUE", True), ("SPAN_ONLY", True), ("span_and_event", True)]
    + [(value, False) for value in ("", "false", "1", "no_content", "event_only")],
)
def test_content_is_asked_for_with_the_standard_variable(value: str, wanted: bool) -> None:
    assert wants_content({"OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT": value}) is wanted
    assert not wants_content({})


@pytest.mark.parametrize("recording", [True, False])
def test_what_ended_is_counted_whether_anyone_traces_or_not(world: World, recording: bool) -> None:
    world.tracer.recording = recording
    turn = world.turn()
    call = turn.tool("bash", "c1")
    world.clock.tick(0.5)
    call.complete()
    call.complete()
    turn.tool("bash", "c2").cancel()
    turn.used(input_tokens=1000, output_tokens=30)
    world.clock.tick(1.5)
    turn.fail("agent_error")
    turn.complete()
    world.delivery().settle("delivered")
    world.delivery().settle("failed", error_type="expired")
    reading = world.reading()

    calls = reading["serai.tool_calls"].data
    assert isinstance(calls, Sum)
    assert {(str(point.attributes["serai.outcome"]), point.value) for point in calls.points} == {
        ("completed", 1),
        ("cancelled", 1),
    }
    times = reading["gen_ai.client.operation.duration"].data
    assert isinstance(times, Distribution)
    by_operation = {str(point.attributes["gen_ai.operation.name"]): point for point in times.points}
    assert by_operation["invoke_agent"].sum == 2.0
    assert by_operation["invoke_agent"].attributes == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "acme",
        "gen_ai.request.model": "m-1",
        "error.type": "agent_error",
    }
    assert (by_operation["execute_tool"].count, by_operation["execute_tool"].sum) == (2, 0.5)
    tokens = reading["gen_ai.client.token.usage"].data
    assert isinstance(tokens, Distribution)
    assert {(str(point.attributes["gen_ai.token.type"]), point.sum) for point in tokens.points} == {
        ("input", 1000),
        ("output", 30),
    }
    deliveries = reading["serai.deliveries"].data
    assert isinstance(deliveries, Sum)
    assert [(point.attributes["serai.delivery.status"], point.value) for point in deliveries.points] == [
        ("delivered", 1),
        ("failed", 1),
    ]
    assert bool(world.spans) is recording


def test_log_lines_within_an_activity_can_name_it(world: World) -> None:
    turn = world.turn()
    with turn.current():
        assert world.tracer.start("inner").parent_id == turn.span.span_id
