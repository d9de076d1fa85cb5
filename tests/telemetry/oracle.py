"""OpenTelemetry's own protobuf messages, to read our JSON with."""

from __future__ import annotations

import base64
from typing import Any, TypeVar

from google.protobuf import json_format
from google.protobuf.message import Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

__all__ = [
    "ExportLogsServiceRequest",
    "ExportMetricsServiceRequest",
    "ExportTraceServiceRequest",
    "read",
    "values",
]

_IDS = {"traceId", "spanId", "parentSpanId"}

M = TypeVar("M", bound=Message)


def read(payload: dict[str, Any], kind: type[M]) -> M:
    """Read a payload strictly: a field that the message does not have is an error."""
    return json_format.ParseDict(_with_base64_ids(payload), kind())


def _with_base64_ids(value: Any) -> Any:
    """OTLP/JSON has ids in hex, protobuf's JSON has bytes in base64."""
    match value:
        case dict():
            return {
                key: base64.b64encode(bytes.fromhex(each)).decode() if key in _IDS else _with_base64_ids(each)
                for key, each in value.items()
            }
        case list():
            return [_with_base64_ids(each) for each in value]
        case _:
            return value


def values(attributes: Any) -> dict[str, Any]:
    """The attributes of a protobuf message as Python's values."""
    found: list[KeyValue] = list(attributes)
    return {each.key: _value(each.value) for each in found}


def _value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    assert kind is not None
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind)
