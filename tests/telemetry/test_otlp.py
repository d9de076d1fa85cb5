"""The JSON of OTLP, field by field, and read by OpenTelemetry's own messages."""

from __future__ import annotations

import json
import math
from typing import Any

import msgspec
import pytest

from serai import __version__
from serai.telemetry.otlp import logs_payload, metrics_payload, traces_payload
from serai.telemetry.records import (
    Distribution,
    DistributionPoint,
    Gauge,
    LogRecord,
    Metric,
    NumberPoint,
    SpanEvent,
    SpanKind,
    SpanRecord,
    StatusCode,
    Sum,
)
from telemetry.oracle import (
    ExportLogsServiceRequest,
    ExportMetricsServiceRequest,
    ExportTraceServiceRequest,
    read,
    values,
)

RESOURCE = {"service.name": "inn", "process.pid": 7}
TRACE_ID = "0af7651916cd43dd8448eb211c80319c"
SPAN_ID = "b7ad6b7169203331"
PARENT_ID = "00f067aa0ba902b7"


def log_record(**changes: Any) -> LogRecord:
    fields: dict[str, Any] = {
        "time_ns": 1_700_000_000_123_456_789,
        "observed_ns": 1_700_000_000_123_456_790,
        "severity": 13,
        "severity_text": "WARN",
        "body": "the disk is nearly full",
        "scope": "serai.store",
        "attributes": {"code.line.number": 12},
    }
    return LogRecord(**(fields | changes))


def span_record(**changes: Any) -> SpanRecord:
    fields: dict[str, Any] = {
        "trace_id": TRACE_ID,
        "span_id": SPAN_ID,
        "parent_id": PARENT_ID,
        "name": "invoke_agent demo",
        "kind": SpanKind.INTERNAL,
        "start_ns": 100,
        "end_ns": 250,
        "attributes": {"gen_ai.agent.name": "demo"},
    }
    return SpanRecord(**(fields | changes))


def test_a_log_record_has_the_fields_of_otlp() -> None:
    payload = logs_payload(RESOURCE, [log_record(trace_id=TRACE_ID, span_id=SPAN_ID)])
    assert payload == {
        "resourceLogs": [
            {
                "resource": {
                    "attributes": [
                        {"key": "service.name", "value": {"stringValue": "inn"}},
                        {"key": "process.pid", "value": {"intValue": "7"}},
                    ]
                },
                "scopeLogs": [
                    {
                        "scope": {"name": "serai.store", "version": __version__},
                        "logRecords": [
                            {
                                "timeUnixNano": "1700000000123456789",
                                "observedTimeUnixNano": "1700000000123456790",
                                "severityNumber": 13,
                                "severityText": "WARN",
                                "body": {"stringValue": "the disk is nearly full"},
                                "attributes": [{"key": "code.line.number", "value": {"intValue": "12"}}],
                                "traceId": TRACE_ID,
                                "spanId": SPAN_ID,
                                "flags": 1,
                            }
                        ],
                    }
                ],
            }
        ]
    }


def test_log_records_are_sorted_by_their_logger() -> None:
    payload = logs_payload({}, [log_record(scope="a"), log_record(scope="b"), log_record(scope="a")])
    scopes = payload["resourceLogs"][0]["scopeLogs"]
    assert [(each["scope"]["name"], len(each["logRecords"])) for each in scopes] == [("a", 2), ("b", 1)]


def test_a_log_record_outside_of_a_span_names_none() -> None:
    (record,) = logs_payload({}, [log_record()])["resourceLogs"][0]["scopeLogs"][0]["logRecords"]
    assert not {"traceId", "spanId", "flags"} & record.keys()


def test_logs_are_read_by_the_real_messages() -> None:
    payload = logs_payload(RESOURCE, [log_record(trace_id=TRACE_ID, span_id=SPAN_ID)])
    message = read(json.loads(json.dumps(payload)), ExportLogsServiceRequest)
    assert values(message.resource_logs[0].resource.attributes) == RESOURCE
    (record,) = message.resource_logs[0].scope_logs[0].log_records
    assert record.time_unix_nano == 1_700_000_000_123_456_789
    assert record.severity_number == 13
    assert record.body.string_value == "the disk is nearly full"
    assert record.trace_id.hex() == TRACE_ID
    assert record.span_id.hex() == SPAN_ID


def test_a_span_has_the_fields_of_otlp() -> None:
    span = span_record(
        events=[SpanEvent(120, "accepted", {"held": True})],
        status=StatusCode.ERROR,
        message="it broke",
    )
    payload = traces_payload(RESOURCE, [span])
    assert payload["resourceSpans"][0]["scopeSpans"][0] == {
        "scope": {"name": "serai", "version": __version__},
        "spans": [
            {
                "traceId": TRACE_ID,
                "spanId": SPAN_ID,
                "parentSpanId": PARENT_ID,
                "flags": 0x101,
                "name": "invoke_agent demo",
                "kind": 1,
                "startTimeUnixNano": "100",
                "endTimeUnixNano": "250",
                "attributes": [{"key": "gen_ai.agent.name", "value": {"stringValue": "demo"}}],
                "events": [
                    {
                        "timeUnixNano": "120",
                        "name": "accepted",
                        "attributes": [{"key": "held", "value": {"boolValue": True}}],
                    }
                ],
                "status": {"code": 2, "message": "it broke"},
            }
        ],
    }


