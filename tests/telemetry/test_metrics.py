"""Counters, gauges and histograms."""

from __future__ import annotations

import threading

import pytest

from serai.telemetry.metrics import CARDINALITY, Counter, Histogram, Metrics
from serai.telemetry.records import Distribution, Gauge, Sum
from telemetry.conftest import CLEANER, SECRET

START = 100
NOW = 200


def test_a_counter_sums_by_label_since_the_start() -> None:
    counter = Counter("c", "1", "")
    counter.add(2, (("a", "x"),))
    counter.add(3, (("a", "x"),))
    counter.add(1, (("a", "y"),))
    points = counter.read(START, NOW, CLEANER).points
    assert [(point.attributes, point.value, point.start_ns, point.time_ns) for point in points] == [
        ({"a": "x"}, 5, START, NOW),
        ({"a": "y"}, 1, START, NOW),
    ]


def test_a_counter_can_be_read_from_who_counts_already() -> None:
    counter = Counter("c", "By", "")
    counter.read_from(lambda: 4096)
    assert [point.value for point in counter.read(START, NOW, CLEANER).points] == [4096]


def test_counting_on_many_threads_loses_nothing() -> None:
    counter, histogram = Counter("c", "1", ""), Histogram("h", "1", "", (10.0,))

    def count() -> None:
        for _ in range(2000):
            counter.add()
            histogram.record(1)

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.read(START, NOW, CLEANER).points[0].value == 8000
    assert histogram.read(START, NOW, CLEANER).points[0].buckets == [8000, 0]


def test_a_histogram_has_a_bucket_up_to_and_with_each_bound_and_one_above() -> None:
    histogram = Histogram("h", "s", "", (1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 9.0):
        histogram.record(value)
    (point,) = histogram.read(START, NOW, CLEANER).points
    assert list(point.buckets) == [2, 2, 1]
    assert (point.count, point.sum, point.minimum, point.maximum) == (5, 14.0, 0.5, 9.0)


def test_a_reading_does_not_change_afterwards() -> None:
    histogram = Histogram("h", "s", "", (1.0,))
    histogram.record(1)
    (point,) = histogram.read(START, NOW, CLEANER).points
    histogram.record(1)
    assert list(point.buckets) == [1, 0]


def test_too_many_labels_are_counted_together() -> None:
    counter, histogram = Counter("c", "1", ""), Histogram("h", "1", "", (1.0,))
    for number in range(CARDINALITY + 10):
        counter.add(1, (("tool", f"t{number}"),))
        histogram.record(1, (("tool", f"t{number}"),))
    sums = counter.read(START, NOW, CLEANER).points
    spreads = histogram.read(START, NOW, CLEANER).points
    assert len(sums) == len(spreads) == CARDINALITY + 1
    assert (sums[-1].attributes, sums[-1].value) == ({"otel.metric.overflow": True}, 10)
    assert (spreads[-1].attributes, spreads[-1].count) == ({"otel.metric.overflow": True}, 10)


def test_labels_are_masked() -> None:
    metrics = Metrics(START)
    metrics.tool_calls.add(1, (("gen_ai.tool.name", SECRET),))
    metrics.operation_time.record(1, (("gen_ai.request.model", SECRET),))
    assert SECRET not in repr(metrics.read(NOW, CLEANER))


def test_gauges_are_looked_at_when_they_are_read() -> None:
    metrics = Metrics(START)
    assert metrics.read(NOW, CLEANER) == []
    sessions: list[str] = []
    metrics.sessions.read_from(lambda: len(sessions))
    sessions += ["a", "b"]
    (reading,) = metrics.read(NOW, CLEANER)
    assert reading.name == "serai.sessions"
    assert isinstance(reading.data, Gauge)
    assert reading.data.points[0].value == 2


def test_a_source_that_fails_leaves_out_its_own_metric_and_is_named_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = Metrics(START)
    metrics.sessions.read_from(lambda: 1 // 0)
    metrics.connections.read_from(lambda: 3)
    for _ in range(2):
        assert [each.name for each in metrics.read(NOW, CLEANER)] == ["serai.connections"]
    assert [record.getMessage() for record in caplog.records] == ["the metric serai.sessions cannot be read"]


def test_the_conventions_bounds_are_used() -> None:
    metrics = Metrics(START)
    metrics.token_usage.record(1)
    metrics.operation_time.record(1)
    tokens, times = (each.data for each in metrics.read(NOW, CLEANER))
    assert isinstance(tokens, Distribution)
    assert isinstance(times, Distribution)
    assert list(tokens.bounds) == [
        1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864,
    ]  # fmt: skip
    assert list(times.bounds) == [
        0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92,
    ]  # fmt: skip


def test_sums_are_cumulative() -> None:
    metrics = Metrics(START)
    for expected in (1, 2):
        metrics.actions.add()
        (reading,) = metrics.read(NOW, CLEANER)
        assert isinstance(reading.data, Sum)
        assert (reading.data.delta, reading.data.points[0].value) == (False, expected)
