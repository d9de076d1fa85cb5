"""Each action of a session is one event, under a name of its own."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given

from ahp.strategies import actions_of
from requirements import proves
from serai.ahp import wire
from serai.ahp.actions import StateAction
from serai.ahp.actions.session import SessionAction
from serai.session.events import (
    SessionEvent,
    SessionEventType,
    event_of,
    read_event,
    resync,
    started,
)

AT = 1_700_000_000_123


def told(**action: Any) -> SessionEvent:
    return event_of("s", 7, AT, action)


@pytest.mark.parametrize(
    ("action", "name"),
    [
        ("turnStarted", "turn_started"),
        ("delta", "text_delta"),
        ("reasoning", "reasoning_delta"),
        ("toolCallStart", "tool_call"),
        ("toolCallDelta", "tool_input_delta"),
        ("toolCallConfirmed", "approval_resolved"),
        ("toolCallResultConfirmed", "approval_resolved"),
        ("toolCallComplete", "tool_result"),
        ("inputRequested", "question_asked"),
        ("inputCompleted", "question_answered"),
        ("usage", "usage"),
    ],
)
def test_an_event_has_the_fields_of_its_action(action: str, name: str) -> None:
    event = told(type=f"session/{action}", turnId="t", more={"of": "it"}, _meta={"private": 1})
    assert (event.type, event.data) == (f"session:{name}", {"turnId": "t", "more": {"of": "it"}})


def test_a_call_runs_at_once_or_waits_for_someone() -> None:
    ready = {"type": "session/toolCallReady", "turnId": "t", "toolCallId": "c", "toolInput": "{}"}
    assert told(**ready).type == "session:approval_requested"
    assert told(**ready, confirmed="not-needed").type == "session:tool_input"


@pytest.mark.parametrize(
    ("kind", "name"),
    [("markdown", "text_delta"), ("reasoning", "reasoning_delta"), ("systemNotification", "notice")],
)
def test_text_that_a_part_begins_with_is_told(kind: str, name: str) -> None:
    part = {"kind": kind, "id": "p", "content": "So"}
    event = told(type="session/responsePart", turnId="t", part=part)
    assert (event.type, event.data) == (f"session:{name}", {"turnId": "t", "partId": "p", "content": "So"})
    event = told(type="session/responsePart", turnId="t", part={**part, "content": ""})
    assert (event.type, event.data) == ("session:changed", {"change": "session/responsePart"})


@pytest.mark.parametrize(("action", "reason"), [("turnComplete", "end_turn"), ("turnCancelled", "cancelled")])
def test_the_end_of_a_turn_says_why(action: str, reason: str) -> None:
    event = told(type=f"session/{action}", turnId="t")
    assert event.type == "session:turn_completed"
    assert event.data == {"turnId": "t", "stopReason": reason}


def test_a_turn_that_fails_has_the_code_of_its_error() -> None:
    error = {"errorType": "turn_limit", "message": "50 turns are enough", "stack": "…"}
    event = told(type="session/error", turnId="t", error=error)
    assert event.type == "session:turn_completed"
    assert event.data["stopReason"] == "error"
    assert event.data["error"] == {"code": "turn_limit", "message": "50 turns are enough"}


@proves("session:Tools-and-secrets/variables-echoed")
def test_the_first_event_echoes_the_variables() -> None:
    settings = {"variables": {"city": "Ürümqi", "n": "{{ctx.n}}"}, "tools": ["read_file"]}
    event = started("s", AT, {"provider": "model"}, settings)
    assert (event.type, event.sequence_number) == ("session:started", 1)
    assert event.data == {"agent": {"provider": "model"}, "variables": settings["variables"]}


@proves("session:Events/sequence-numbers")
def test_the_envelope_comes_back_as_it_was() -> None:
    for event in (told(type="session/ready"), resync("s", AT, 9), started("s", AT, {}, {})):
        wire_form = msgspec.json.decode(event.to_json())
        assert wire_form["sessionId"] == "s"
        assert wire_form["sequenceNumber"] == event.sequence_number
        assert wire_form["timestamp"] == "2023-11-14T22:13:20.123000Z"
        assert read_event(event.to_json()) == event
    assert told(type="session/ready").timestamp == datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)


RESERVED = {"agent:directive_injected", "agent:context_compacted", "agent:context_cleared"}
"""Names that are kept for steering. No event has one of them."""


@proves("session:Events/steering-events-reserved")
def test_the_page_has_all_names_and_no_other() -> None:
    page = (Path(__file__).parents[2] / "docs/agent-sessions.md").read_text("utf-8")
    assert set(re.findall(r"`(session:\w+)`", page)) == set(SessionEventType)
    assert set(re.findall(r"`(agent:\w+)`", page)) == RESERVED


@proves("session:Events/session-namespace", "session:Events/steering-events-reserved")
@given(actions_of(SessionAction))
def test_every_action_of_a_session_is_one_event_of_its_namespace(action: StateAction) -> None:
    event = event_of("s", 2, AT, msgspec.json.decode(wire.encode(action)))
    assert event.type.startswith("session:")
    assert event.type in set(SessionEventType)
    assert event.type not in RESERVED
    assert read_event(event.to_json()) == event
