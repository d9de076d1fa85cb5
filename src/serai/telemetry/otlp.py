"""OTLP/JSON: records to what collectors read.

The rules where it differs from plain JSON: names are lowerCamelCase; ids are hex; 64-bit integers are strings
of digits; enumerations are numbers; numbers that JSON has no form for are `"NaN"`, `"Infinity"` and
`"-Infinity"`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from serai.telemetry.records import (
    Attributes,
    Distribution,
    DistributionPoint,
    Gauge,
    LogRecord,
    Metric,
    NumberPoint,
    Scalar,
    SpanEvent,
    SpanRecord,
    StatusCode,
    Sum,
)
from serai.version import __version__

__all__ = ["SCOPE", "Json", "logs_payload", "metrics_payload", "traces_payload"]

Json: TypeAlias = dict[str, Any]

SCOPE = "serai"
"""Who measures: the scope of spans and metrics. The scope of a log record is its logger."""

_SAMPLED = 0x01
_LOCAL_PARENT = 0x100  # it is known whether the parent is of another process, and it is not
_DELTA = 1
_CUMULATIVE = 2


def logs_payload(resource: Attributes, records: Iterable[LogRecord]) -> Json:
    """An `ExportLogsServiceRequest`."""
    by_scope: dict[str, list[Json]] = {}
    for record in records:
        by_scope.setdefault(record.scope, []).append(_log_record(record))
    scopes = [{"scope": _scope(name), "logRecords": found} for name, found in by_scope.items()]
    return {"resourceLogs": [{"resource": _resource(resource), "scopeLogs": scopes}]}


def traces_payload(resource: Attributes, spans: Iterable[SpanRecord]) -> Json:
    """An `ExportTraceServiceRequest`."""
    scopes = [{"scope": _scope(SCOPE), "spans": [_span(span) for span in spans]}]
    return {"resourceSpans": [{"resource": _resource(resource), "scopeSpans": scopes}]}


def metrics_payload(resource: Attributes, metrics: Iterable[Metric]) -> Json:
    """An `ExportMetricsServiceRequest`."""
    scopes = [{"scope": _scope(SCOPE), "metrics": [_metric(metric) for metric in metrics]}]
    return {"resourceMetrics": [{"resource": _resource(resource), "scopeMetrics": scopes}]}


def _resource(attributes: Attributes) -> Json:
    return {"attributes": _attributes(attributes)}


def _scope(name: str) -> Json:
    return {"name": name, "version": __version__}


def _attributes(attributes: Attributes) -> list[Json]:
    return [{"key": key, "value": _value(value)} for key, value in attributes.items()]


def _value(value: Scalar | Sequence[Scalar]) -> Json:
    match value:
        case bool():  # before int, which it is too
            return {"boolValue": value}
        case str():
            return {"stringValue": value}
        case int():
            return {"intValue": str(value)} if -(2**63) <= value < 2**63 else {"stringValue": str(value)}
        case float():
            return {"doubleValue": _double(value)}
        case _:
            return {"arrayValue": {"values": [_value(each) for each in value]}}


def _double(value: float) -> float | str:
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _log_record(record: LogRecord) -> Json:
    encoded: Json = {
        "timeUnixNano": str(record.time_ns),
        "observedTimeUnixNano": str(record.observed_ns),
        "severityNumber": record.severity,
        "severityText": record.severity_text,
        "body": {"stringValue": record.body},
        "attributes": _attributes(record.attributes),
    }
    if record.trace_id:
        encoded |= {"traceId": record.trace_id, "spanId": record.span_id, "flags": _SAMPLED}
    return encoded


def _span(span: SpanRecord) -> Json:
    encoded: Json = {"traceId": span.trace_id, "spanId": span.span_id}
    if span.parent_id:
        encoded["parentSpanId"] = span.parent_id
    encoded |= {
        "flags": _SAMPLED | _LOCAL_PARENT,
        "name": span.name,
        "kind": int(span.kind),
        "startTimeUnixNano": str(span.start_ns),
        "endTimeUnixNano": str(span.end_ns),
        "attributes": _attributes(span.attributes),
        "events": [_event(event) for event in span.events],
        "status": _status(span),
    }
    return encoded


def _event(event: SpanEvent) -> Json:
    return {
        "timeUnixNano": str(event.time_ns),
        "name": event.name,
        "attributes": _attributes(event.attributes),
    }


def _status(span: SpanRecord) -> Json:
    if span.status is StatusCode.UNSET:
        return {}
    return {"code": int(span.status), **({"message": span.message} if span.message else {})}


def _metric(metric: Metric) -> Json:
    encoded: Json = {"name": metric.name, "description": metric.description, "unit": metric.unit}
    match metric.data:
        case Sum(points=points, delta=delta):
            encoded["sum"] = {
                "dataPoints": [_number(point) for point in points],
                "aggregationTemporality": _DELTA if delta else _CUMULATIVE,
                "isMonotonic": True,
            }
        case Gauge(points=points):
            encoded["gauge"] = {"dataPoints": [_number(point) for point in points]}
        case Distribution(points=points, bounds=bounds, delta=delta):
            encoded["histogram"] = {
                "dataPoints": [_distribution(point, bounds) for point in points],
                "aggregationTemporality": _DELTA if delta else _CUMULATIVE,
            }
    return encoded


def _number(point: NumberPoint) -> Json:
    encoded: Json = {"attributes": _attributes(point.attributes)}
    if point.start_ns:
        encoded["startTimeUnixNano"] = str(point.start_ns)
    encoded["timeUnixNano"] = str(point.time_ns)
    if isinstance(point.value, int):
        encoded["asInt"] = str(point.value)
    else:
        encoded["asDouble"] = _double(point.value)
    return encoded


def _distribution(point: DistributionPoint, bounds: Sequence[float]) -> Json:
    encoded: Json = {
        "attributes": _attributes(point.attributes),
        "startTimeUnixNano": str(point.start_ns),
        "timeUnixNano": str(point.time_ns),
        "count": str(point.count),
        "sum": _double(point.sum),
        "bucketCounts": [str(count) for count in point.buckets],
        "explicitBounds": list(bounds),
    }
    if point.minimum is not None and point.maximum is not None:
        encoded |= {"min": _double(point.minimum), "max": _double(point.maximum)}
    return encoded
