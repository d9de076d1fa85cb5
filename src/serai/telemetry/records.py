"""What is told before it has a wire form: log records, spans and readings of metrics.

All text in these has been masked. `serai.telemetry.otlp` makes OTLP/JSON of them, `serai.telemetry.sdk` what
OpenTelemetry's exporters take.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import TypeAlias

__all__ = [
    "Attributes",
    "Distribution",
    "DistributionPoint",
    "Gauge",
    "Labels",
    "LogRecord",
    "Metric",
    "NumberPoint",
    "Scalar",
    "SpanEvent",
    "SpanKind",
    "SpanRecord",
    "StatusCode",
    "Sum",
]

Scalar: TypeAlias = str | bool | int | float
Attributes: TypeAlias = Mapping[str, Scalar | Sequence[Scalar]]
Labels: TypeAlias = tuple[tuple[str, Scalar], ...]
"""The attributes of a measurement, in a form that can be a key. Always name them in the same order."""


class SpanKind(IntEnum):
    """What a span is to those around it; the numbers are OTLP's."""

    INTERNAL = 1
    SERVER = 2
    CLIENT = 3
    PRODUCER = 4
    CONSUMER = 5


class StatusCode(IntEnum):
    """How a span ended; the numbers are OTLP's."""

    UNSET = 0
    OK = 1
    ERROR = 2


@dataclass(frozen=True, slots=True)
class LogRecord:
    """Something that the host said in its log."""

    time_ns: int
    observed_ns: int
    severity: int
    """OTLP's number: 1 is the finest trace, 24 the worst."""
    severity_text: str
    body: str
    scope: str
    """The name of the logger."""
    attributes: Attributes = field(default_factory=dict[str, Scalar])
    trace_id: str = ""
    """In hex; empty outside of a span."""
    span_id: str = ""


@dataclass(frozen=True, slots=True)
class SpanEvent:
    """A moment within a span."""

    time_ns: int
    name: str
    attributes: Attributes


@dataclass(frozen=True, slots=True)
class SpanRecord:
    """A span that has ended."""

    trace_id: str
    span_id: str
    parent_id: str
    """Empty when the span is the first of its trace."""
    name: str
    kind: SpanKind
    start_ns: int
    end_ns: int
    attributes: Attributes
    events: Sequence[SpanEvent] = ()
    status: StatusCode = StatusCode.UNSET
    message: str = ""


@dataclass(frozen=True, slots=True)
class NumberPoint:
    """One number of a sum or a gauge."""

    attributes: Attributes
    start_ns: int
    """Since when a sum was summed up; 0 for a gauge."""
    time_ns: int
    value: int | float


@dataclass(frozen=True, slots=True)
class DistributionPoint:
    """How measurements are spread over buckets; there is one bucket more than bounds."""

    attributes: Attributes
    start_ns: int
    time_ns: int
    count: int
    sum: float
    buckets: Sequence[int]
    minimum: float | None
    maximum: float | None


@dataclass(frozen=True, slots=True)
class Sum:
    """What only grows."""

    points: Sequence[NumberPoint]
    delta: bool = False
    """Whether the points are what came since the last reading, rather than since the start."""


@dataclass(frozen=True, slots=True)
class Gauge:
    """What is, now."""

    points: Sequence[NumberPoint]


@dataclass(frozen=True, slots=True)
class Distribution:
    """What was measured, by size."""

    points: Sequence[DistributionPoint]
    bounds: Sequence[float]
    delta: bool = False


@dataclass(frozen=True, slots=True)
class Metric:
    """One reading of an instrument."""

    name: str
    unit: str
    description: str
    data: Sum | Gauge | Distribution
