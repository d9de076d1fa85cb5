"""Counters, gauges and histograms."""

from __future__ import annotations

from typing import Any

from serai.telemetry.metrics import CARDINALITY, Histogram, Metrics, Total
from serai.telemetry.otlp import Signal, payload
from telemetry.conftest import CLEANER, SECRET, metrics_of, plain
from telemetry.oracle import ExportMetricsServiceRequest, read

START = 100
NOW = 200


def points(instrument: Total | Histogram) -> list[dict[str, Any]]:
    data = instrument.read({"startTimeUnixNano": "100", "timeUnixNano": "200"}, CLEANER)
    assert data is not None
    (kind,) = data.values()
    return kind["dataPoints"]


def reading(metrics: Metrics) -> dict[str, dict[str, Any]]:
    made = payload(Signal.METRICS, [], metrics.read(NOW, CLEANER))
    read(made, ExportMetricsServiceRequest)
    return metrics_of(made)


def test_a_histogram_has_a_bucket_up_to_and_with_each_bound_and_one_above() -> None:
    histogram = Histogram("h", "s", "", (1.0, 2.0))
    for value in (0.5, 1.0, 1.5, 2.0, 9.0):
        histogram.record(value)
    (point,) = points(histogram)
    assert point["bucketCounts"] == ["2", "2", "1"]
    assert (point["count"], point["sum"]) == ("5", 14.0)


def test_too_many_labels_are_counted_together() -> None:
    total, histogram = Total("c", "1", ""), Histogram("h", "1", "", (1.0,))
    for number in range(CARDINALITY + 10):
        total.add(1, (("tool", f"t{number}"),))
        histogram.record(1, (("tool", f"t{number}"),))
    assert len(points(total)) == len(points(histogram)) == CARDINALITY + 1
    assert plain(points(total)[-1]["attributes"]) == {"otel.metric.overflow": True}
    assert (points(total)[-1]["asInt"], points(histogram)[-1]["count"]) == ("10", "10")


def test_a_reading_has_what_there_is_to_tell_in_the_form_of_otlp() -> None:
    metrics = Metrics(START)
    assert metrics.read(NOW, CLEANER) == []
    sessions: list[str] = []
    metrics.sessions.read_from(lambda: len(sessions))
    sessions += ["a", "b"]
    metrics.tool_calls.add(1, (("gen_ai.tool.name", SECRET),))
    metrics.token_usage.record(1)
    metrics.operation_time.record(1, (("gen_ai.request.model", SECRET),))
    found = reading(metrics)
    assert SECRET not in repr(found)
    assert found["serai.sessions"]["gauge"]["dataPoints"][0]["asInt"] == "2"
    calls = found["serai.tool_calls"]["sum"]
    assert (calls["aggregationTemporality"], calls["isMonotonic"]) == (2, True)
    tokens = found["gen_ai.client.token.usage"]["histogram"]["dataPoints"][0]["explicitBounds"]
    times = found["gen_ai.client.operation.duration"]["histogram"]["dataPoints"][0]["explicitBounds"]
    assert (tokens[:4], tokens[-1]) == ([1, 4, 16, 64], 67108864)
    assert (times[:4], times[-1]) == ([0.01, 0.02, 0.04, 0.08], 81.92)
