"""Spans: parents, times, and masked text."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from serai.telemetry.otlp import Signal, payload
from serai.telemetry.spans import CONSUMER, IDLE, Tracer, current_span
from telemetry.conftest import CLEANER, SECRET, Clock
from telemetry.oracle import ExportTraceServiceRequest, read, values


@pytest.fixture
def told() -> list[tuple[str, Any]]:
    return []


@pytest.fixture
def tracer(clock: Clock, told: list[Any]) -> Tracer:
    tracer = Tracer(CLEANER, clock, told.append)
    tracer.recording = True
    return tracer


def test_a_span_is_told_once_when_it_ends_and_read_by_the_real_messages(
    tracer: Tracer, clock: Clock, told: list[Any]
) -> None:
    start = clock.now
    parent = tracer.start("parent")
    span = tracer.start(f"work {SECRET}", CONSUMER, parent)
    span.set({"a": 1, "b": None, "tool": SECRET})
    clock.tick(1)
    span.event("half-way")
    span.fail("timeout", f"no answer to {SECRET}")
    clock.tick(1)
    assert told == []
    span.end()
    span.end()
    (got,) = (
        read(payload(Signal.TRACES, [], told), ExportTraceServiceRequest)
        .resource_spans[0]
        .scope_spans[0]
        .spans
    )
    assert (got.name, got.kind) == ("work [masked]", got.SPAN_KIND_CONSUMER)
    assert (got.start_time_unix_nano, got.end_time_unix_nano) == (start, start + 2_000_000_000)
    assert values(got.attributes) == {"a": 1, "tool": "[masked]", "error.type": "timeout"}
    assert [(each.name, each.time_unix_nano) for each in got.events] == [("half-way", start + 1_000_000_000)]
    assert (got.status.code, got.status.message) == (2, "no answer to [masked]")
    assert (got.trace_id.hex(), got.span_id.hex()) == (parent.trace_id, span.span_id)
    assert got.parent_span_id.hex() == parent.span_id


async def test_the_current_span_is_the_parent_also_in_tasks_and_not_beside_them(tracer: Tracer) -> None:
    parent = tracer.start("parent")

    async def work() -> str:
        return tracer.start("child").parent_id

    with parent.current():
        assert current_span() is parent
        task = asyncio.create_task(work())
    assert current_span() is None
    assert await task == parent.span_id
    assert await asyncio.create_task(work()) == ""


def test_while_nobody_listens_there_is_one_span_that_keeps_nothing(tracer: Tracer, told: list[Any]) -> None:
    begun = tracer.start("begun before")
    tracer.recording = False
    begun.end()
    span = tracer.start("work")
    assert span is tracer.start("other") is IDLE
    span.set({"a": 1})
    span.event("moment")
    span.fail("timeout", "text")
    span.end()
    assert told == []
    assert (span.recording, span._attributes, span._events) == (False, {}, [])
    tracer.recording = True
    assert tracer.start("child", parent=span).parent_id == ""
