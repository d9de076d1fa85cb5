"""Turns, tool calls and deliveries by the names of the GenAI conventions."""

from __future__ import annotations

from typing import Any

import pytest

from serai.ahp import actions as a
from serai.ahp.types import (
    ErrorInfo,
    ModelSelection,
    SessionStatus,
    SessionSummary,
    ToolCallError,
    ToolCallResult,
    UsageInfo,
    UserMessage,
)
from serai.contract import Delivered, DeliveryMode, DeliveryReason, Failed
from serai.host.telemetry import SessionTelemetry
from serai.telemetry.otlp import Scoped
from serai.telemetry.spans import CONSUMER, INTERNAL
from serai.telemetry.telemetry import Telemetry
from telemetry.conftest import CLEANER, Clock, mask, plain

SESSION = "ahp-session:/1"


class World:
    """A session, and what was told of it."""

    def __init__(self, clock: Clock) -> None:
        self.clock = clock
        self.telemetry = Telemetry(mask, clock, lambda _channel, _payload: None, environ={})
        self.spans: list[dict[str, Any]] = []
        self.telemetry.spans.sink = self._told
        self.telemetry.spans.recording = True
        summary = SessionSummary(
            resource=SESSION,
            provider="acme",
            title="",
            status=SessionStatus.IDLE,
            created_at=1,
            modified_at=1,
            model=ModelSelection(id="m-1"),
        )
        self.session = SessionTelemetry(self.telemetry, SESSION, summary)
        self.happened = self.session.happened

    def _told(self, span: Scoped) -> None:
        self.spans.append(span[1])

    def begin(self) -> None:
        self.happened(a.SessionTurnStartedAction(turn_id="t1", user_message=UserMessage(text="hi")))

    def call(self, call_id: str) -> None:
        self.happened(
            a.SessionToolCallStartAction(
                turn_id="t1", tool_call_id=call_id, tool_name="bash", display_name="Bash"
            )
        )

    def called(self, call_id: str, error: ToolCallError | None = None) -> None:
        result = ToolCallResult(success=error is None, past_tense_message="", error=error)
        self.happened(a.SessionToolCallCompleteAction(turn_id="t1", tool_call_id=call_id, result=result))

    def used(self, **usage: Any) -> None:
        self.happened(a.SessionUsageAction(turn_id="t1", usage=UsageInfo(**usage)))

    def complete(self) -> None:
        self.happened(a.SessionTurnCompleteAction(turn_id="t1"))

    def fail(self) -> None:
        error = ErrorInfo(error_type="agent_error", message="it fell")
        self.happened(a.SessionErrorAction(turn_id="t1", error=error))

    def points(self, metric: str) -> list[tuple[dict[str, Any], dict[str, Any]]]:
        """The points of a metric, each after its attributes."""
        readings = self.telemetry.metrics.read(self.clock(), CLEANER)
        (found,) = [each for _, each in readings if each["name"] == metric]
        data = found.get("sum") or found["histogram"]
        return [(plain(point["attributes"]), point) for point in data["dataPoints"]]


@pytest.fixture
def world() -> World:
    return World(Clock())


def test_a_turn_is_an_invocation_of_an_agent(world: World) -> None:
    world.begin()
    world.used(input_tokens=10, output_tokens=3)
    world.used(input_tokens=100, output_tokens=20, cache_read_tokens=50, model="m-1-2030")
    world.complete()
    (span,) = world.spans
    assert (span["name"], span["kind"], span["status"]) == ("invoke_agent acme", INTERNAL, {})
    assert plain(span["attributes"]) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.provider.name": "acme",
        "gen_ai.agent.name": "acme",
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
    world.begin()
    world.call("c1")
    world.called("c1")
    world.complete()
    called, invoked = world.spans
    assert called["name"] == "execute_tool bash"
    assert (called["traceId"], called["parentSpanId"]) == (invoked["traceId"], invoked["spanId"])
    assert plain(called["attributes"]) == {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": "bash",
        "gen_ai.tool.call.id": "c1",
        "gen_ai.agent.name": "acme",
        "gen_ai.conversation.id": SESSION,
        "serai.outcome": "completed",
    }


def test_a_delivery_tells_its_mode_its_reason_and_its_receipt(world: World) -> None:
    world.session.entered("d1", DeliveryMode.IMMEDIATE, DeliveryReason.DM)
    world.session.begins("d1")
    world.begin()
    world.session.receipt("d1", Delivered(delivery_id="d1"))
    world.complete()
    delivered, invoked = world.spans
    assert (delivered["name"], delivered["kind"]) == ("deliver", CONSUMER)
    assert plain(delivered["attributes"]) == {
        "serai.delivery.id": "d1",
        "serai.delivery.mode": "immediate",
        "serai.delivery.reason": "dm",
        "serai.outcome": "delivered",
        "gen_ai.agent.name": "acme",
        "gen_ai.conversation.id": SESSION,
    }
    assert invoked["parentSpanId"] == delivered["spanId"]


@pytest.mark.parametrize("recording", [True, False])
def test_what_ended_is_counted_whether_anyone_traces_or_not(world: World, recording: bool) -> None:
    world.telemetry.spans.recording = recording
    world.begin()
    world.call("c1")
    world.clock.tick(0.5)
    world.called("c1")
    world.called("c1")
    world.call("c2")
    world.used(input_tokens=1000, output_tokens=30)
    world.clock.tick(1.5)
    world.fail()
    world.fail()
    for receipt in (Delivered(delivery_id="d1"), Failed(delivery_id="d1", reason="expired")):
        world.session.entered("d1", DeliveryMode.IMMEDIATE, DeliveryReason.DM)
        world.session.receipt("d1", receipt)
    assert [(each["serai.outcome"], point["asInt"]) for each, point in world.points("serai.tool_calls")] == [
        ("completed", "1"),
        ("cancelled", "1"),
    ]
    called, invoked = world.points("gen_ai.client.operation.duration")
    assert (called[1]["count"], called[1]["sum"]) == ("2", 2.0)
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
