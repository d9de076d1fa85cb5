"""The telemetry channels: the host's own logs, traces and metrics. They have no state."""

from __future__ import annotations

from serai.ahp.types.common import URI
from serai.ahp.wire import Value

__all__ = ["TelemetryCapabilities"]


class TelemetryCapabilities(Value):
    """Where each kind of telemetry can be subscribed to; `logs` may be a template with `{level}`."""

    logs: URI | None = None
    traces: URI | None = None
    metrics: URI | None = None
