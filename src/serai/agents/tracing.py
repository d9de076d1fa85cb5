"""The trace that a program is in, for the agents that it asks."""

from __future__ import annotations

import sys

__all__ = ["trace_context"]

_NAMES = ("traceparent", "tracestate")


def trace_context() -> dict[str, str]:
    """`traceparent` and `tracestate` of the span that is active; nothing where nobody traces.

    ACP keeps these names free in `_meta`. A program that has not imported OpenTelemetry has no span, so it
    need not be installed.
    """
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry.propagate import inject  # noqa: PLC0415 - it is an extra, and is there by now

    carrier: dict[str, str] = {}
    inject(carrier)
    return {name: carrier[name] for name in _NAMES if name in carrier}
