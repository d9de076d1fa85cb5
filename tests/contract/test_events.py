from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from contract.shapes import NOON, Shape, shape_tests
from requirements import proves
from serai import contract as c
from serai.contract import decode, encode
from serai.errors import Mismatch

CHUNK: dict[str, Any] = {"id": "c-1", "at": NOON, "role": "agent", "content": "Hello", "sequence": 7}


def event(name: str, kind: str, required: dict[str, Any], optional: dict[str, Any] | None = None) -> Shape:
    return Shape(f"caps:{name}Event", c.AgentSessionEvent, {"type": kind, **required}, optional or {})


DELIVERY = {"deliveryId": "d-1", "messageId": "m-1"}
ACTION = {"action": "deploy", "invocationId": "i-1"}

EVENTS = [
    event(
        "StatusChanged", "status.changed", {"status": "idle"}, {"previousStatus": "active", "reason": "done"}
    ),
    event("ToolCalled", "tool.called", {"tool": "bash"}, {"run": "r-1", "input": {"command": "ls"}}),
    event(
        "ToolCompleted", "tool.completed", {"tool": "bash"}, {"run": "r", "output": ["a"], "durationMs": 3}
    ),
    event("ToolFailed", "tool.failed", {"tool": "bash", "error": "no"}, {"run": "r-1", "retryable": True}),
    event("ToolOutput", "tool.output", {"tool": "bash", "output": "a.txt"}, {"run": "r-1"}),
    event("MessageReceived", "message.received", {"messageId": "m-1"}, {"deliveryId": "d-1"}),
    event("MessageSent", "message.sent", {"messageId": "m-1"}),
    event("DeliveryAccepted", "delivery.accepted", DELIVERY),
    event("DeliveryDelivered", "delivery.delivered", DELIVERY),
    event(
        "DeliveryDeferred", "delivery.deferred", {**DELIVERY, "availableAt": NOON}, {"reason": "quiet time"}
    ),
    event("DeliveryFailed", "delivery.failed", {**DELIVERY, "reason": "gone"}, {"retryable": True}),
    event("ActionInvoked", "action.invoked", ACTION),
    event("ActionCompleted", "action.completed", ACTION, {"durationMs": 1.5}),
    event("ActionFailed", "action.failed", {**ACTION, "error": "no"}, {"retryable": True}),
    event("ActionDenied", "action.denied", {**ACTION, "reason": "not yours"}),
    event("TranscriptChunk", "transcript.chunk", {"chunk": CHUNK}),
    event("FileChanged", "file.changed", {"path": "a.py", "operation": "update"}, {"diff": "+1"}),
    event("CommandStarted", "command.started", {"command": "make"}, {"cwd": "/src"}),
    event("CommandCompleted", "command.completed", {"command": "make"}, {"exitCode": 0, "durationMs": 40}),
    event("CommandFailed", "command.failed", {"command": "make", "error": "no rule"}, {"exitCode": 2}),
    event("TerminalOutput", "terminal.output", {"text": "$ "}, {"stream": "stdout"}),
    event("TerminalScreen", "terminal.screen", {"text": "$ ls"}, {"rows": 24, "cols": 80}),
    event("UsageUpdated", "usage.updated", {}, {"tokens": 10, "costUsd": 0.25, "metadata": {"model": "m"}}),
    event("SessionStarted", "session.started", {"sessionId": "s-1"}),
    event("SessionReleased", "session.released", {"sessionId": "s-1"}, {"reason": "done"}),
    event("SessionResumed", "session.resumed", {"sessionId": "s-1"}),
    event("SessionForked", "session.forked", {"sessionId": "s-2", "parentSessionId": "s-1"}),
    event("Log", "log", {"level": "info", "message": "ready"}),
    event("Error", "error", {"error": "lost"}, {"code": "connection_lost", "retryable": True}),
]
# On the page these five are in the list of types and not in the union: the manifest has no fields for them.
NAMED_AFTER_A_STATUS = [
    Shape(
        "",
        c.AgentSessionEvent,
        {"type": f"status.{status}", "status": status},
        {"previousStatus": "starting", "reason": "because"},
    )
    for status in ("idle", "active", "blocked", "waiting", "offline")
]
ALL = [*EVENTS, *NAMED_AFTER_A_STATUS]
CHUNKS = [Shape("caps:TranscriptChunk", c.TranscriptChunk, CHUNK, {"metadata": {"turn": "t-1"}})]

test_it_is_written_exactly_as_it_was_read, test_each_field_is_needed_or_may_be_left_out = shape_tests(
    [*ALL, *CHUNKS]
)


def example(kind: str) -> dict[str, Any]:
    return next(shape.wire for shape in ALL if shape.required["type"] == kind)


@pytest.mark.parametrize(
    "shape",
    [
        pytest.param(shape, marks=proves(f"caps:AgentSessionEventType.{kind}"), id=kind)
        for shape in ALL
        for kind in [shape.required["type"]]
    ],
)
def test_the_type_tells_which_event_it_is(shape: Shape) -> None:
    kind = c.AgentSessionEventType(shape.required["type"])
    found = decode(json.dumps(shape.wire), c.AgentSessionEvent)
    assert type(found) is c.EVENT_TYPES[kind]
    assert found.type is kind


@proves("caps:AgentSessionEvent")
def test_the_union_has_one_record_for_each_of_the_34_types() -> None:
    assert len(c.AgentSessionEventType) == 34
    assert set(c.EVENT_TYPES) == set(c.AgentSessionEventType)
    assert len(get_args(c.AgentSessionEvent)) == 34
    assert sorted(shape.required["type"] for shape in ALL) == sorted(c.AgentSessionEventType)


def test_an_event_named_after_a_status_cannot_carry_another() -> None:
    with pytest.raises(Mismatch, match=r"status\.idle cannot carry the status 'active'"):
        decode('{"type":"status.idle","status":"active"}', c.AgentSessionEvent)


CHOICES = [
    ("TranscriptRole", ["agent", "user", "system", "tool"], {"type": "transcript.chunk"}, "role"),
    ("FileOperation", ["create", "update", "delete"], example("file.changed"), "operation"),
    ("TerminalStream", ["stdout", "stderr", "combined"], example("terminal.output"), "stream"),
    ("LogLevel", ["debug", "info", "warn", "error"], example("log"), "level"),
]


def choose(wire: dict[str, Any], field: str, value: str) -> dict[str, Any]:
    return {**wire, "chunk": {**CHUNK, field: value}} if field == "role" else {**wire, field: value}


@pytest.mark.parametrize(
    ("wire", "field", "value"),
    [
        pytest.param(wire, field, value, marks=proves(f"caps:{name}.{value}"), id=f"{name}.{value}")
        for name, values, wire, field in CHOICES
        for value in values
    ],
)
def test_a_choice_takes_each_of_its_values(wire: dict[str, Any], field: str, value: str) -> None:
    chosen = choose(wire, field, value)
    assert json.loads(encode(decode(json.dumps(chosen), c.AgentSessionEvent))) == chosen


@pytest.mark.parametrize(
    ("wire", "field"), [pytest.param(wire, field, id=name) for name, _, wire, field in CHOICES]
)
def test_a_choice_takes_no_other_value(wire: dict[str, Any], field: str) -> None:
    with pytest.raises(Mismatch):
        decode(json.dumps(choose(wire, field, "other")), c.AgentSessionEvent)
