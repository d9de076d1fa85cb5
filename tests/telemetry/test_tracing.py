"""Spans: parents, times, and what they cost."""

from __future__ import annotations

import asyncio
import timeit

import pytest

from serai.telemetry.records import SpanKind, SpanRecord, StatusCode
from serai.telemetry.tracing import IDLE, Tracer, current_span
from telemetry.conftest import CLEANER, SECRET, Clock


@pytest.fixture
def told() -> list[SpanRecord]:
    return []


@pytest.fixture
def tracer(clock: Clock, told: list[SpanRecord]) -> Tracer:
    tracer = Tracer(CLEANER, clock, told.append)
    tracer.recording = True
    return tracer


def test_a_span_is_told_when_it_ends_with_its_times(
    tracer: Tracer, clock: Clock, told: list[SpanRecord]
) -> None:
    start = clock.now
    span = tracer.start("work", SpanKind.CLIENT)
    span.set({"a": 1, "b": None})
    clock.tick(1)
    span.event("half-way", {"c": SECRET})
    clock.tick(1)
    assert told == []
    span.end()
    (record,) = told
    assert (record.name, record.kind) == ("work", SpanKind.CLIENT)
    assert (record.start_ns, record.end_ns) == (start, start + 2_000_000_000)
    assert record.attributes == {"a": 1}
    assert [(each.name, each.time_ns, each.attributes) for each in record.events] == [
        ("half-way", start + 1_000_000_000, {"c": "[masked]"})
    ]
    assert record.status is StatusCode.UNSET


def test_a_span_ends_once(tracer: Tracer, told: list[SpanRecord]) -> None:
    span = tracer.start("work")
    span.end()
    span.end()
    assert len(told) == 1


def test_ids_are_hex_of_the_right_length_and_differ(tracer: Tracer) -> None:
    spans = [tracer.start("work") for _ in range(100)]
    assert {len(bytes.fromhex(span.trace_id)) for span in spans} == {16}
    assert {len(bytes.fromhex(span.span_id)) for span in spans} == {8}
    assert len({span.trace_id for span in spans}) == len({span.span_id for span in spans}) == 100


def test_a_child_is_of_its_parents_trace(tracer: Tracer) -> None:
    parent = tracer.start("parent")
    child = tracer.start("child", parent=parent)
    assert child.trace_id == parent.trace_id
    assert child.parent_id == parent.span_id
    assert parent.parent_id == ""


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


def test_a_failure_has_a_type_and_a_masked_message(tracer: Tracer, told: list[SpanRecord]) -> None:
    span = tracer.start("work")
    span.fail("timeout", f"no answer to {SECRET}")
    span.end()
    assert told[0].status is StatusCode.ERROR
    assert told[0].attributes["error.type"] == "timeout"
    assert told[0].message == "no answer to [masked]"


def test_text_is_masked_in_names_and_attributes(tracer: Tracer, told: list[SpanRecord]) -> None:
    span = tracer.start(f"call {SECRET}")
    span.set({"tool": SECRET})
    span.end()
    assert (told[0].name, told[0].attributes["tool"]) == ("call [masked]", "[masked]")


def test_a_clock_that_goes_back_does_not_end_a_span_before_it_began(
    tracer: Tracer, clock: Clock, told: list[SpanRecord]
) -> None:
    span = tracer.start("work")
    clock.tick(-10)
    span.end()
    assert told[0].end_ns == told[0].start_ns


def test_a_span_keeps_a_bounded_number_of_events(tracer: Tracer, told: list[SpanRecord]) -> None:
    span = tracer.start("work")
    for _ in range(1000):
        span.event("again")
    span.end()
    assert len(told[0].events) == 128


def test_while_nobody_listens_there_is_one_span_that_keeps_nothing(
    tracer: Tracer, told: list[SpanRecord]
) -> None:
    tracer.recording = False
    span = tracer.start("work")
    assert span is tracer.start("other") is IDLE
    span.set({"a": 1})
    span.event("moment")
    span.fail("timeout", "text")
    span.end()
    assert told == []
    assert not span.recording
    tracer.recording = True
    child = tracer.start("child", parent=span)
    assert child.recording
    assert child.parent_id == ""


def test_a_span_that_nobody_wants_any_more_is_not_told(tracer: Tracer, told: list[SpanRecord]) -> None:
    span = tracer.start("work")
    tracer.recording = False
    span.end()
    assert told == []


def test_an_idle_span_costs_next_to_nothing(tracer: Tracer) -> None:
    def span() -> None:
        tracer.start("work").end()

    tracer.recording = True
    busy = min(timeit.repeat(span, number=1000, repeat=5))
    tracer.recording = False
    idle = min(timeit.repeat(span, number=1000, repeat=5))
    assert idle < 0.005  # 5 µs each, on the slowest machine
    assert idle * 3 < busy
