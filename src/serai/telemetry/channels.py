"""The telemetry channels by their URIs: which signal, and for logs from which level on.

They have no state: a subscriber gets what happens from then on, and nothing is replayed.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from serai.ahp.types import URI, TelemetryCapabilities

__all__ = [
    "CAPABILITIES",
    "LOGS",
    "METHODS",
    "METRICS",
    "TRACES",
    "Level",
    "Signal",
    "TelemetryChannel",
    "parse",
]

LOGS = "ahp-otlp:/logs/{level}"
"""Template of the log channels: clients put in the lowest level that they want."""
TRACES = "ahp-otlp:/traces"
METRICS = "ahp-otlp:/metrics"

CAPABILITIES = TelemetryCapabilities(logs=LOGS, traces=TRACES, metrics=METRICS)
"""The channels as `initialize` tells them."""


class Signal(StrEnum):
    """The kinds of telemetry."""

    LOGS = "logs"
    TRACES = "traces"
    METRICS = "metrics"


METHODS = {
    Signal.LOGS: "otlp/exportLogs",
    Signal.TRACES: "otlp/exportTraces",
    Signal.METRICS: "otlp/exportMetrics",
}
"""The notification of each signal."""


class Level(StrEnum):
    """The levels of logs, as clients name them."""

    TRACE = "trace"
    DEBUG = "debug"
    INFO = "info"
    WARN = "warn"
    ERROR = "error"
    FATAL = "fatal"

    @property
    def severity(self) -> int:
        """The lowest of OTLP's severity numbers that is of this level."""
        return _SEVERITIES[self]


_SEVERITIES = dict(zip(Level, (1, 5, 9, 13, 17, 21), strict=True))


class TelemetryChannel(NamedTuple):
    """A telemetry channel; logs have a level, the others have none."""

    signal: Signal
    level: Level | None = None

    @property
    def uri(self) -> URI:
        """The URI that clients subscribe to."""
        return _URIS[self]


_URIS: dict[TelemetryChannel, URI] = {
    TelemetryChannel(Signal.TRACES): TRACES,
    TelemetryChannel(Signal.METRICS): METRICS,
    **{TelemetryChannel(Signal.LOGS, level): LOGS.replace("{level}", level) for level in Level},
}
_CHANNELS = {uri: channel for channel, uri in _URIS.items()}


def parse(uri: URI) -> TelemetryChannel | None:
    """Find the channel of a URI; `None` when there is no such signal or level."""
    return _CHANNELS.get(uri)
