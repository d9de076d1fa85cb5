"""Export to a real receiver on loopback, read with OpenTelemetry's own messages."""

from __future__ import annotations

import gzip
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from serai.telemetry import export
from serai.telemetry.channels import Signal
from serai.telemetry.export import Exporter, metric_interval, plan_export
from telemetry.conftest import CLEANER
from telemetry.oracle import (
    ExportLogsServiceRequest,
    ExportMetricsServiceRequest,
    ExportTraceServiceRequest,
    values,
)
from telemetry.receiving import RESOURCE, WITHIN, Losses, Receiver, log_record, reading, span


def test_spans_arrive_as_they_were(receiver: Receiver, exporting: Callable[..., Exporter]) -> None:
    exporter = exporting()
    exporter.put(Signal.TRACES, [span()])
    assert exporter.close(WITHIN)
    ((path, headers, body),) = receiver.requests
    assert path == "/v1/traces"
    assert headers["content-type"] == "application/x-protobuf"
    message = ExportTraceServiceRequest.FromString(body)
    assert values(message.resource_spans[0].resource.attributes) == RESOURCE
    scope = message.resource_spans[0].scope_spans[0]
    assert scope.scope.name == "serai"
    (got,) = scope.spans
    assert (got.trace_id.hex(), got.span_id.hex()) == (f"{1:032x}", f"{1:016x}")
    assert got.parent_span_id.hex() == "00f067aa0ba902b7"
    assert (got.name, got.kind) == ("invoke_agent demo", got.SPAN_KIND_CONSUMER)
    assert (got.start_time_unix_nano, got.end_time_unix_nano) == (100, 250)
    assert values(got.attributes) == {"gen_ai.agent.name": "demo", "n": 1, "list": ["a", "b"]}
    assert [(each.name, each.time_unix_nano) for each in got.events] == [("accepted", 120)]
    assert (got.status.code, got.status.message) == (2, "it broke")


def test_logs_arrive_as_they_were(receiver: Receiver, exporting: Callable[..., Exporter]) -> None:
    exporter = exporting()
    exporter.put(Signal.LOGS, [log_record()])
    assert exporter.close(WITHIN)
    ((path, _, body),) = receiver.requests
    assert path == "/v1/logs"
    scope = ExportLogsServiceRequest.FromString(body).resource_logs[0].scope_logs[0]
    assert scope.scope.name == "serai.store"
    (got,) = scope.log_records
    assert (got.time_unix_nano, got.observed_time_unix_nano) == (100, 101)
    assert (got.severity_number, got.severity_text) == (13, "WARN")
    assert got.body.string_value == "the disk is nearly full"
    assert values(got.attributes) == {"code.line.number": 12}
    assert (got.trace_id.hex(), got.span_id.hex()) == (f"{1:032x}", f"{2:016x}")


def sent_metrics(receiver: Receiver) -> list[dict[str, Any]]:
    return [
        {
            metric.name: metric
            for metric in ExportMetricsServiceRequest.FromString(body)
            .resource_metrics[0]
            .scope_metrics[0]
            .metrics
        }
        for _, _, body in receiver.requests
    ]


def test_metrics_arrive_as_they_were(receiver: Receiver, exporting: Callable[..., Exporter]) -> None:
    exporter = exporting()
    exporter.put(Signal.METRICS, [reading().read(200, CLEANER)])
    assert exporter.close(WITHIN)
    assert receiver.requests[0][0] == "/v1/metrics"
    (got,) = sent_metrics(receiver)
    (point,) = got["serai.actions"].sum.data_points
    assert (point.as_int, point.start_time_unix_nano, point.time_unix_nano) == (5, 100, 200)
    assert got["serai.actions"].sum.aggregation_temporality == 2
    assert got["serai.actions"].sum.is_monotonic
    assert got["serai.sessions"].gauge.data_points[0].as_int == 2
    (spread,) = got["serai.commit.duration"].histogram.data_points
    assert (spread.count, spread.sum, sum(spread.bucket_counts)) == (1, 0.002, 1)
    assert len(spread.bucket_counts) == len(spread.explicit_bounds) + 1


def test_readings_that_come_too_fast_give_way_to_the_newest_and_nothing_is_lost(
    receiver: Receiver, exporting: Callable[..., Exporter], losses: Losses
) -> None:
    exporter, metrics = exporting(), reading()
    for now in range(200, 300):
        metrics.actions.add(1)
        exporter.put(Signal.METRICS, [metrics.read(now, CLEANER)])
    assert exporter.close(WITHIN)
    assert losses.counts == {}
    assert sent_metrics(receiver)[-1]["serai.actions"].sum.data_points[0].as_int == 105


