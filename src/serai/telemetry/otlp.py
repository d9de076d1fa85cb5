"""The telemetry channels and OTLP's JSON: attributes with masked text, payloads, and the resource.

The channels have no state: a subscriber gets new records only, and nothing is replayed. Ids are in hex,
64-bit integers are strings and enumerations are numbers, as in OTLP over HTTP.
"""

from __future__ import annotations

import logging
import os
import platform
import uuid
from collections.abc import Callable, Iterable, Mapping
from enum import StrEnum
from typing import Any, NamedTuple, TypeAlias
from urllib.parse import unquote

from serai.ahp.types import URI, TelemetryCapabilities
from serai.version import __version__

_log = logging.getLogger(__name__)

LOGS = "ahp-otlp:/logs/{level}"
"""Template of the log channels: clients fill in the lowest level that they want."""
TRACES = "ahp-otlp:/traces"
METRICS = "ahp-otlp:/metrics"

CAPABILITIES = TelemetryCapabilities(logs=LOGS, traces=TRACES, metrics=METRICS)
"""The channels, as `initialize` announces them."""


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


# -- JSON ---------------------------------------------------------------------------------------------------

Json: TypeAlias = dict[str, Any]
Scalar: TypeAlias = str | bool | int | float
Attributes: TypeAlias = Mapping[str, Scalar | None]
"""Attributes by name; those that are `None` are left out."""
Labels: TypeAlias = tuple[tuple[str, Scalar], ...]
"""The attributes of a measurement, as a key. Always name them in the same order."""
Scoped: TypeAlias = tuple[str, Json]
"""A record in OTLP's JSON, after the name of its scope."""

SCOPE = "serai"
"""The scope of spans and metrics. The scope of a log record is its logger."""

_TEXT_LIMIT = 16 * 1024
"""Longest text, in characters: a stack trace fits, a file does not."""

_PARTS = {
    Signal.LOGS: ("resourceLogs", "scopeLogs", "logRecords"),
    Signal.TRACES: ("resourceSpans", "scopeSpans", "spans"),
    Signal.METRICS: ("resourceMetrics", "scopeMetrics", "metrics"),
}
"""The names of each signal's three levels of lists."""


def payload(signal: Signal, resource: list[Json], records: Iterable[Scoped]) -> Json:
    """Make OTLP's request for a signal, with the records grouped by scope."""
    by_scope: dict[str, list[Json]] = {}
    for scope, record in records:
        by_scope.setdefault(scope, []).append(record)
    outer, inner, kind = _PARTS[signal]
    scopes = [
        {"scope": {"name": name, "version": __version__}, kind: found} for name, found in by_scope.items()
    ]
    return {outer: [{"resource": {"attributes": resource}, inner: scopes}]}


class Cleaner:
    """Makes text safe to send: without secrets, of bounded length, and valid in JSON.

    Args:
        mask: Masks secrets in a text.
    """

    def __init__(self, mask: Callable[[str], str]) -> None:
        self._mask = mask

    def text(self, text: str) -> str:
        """Mask a text, cut it, and replace what JSON cannot hold."""
        text = self._mask(text)  # before it is cut: half a secret is not recognised
        if len(text) > _TEXT_LIMIT:
            text = f"{text[:_TEXT_LIMIT]}… ({len(text) - _TEXT_LIMIT} more)"
        if not text.isascii():
            text = text.encode(errors="replace").decode()  # lone surrogates cannot be sent
        return text

    def attributes(self, attributes: Attributes) -> list[Json]:
        """Turn attributes into OTLP's list of keys and values."""
        return [
            {"key": name, "value": self._value(value)}
            for name, value in attributes.items()
            if value is not None
        ]

    def _value(self, value: Scalar) -> Json:
        match value:
            case str():
                return {"stringValue": self.text(value)}
            case bool():  # before int, since a bool is an int, too
                return {"boolValue": value}
            case int() if -(2**63) <= value < 2**63:
                return {"intValue": str(value)}
            case int() | float():
                return {"doubleValue": float(value)}


def resource_of(environ: Mapping[str, str]) -> Attributes:
    """Describe this host in the terms of OpenTelemetry's conventions.

    `OTEL_RESOURCE_ATTRIBUTES` comes before the host's own values, and `OTEL_SERVICE_NAME` before both.
    """
    attributes: dict[str, Scalar] = {
        "service.name": "serai",
        "service.version": __version__,
        "service.instance.id": str(uuid.uuid4()),
        "host.name": platform.node(),
        "os.type": platform.system().lower(),
        "process.pid": os.getpid(),
    }
    attributes |= pairs(environ, "OTEL_RESOURCE_ATTRIBUTES")
    if name := environ.get("OTEL_SERVICE_NAME", "").strip():
        attributes["service.name"] = name
    return attributes


def pairs(environ: Mapping[str, str], variable: str) -> dict[str, str]:
    """Read a variable of the form `key=value,key=value`, where values are percent-encoded."""
    found: dict[str, str] = {}
    for item in filter(None, map(str.strip, environ.get(variable, "").split(","))):
        key, separator, value = item.partition("=")
        if separator and key.strip():
            found[unquote(key.strip())] = unquote(value.strip())
        else:
            _log.warning("%s: an item is not of the form key=value, and left out", variable)
    return found