def test_a_first_span_has_no_parent_and_a_good_one_no_status() -> None:
    (span,) = traces_payload({}, [span_record(parent_id="")])["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert "parentSpanId" not in span
    assert span["status"] == {}


def test_spans_are_read_by_the_real_messages() -> None:
    span = span_record(
        kind=SpanKind.CONSUMER, events=[SpanEvent(120, "accepted", {})], status=StatusCode.ERROR, message="no"
    )
    message = read(json.loads(json.dumps(traces_payload(RESOURCE, [span]))), ExportTraceServiceRequest)
    (got,) = message.resource_spans[0].scope_spans[0].spans
    assert (got.trace_id.hex(), got.span_id.hex(), got.parent_span_id.hex()) == (TRACE_ID, SPAN_ID, PARENT_ID)
    assert got.kind == got.SPAN_KIND_CONSUMER
    assert (got.start_time_unix_nano, got.end_time_unix_nano) == (100, 250)
    assert (got.status.code, got.status.message) == (2, "no")
    assert [(event.name, event.time_unix_nano) for event in got.events] == [("accepted", 120)]


@pytest.mark.parametrize(
    ("value", "encoded"),
    [
        ("text", {"stringValue": "text"}),
        (True, {"boolValue": True}),
        (0, {"intValue": "0"}),
        (2**63 - 1, {"intValue": "9223372036854775807"}),
        (-(2**63), {"intValue": "-9223372036854775808"}),
        (2**63, {"stringValue": "9223372036854775808"}),
        (1.5, {"doubleValue": 1.5}),
        (math.inf, {"doubleValue": "Infinity"}),
        (-math.inf, {"doubleValue": "-Infinity"}),
        (math.nan, {"doubleValue": "NaN"}),
        (["a", 1], {"arrayValue": {"values": [{"stringValue": "a"}, {"intValue": "1"}]}}),
        ([], {"arrayValue": {"values": []}}),
    ],
)
def test_every_kind_of_value_has_its_form(value: Any, encoded: dict[str, Any]) -> None:
    payload = traces_payload({"it": value}, [])
    assert payload["resourceSpans"][0]["resource"]["attributes"] == [{"key": "it", "value": encoded}]
    message = read(json.loads(msgspec.json.encode(payload)), ExportTraceServiceRequest)
    (got,) = values(message.resource_spans[0].resource.attributes).values()
    assert str(got) == str(value)


def test_metrics_have_the_fields_of_otlp() -> None:
    payload = metrics_payload(
        {},
        [
            Metric("actions", "{action}", "Actions", Sum([NumberPoint({"a": "b"}, 1, 2, 5)])),
            Metric("load", "1", "Load", Gauge([NumberPoint({}, 0, 2, 0.5)])),
            Metric(
                "time",
                "s",
                "Time",
                Distribution([DistributionPoint({}, 1, 2, 3, 4.5, [1, 2, 0], 0.5, 2.0)], [1.0, 2.0]),
            ),
        ],
    )
    assert payload["resourceMetrics"][0]["scopeMetrics"][0] == {
        "scope": {"name": "serai", "version": __version__},
        "metrics": [
            {
                "name": "actions",
                "description": "Actions",
                "unit": "{action}",
                "sum": {
                    "dataPoints": [
                        {
                            "attributes": [{"key": "a", "value": {"stringValue": "b"}}],
                            "startTimeUnixNano": "1",
                            "timeUnixNano": "2",
                            "asInt": "5",
                        }
                    ],
                    "aggregationTemporality": 2,
                    "isMonotonic": True,
                },
            },
            {
                "name": "load",
                "description": "Load",
                "unit": "1",
                "gauge": {"dataPoints": [{"attributes": [], "timeUnixNano": "2", "asDouble": 0.5}]},
            },
            {
                "name": "time",
                "description": "Time",
                "unit": "s",
                "histogram": {
                    "dataPoints": [
                        {
                            "attributes": [],
                            "startTimeUnixNano": "1",
                            "timeUnixNano": "2",
                            "count": "3",
                            "sum": 4.5,
                            "bucketCounts": ["1", "2", "0"],
                            "explicitBounds": [1.0, 2.0],
                            "min": 0.5,
                            "max": 2.0,
                        }
                    ],
                    "aggregationTemporality": 2,
                },
            },
        ],
    }
    message = read(json.loads(json.dumps(payload)), ExportMetricsServiceRequest)
    total, load, time = message.resource_metrics[0].scope_metrics[0].metrics
    assert (total.sum.data_points[0].as_int, total.sum.is_monotonic) == (5, True)
    assert total.sum.aggregation_temporality == 2
    assert load.gauge.data_points[0].as_double == 0.5
    assert list(time.histogram.data_points[0].bucket_counts) == [1, 2, 0]
    assert list(time.histogram.data_points[0].explicit_bounds) == [1.0, 2.0]


def test_the_oracle_refuses_a_field_that_otlp_does_not_have() -> None:
    payload = traces_payload({}, [span_record()])
    payload["resourceSpans"][0]["scopeSpans"][0]["spans"][0]["colour"] = "red"
    with pytest.raises(Exception, match="colour"):
        read(payload, ExportTraceServiceRequest)