def test_differences_are_sent_where_they_are_preferred(
    receiver: Receiver, exporting: Callable[..., Exporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "delta")
    exporter, metrics = exporting(), reading()
    exporter.put(Signal.METRICS, [metrics.read(200, CLEANER)])
    receiver.wait(1)
    metrics.actions.add(2)
    exporter.put(Signal.METRICS, [metrics.read(300, CLEANER)])
    assert exporter.close(WITHIN)
    first, second = sent_metrics(receiver)
    assert [each["serai.actions"].sum.data_points[0].as_int for each in (first, second)] == [5, 2]
    assert second["serai.actions"].sum.aggregation_temporality == 1
    assert "serai.commit.duration" not in second


def test_headers_compression_and_endpoints_of_a_signal_are_honoured(
    receiver: Receiver, exporting: Callable[..., Exporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", f"{receiver.url}/elsewhere")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=abc,x-other=a%20b")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")
    exporter = exporting(frozenset({Signal.TRACES}))
    exporter.put(Signal.TRACES, [span()])
    assert exporter.close(WITHIN)
    ((path, headers, body),) = receiver.requests
    assert path == "/elsewhere"
    assert headers.items() >= {
        ("x-key", "abc"),
        ("x-other", "a b"),
        ("content-encoding", "gzip"),
    }
    assert ExportTraceServiceRequest.FromString(gzip.decompress(body)).resource_spans


def test_the_sampler_decides_by_trace(
    receiver: Receiver, exporting: Callable[..., Exporter], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "parentbased_traceidratio")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER_ARG", "0.5")
    exporter = exporting(frozenset({Signal.TRACES}))
    low, high = 1, 2**64 - 1
    exporter.put(Signal.TRACES, [span(low), span(high)])
    assert exporter.close(WITHIN)
    ((_, _, body),) = receiver.requests
    (got,) = ExportTraceServiceRequest.FromString(body).resource_spans[0].scope_spans[0].spans
    assert got.trace_id.hex() == f"{low:032x}"


def test_batches_have_the_size_that_was_set(receiver: Receiver, exporting: Callable[..., Exporter]) -> None:
    exporter = exporting(frozenset({Signal.TRACES}), {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "2"})
    exporter.put(Signal.TRACES, [span(number) for number in range(1, 6)])
    assert exporter.close(WITHIN)
    sizes = [
        len(ExportTraceServiceRequest.FromString(body).resource_spans[0].scope_spans[0].spans)
        for _, _, body in receiver.requests
    ]
    assert sizes == [2, 2, 1]


def test_a_batch_goes_when_its_time_has_come(receiver: Receiver, exporting: Callable[..., Exporter]) -> None:
    exporter = exporting(frozenset({Signal.LOGS}), {"OTEL_BLRP_SCHEDULE_DELAY": "10"})
    exporter.put(Signal.LOGS, [log_record()])
    receiver.wait(1)


def test_handing_over_never_waits_and_what_is_too_much_is_counted(
    receiver: Receiver, exporting: Callable[..., Exporter], losses: Losses
) -> None:
    receiver.gate.clear()
    exporter = exporting(
        frozenset({Signal.TRACES}), {"OTEL_BSP_MAX_QUEUE_SIZE": "4", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"}
    )
    exporter.put(Signal.TRACES, [span()])
    receiver.wait(1)  # the thread is in a request now, and stays there
    before = time.monotonic()
    exporter.put(Signal.TRACES, [span(number) for number in range(1, 11)])
    assert time.monotonic() - before < 0.5
    assert losses.counts == {Signal.TRACES: 6}
    receiver.gate.set()
    assert exporter.close(WITHIN)
    assert len(receiver.requests) == 5


def test_closing_takes_no_longer_than_it_may_and_counts_what_is_left(
    receiver: Receiver, exporting: Callable[..., Exporter], losses: Losses
) -> None:
    receiver.gate.clear()
    exporter = exporting(frozenset({Signal.TRACES}), {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"})
    exporter.put(Signal.TRACES, [span(1), span(2), span(3)])
    receiver.wait(1)
    before = time.monotonic()
    assert not exporter.close(0.1)
    assert time.monotonic() - before < 2
    assert losses.counts == {Signal.TRACES: 2}
    receiver.gate.set()


def test_closing_does_not_wait_for_the_next_try(
    receiver: Receiver, exporting: Callable[..., Exporter], losses: Losses
) -> None:
    receiver.answer = 503
    exporter = exporting(frozenset({Signal.TRACES}), {"OTEL_BSP_SCHEDULE_DELAY": "1"})
    exporter.put(Signal.TRACES, [span()])
    receiver.wait(1)
    before = time.monotonic()
    assert not exporter.close(0.3)
    exporter._thread.join(WITHIN)
    assert time.monotonic() - before < 3
    assert losses.counts == {Signal.TRACES: 1}


def test_closing_does_not_wait_long_for_an_endpoint_that_is_not_there(
    exporting: Callable[..., Exporter], losses: Losses, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as nobody:
        port = nobody.getsockname()[1]
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    exporter = exporting(environ={"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"})
    exporter.put(Signal.TRACES, [span(1), span(2)])
    exporter.put(Signal.LOGS, [log_record()])
    with exporter._changed:
        assert exporter._changed.wait_for(lambda: exporter._quiet_since is not None, WITHIN)
    before = time.monotonic()
    assert not exporter.close(WITHIN)
    assert time.monotonic() - before < 5
    exporter._thread.join(WITHIN)
    assert losses.counts == {Signal.TRACES: 2, Signal.LOGS: 1}


def test_closing_waits_for_an_endpoint_that_has_answered_before(
    receiver: Receiver, exporting: Callable[..., Exporter], losses: Losses, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export, "_NO_ANSWER", 0.05)
    exporter = exporting(frozenset({Signal.TRACES}), {"OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"})
    exporter.put(Signal.TRACES, [span(1)])
    with exporter._changed:
        assert exporter._changed.wait_for(lambda: exporter._answers, WITHIN)
    receiver.gate.clear()
    exporter.put(Signal.TRACES, [span(2)])
    receiver.wait(2)
    opening = threading.Timer(0.5, receiver.gate.set)
    opening.start()
    assert exporter.close(WITHIN)
    opening.join()
    assert losses.counts == {}


def test_what_the_endpoint_refuses_is_counted(
    receiver: Receiver, exporting: Callable[..., Exporter], losses: Losses
) -> None:
    receiver.answer = 400
    exporter = exporting(frozenset({Signal.TRACES, Signal.LOGS}))
    exporter.put(Signal.TRACES, [span(1), span(2)])
    exporter.put(Signal.LOGS, [log_record()])
    assert exporter.close(WITHIN)
    assert losses.counts == {Signal.TRACES: 2, Signal.LOGS: 1}


def test_without_the_extra_one_line_says_what_to_do(
    exporting: Callable[..., Exporter],
    losses: Losses,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delitem(sys.modules, "serai.telemetry.sdk", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    monkeypatch.delattr("serai.telemetry.sdk", raising=False)
    exporter = exporting()
    assert losses.failed.wait(WITHIN)
    exporter.put(Signal.TRACES, [span()])
    assert exporter.close(WITHIN)
    assert exporter.signals == frozenset()
    (line,) = [record.getMessage() for record in caplog.records]
    assert "opentelemetry is not installed" in line
    assert "pip install 'serai[otel]'" in line


def test_what_the_sdk_refuses_does_not_end_the_host(
    exporting: Callable[..., Exporter],
    losses: Losses,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("OTEL_PYTHON_EXPORTER_OTLP_HTTP_CREDENTIAL_PROVIDER", "nobody")
    exporting()
    assert losses.failed.wait(WITHIN)
    assert "could not be set up" in caplog.text


def test_nothing_of_the_sdk_is_loaded_until_it_is_needed() -> None:
    code = (
        "import sys, serai.telemetry.telemetry\n"
        "found = [name for name in sys.modules if name.split('.')[0] in {'opentelemetry', 'requests'}]\n"
        "sys.exit(bool(found))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 0


ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x:4318"}


@pytest.mark.parametrize(
    ("environ", "signals"),
    [
        ({}, set[Signal]()),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, set[Signal]()),
        (ENDPOINT, set(Signal)),
        ({"OTEL_EXPORTER_OTLP_LOGS_ENDPOINT": "http://x"}, {Signal.LOGS}),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "TRUE"}, set[Signal]()),
        (ENDPOINT | {"OTEL_SDK_DISABLED": "false"}, set(Signal)),
        (ENDPOINT | {"OTEL_TRACES_EXPORTER": "none"}, {Signal.LOGS, Signal.METRICS}),
        ({"OTEL_METRICS_EXPORTER": "otlp"}, {Signal.METRICS}),
        (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, set(Signal)),
        (ENDPOINT | {"OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}, set(Signal)),
    ],
)
def test_the_variables_say_what_is_exported(environ: dict[str, str], signals: set[Signal]) -> None:
    assert plan_export(environ) == (signals, ())


def test_what_is_not_supported_is_said_and_not_done() -> None:
    plan = plan_export(ENDPOINT | {"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc"})
    assert plan.signals == {Signal.LOGS, Signal.METRICS}
    assert [problem for problem in plan.problems if "'grpc'" in problem and "traces" in problem]
    plan = plan_export(ENDPOINT | {"OTEL_METRICS_EXPORTER": "prometheus"})
    assert plan.signals == {Signal.LOGS, Signal.TRACES}
    assert "prometheus" in plan.problems[0]
    plan = plan_export(ENDPOINT | {"OTEL_METRICS_EXPORTER": "otlp,console"})
    assert plan.signals == set(Signal)
    assert "console" in plan.problems[0]


def test_a_number_that_is_none_is_told_and_left_at_its_default(caplog: pytest.LogCaptureFixture) -> None:
    assert metric_interval({}) == 60
    assert metric_interval({"OTEL_METRIC_EXPORT_INTERVAL": "1500"}) == 1.5
    assert caplog.records == []
    for wrong in ("0", "-1", "soon", "²"):
        assert metric_interval({"OTEL_METRIC_EXPORT_INTERVAL": wrong}) == 60
    assert len(caplog.records) == 4
