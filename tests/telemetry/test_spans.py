"""Spans: what they tell, once, when they end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from serai.telemetry.otlp import Signal, payload
from serai.telemetry.spans import CONSUMER, Span, Spans, current_span
from telemetry.conftest import CANARY, CLEANER, SECRET, Clock, plain
from telemetry.oracle import ExportTraceServiceRequest, read, values

TOLD = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def told() -> TOLD:
    return []


@pytest.fixture
def spans(clock: Clock, told: TOLD) -> Spans:
    spans = Spans(CLEANER, clock, told.append, content=False)
    spans.recording = True
    return spans


def test_a_span_is_told_when_it_ends_masked_and_read_by_the_real_messages(clock: Clock, told: TOLD) -> None:
    spans = Spans(CLEANER, clock, told.append, content=True)
    spans.recording = True
    start = clock.now
    parent = Span(spans, "deliver", {}, kind=CONSUMER)
    span = Span(spans, f"call {SECRET}", {"tool": SECRET, "nothing": None}, parent=parent)
    clock.tick(2)
    assert told == []
    assert span.end("failed", "timeout", f"no answer to {SECRET}") == 2.0
    request = read(payload(Signal.TRACES, [], told), ExportTraceServiceRequest)
    (got,) = request.resource_spans[0].scope_spans[0].spans
    assert (got.name, got.kind) == ("call [masked]", got.SPAN_KIND_INTERNAL)
    assert (got.start_time_unix_nano, got.end_time_unix_nano) == (start, start + 2_000_000_000)
    attributes = {"tool": "[masked]", "serai.outcome": "failed", "error.type": "timeout"}
    assert values(got.attributes) == attributes
    assert (got.status.code, got.status.message) == (2, "no answer to [masked]")
    assert (got.trace_id.hex(), got.span_id.hex()) == (parent.trace_id, span.span_id)
    assert got.parent_span_id.hex() == parent.span_id


def test_what_was_said_is_left_out_unless_it_is_asked_for(spans: Spans, told: TOLD) -> None:
    Span(spans, "a step", {}).end("failed", "interrupted", f"the agent said {CANARY}")
    Span(spans, "another", {}).end("cancelled")
    (_, failed), (_, cancelled) = told
    assert failed["status"] == {"code": 2}
    assert cancelled["status"] == {}
    assert plain(cancelled["attributes"]) == {"serai.outcome": "cancelled"}


def test_while_nobody_listens_nothing_is_told_and_time_is_taken_all_the_same(
    spans: Spans, told: TOLD, clock: Clock
) -> None:
    spans.recording = False
    span = Span(spans, "a step", {})
    clock.tick(0.5)
    assert span.end("completed") == 0.5
    assert (told, span.span_id) == ([], "")


async def test_the_current_span_is_the_parent_also_in_tasks_and_not_beside_them(spans: Spans) -> None:
    parent = Span(spans, "a step", {})

    async def work() -> str:
        return Span(spans, "a part of it", {}).parent_id

    with parent.current():
        assert current_span() is parent
        task = asyncio.create_task(work())
    assert current_span() is None
    assert await task == parent.span_id
    assert await asyncio.create_task(work()) == ""
