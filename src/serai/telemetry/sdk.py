"""The border to OpenTelemetry's SDK: our records as the SDK's, into its OTLP exporters.

Only `serai.telemetry.export` imports this, on a thread of its own and when there is something to export: the
SDK is an extra, and takes its time to load. The exporters read all of `OTEL_EXPORTER_OTLP_*` themselves.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from google.protobuf.message import Message
from opentelemetry import trace
from opentelemetry._logs import LogRecord as SdkLogRecord
from opentelemetry._logs import SeverityNumber
from opentelemetry.exporter.otlp.proto.http._log_exporter import OTLPLogExporter
from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.sdk._logs import ReadableLogRecord
from opentelemetry.sdk._logs.export import LogRecordExportResult
from opentelemetry.sdk.metrics import export as sdk_metrics
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import Event, ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace.status import Status
from opentelemetry.trace.status import StatusCode as SdkStatusCode

from serai.telemetry.deltas import Deltas
from serai.telemetry.export_json import JsonSession
from serai.telemetry.otlp import SCOPE
from serai.telemetry.records import (
    Attributes,
    Distribution,
    Gauge,
    LogRecord,
    Metric,
    NumberPoint,
    SpanKind,
    SpanRecord,
    StatusCode,
    Sum,
)
from serai.version import __version__

__all__ = ["LogsOut", "MetricsOut", "TracesOut"]

_SAMPLED = trace.TraceFlags(trace.TraceFlags.SAMPLED)


class TracesOut:
    """Sends spans to the endpoint for traces. `OTEL_TRACES_SAMPLER` says which."""

    def __init__(self, resource: Attributes, *, as_json: bool = False) -> None:
        self._resource = Resource(resource)
        self._scope = _scope(SCOPE)
        self._sampler = TracerProvider(resource=self._resource, shutdown_on_exit=False).sampler
        self._exporter = OTLPSpanExporter(session=_session(ExportTraceServiceRequest, as_json))

    def send(self, spans: Sequence[SpanRecord]) -> bool:
        """Send spans. Returns whether they arrived; those that are not sampled need not."""
        taken = [self._span(span) for span in spans if self._is_sampled(span)]
        return not taken or self._exporter.export(taken) is SpanExportResult.SUCCESS

    def shutdown(self) -> None:
        """Give up what is being tried again."""
        self._exporter.shutdown()

    def _is_sampled(self, span: SpanRecord) -> bool:
        # All spans of a trace are of this host, so its id decides for all of them alike.
        decision = self._sampler.should_sample(None, int(span.trace_id, 16), span.name).decision
        return decision is Decision.RECORD_AND_SAMPLE

    def _span(self, span: SpanRecord) -> ReadableSpan:
        return ReadableSpan(
            name=span.name,
            context=_context(span.trace_id, span.span_id),
            parent=_context(span.trace_id, span.parent_id) if span.parent_id else None,
            resource=self._resource,
            attributes=dict(span.attributes),  # pyright: ignore[reportArgumentType] - ours are as good
            events=[Event(each.name, dict(each.attributes), each.time_ns) for each in span.events],  # pyright: ignore[reportArgumentType] - the same
            kind=_KINDS[span.kind],
            status=Status(_STATUSES[span.status], span.message or None),
            start_time=span.start_ns,
            end_time=span.end_ns,
            instrumentation_scope=self._scope,
        )


_KINDS = {kind: trace.SpanKind[kind.name] for kind in SpanKind}
_STATUSES = {code: SdkStatusCode[code.name] for code in StatusCode}


class LogsOut:
    """Sends log records to the endpoint for logs."""

    def __init__(self, resource: Attributes, *, as_json: bool = False) -> None:
        self._resource = Resource(resource)
        self._exporter = OTLPLogExporter(session=_session(ExportLogsServiceRequest, as_json))

    def send(self, records: Sequence[LogRecord]) -> bool:
        """Send records. Returns whether they arrived."""
        return (
            self._exporter.export([self._record(each) for each in records]) is LogRecordExportResult.SUCCESS
        )

    def shutdown(self) -> None:
        """Give up what is being tried again."""
        self._exporter.shutdown()

    def _record(self, record: LogRecord) -> ReadableLogRecord:
        made = SdkLogRecord(
            timestamp=record.time_ns,
            observed_timestamp=record.observed_ns,
            severity_text=record.severity_text,
            severity_number=SeverityNumber(record.severity),
            body=record.body,
            attributes=dict(record.attributes),
        )
        if record.trace_id:
            made.trace_id = int(record.trace_id, 16)
            made.span_id = int(record.span_id, 16)
            made.trace_flags = _SAMPLED
        return ReadableLogRecord(made, self._resource, _scope(record.scope))


class MetricsOut:
    """Sends readings to the endpoint for metrics: cumulative, unless differences are preferred."""

    def __init__(self, resource: Attributes, *, as_json: bool = False) -> None:
        self._resource = Resource(resource)
        self._scope = _scope(SCOPE)
        preference = os.environ.get("OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE", "")
        self._deltas = Deltas() if preference.strip().lower() in {"delta", "lowmemory"} else None
        self._exporter = OTLPMetricExporter(session=_session(ExportMetricsServiceRequest, as_json))

    def send(self, readings: Sequence[list[Metric]]) -> bool:
        """Send the last of some readings: it has all that was in the ones before."""
        metrics = readings[-1]
        if self._deltas:
            metrics = self._deltas.take(metrics)
        if not metrics:
            return True
        scope = sdk_metrics.ScopeMetrics(self._scope, [_metric(metric) for metric in metrics], "")
        data = sdk_metrics.MetricsData([sdk_metrics.ResourceMetrics(self._resource, [scope], "")])
        result = self._exporter.export(data)  # pyright: ignore[reportUnknownMemberType] - untyped keywords
        return result is sdk_metrics.MetricExportResult.SUCCESS

    def shutdown(self) -> None:
        """Give up what is being tried again."""
        self._exporter.shutdown()  # pyright: ignore[reportUnknownMemberType] - the same


def _metric(metric: Metric) -> sdk_metrics.Metric:
    data: sdk_metrics.DataT
    match metric.data:
        case Sum(points=points, delta=delta):
            data = sdk_metrics.Sum([_number(point) for point in points], _temporality(delta), True)
        case Gauge(points=points):
            data = sdk_metrics.Gauge([_number(point) for point in points])
        case Distribution() as spread:
            data = sdk_metrics.Histogram(_distribution_points(spread), _temporality(spread.delta))
    return sdk_metrics.Metric(metric.name, metric.description, metric.unit, data)


def _temporality(delta: bool) -> sdk_metrics.AggregationTemporality:
    kinds = sdk_metrics.AggregationTemporality
    return kinds.DELTA if delta else kinds.CUMULATIVE


def _number(point: NumberPoint) -> sdk_metrics.NumberDataPoint:
    return sdk_metrics.NumberDataPoint(dict(point.attributes), point.start_ns, point.time_ns, point.value)  # pyright: ignore[reportArgumentType] - ours are as good


def _distribution_points(spread: Distribution) -> list[sdk_metrics.HistogramDataPoint]:
    return [
        sdk_metrics.HistogramDataPoint(
            attributes=dict(point.attributes),  # pyright: ignore[reportArgumentType] - the same
            start_time_unix_nano=point.start_ns,
            time_unix_nano=point.time_ns,
            count=point.count,
            sum=point.sum,
            bucket_counts=point.buckets,
            explicit_bounds=spread.bounds,
            min=point.minimum,  # pyright: ignore[reportArgumentType] - protobuf takes None as not said
            max=point.maximum,  # pyright: ignore[reportArgumentType] - the same
        )
        for point in spread.points
    ]


def _session(message: type[Message], as_json: bool) -> JsonSession | None:
    return JsonSession(message) if as_json else None


def _scope(name: str) -> InstrumentationScope:
    return InstrumentationScope(name, __version__)


def _context(trace_id: str, span_id: str) -> trace.SpanContext:
    return trace.SpanContext(int(trace_id, 16), int(span_id, 16), is_remote=False, trace_flags=_SAMPLED)
