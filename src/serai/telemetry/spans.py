"""A light tracer: spans with parents, and which of them is the current one.

While nobody listens, `Tracer.start` gives out `IDLE`, one span for all, which keeps nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from serai.telemetry.otlp import SCOPE, Attributes, Cleaner, Json, Scalar, Scoped

INTERNAL = 1
"""OTLP's kind of a span that is a step of our own work."""
CONSUMER = 5
"""OTLP's kind of a span that handles a message."""

_ERROR = 2
_SAMPLED_LOCAL_PARENT = 0x101

_current: ContextVar[Span | None] = ContextVar("serai_span", default=None)


def current_span() -> Span | None:
    """The span that this piece of work is part of."""
    return _current.get()


class Span:
    """Something that takes time. Made by `Tracer.start`; told when it has ended."""

    def __init__(self, tracer: Tracer | None, name: str, kind: int, parent: Span | None) -> None:
        self._tracer = tracer
        self._name = name
        self._kind = kind
        self._attributes: dict[str, Scalar | None] = {}
        self._events: list[Json] = []
        self._status: Json = {}
        self._start_ns = tracer.now_ns() if tracer else 0
        self.trace_id = parent.trace_id if parent else os.urandom(16).hex() if tracer else ""
        self.span_id = os.urandom(8).hex() if tracer else ""
        self.parent_id = parent.span_id if parent else ""

    @property
    def recording(self) -> bool:
        """True from the start to the end of a span that someone listens to."""
        return self._tracer is not None

    def set(self, attributes: Attributes) -> None:
        """Set attributes. One that is `None` is left out."""
        if self._tracer:
            self._attributes |= {name: value for name, value in attributes.items() if value is not None}

    def event(self, name: str) -> None:
        """Note a moment."""
        if self._tracer:
            self._events.append({"timeUnixNano": str(self._tracer.now_ns()), "name": name, "attributes": []})

    def fail(self, error_type: str, message: str = "") -> None:
        """Mark the span as failed. It still has to be ended."""
        if self._tracer:
            self._attributes["error.type"] = error_type
            said = {"message": self._tracer.cleaner.text(message)} if message else {}
            self._status = {"code": _ERROR, **said}

    def end(self) -> None:
        """End the span and tell it. Ending it again does nothing."""
        tracer, self._tracer = self._tracer, None
        if tracer is None or not tracer.recording:
            return
        record: Json = {
            "traceId": self.trace_id,
            "spanId": self.span_id,
            **({"parentSpanId": self.parent_id} if self.parent_id else {}),
            "flags": _SAMPLED_LOCAL_PARENT,
            "name": tracer.cleaner.text(self._name),
            "kind": self._kind,
            "startTimeUnixNano": str(self._start_ns),
            "endTimeUnixNano": str(max(self._start_ns, tracer.now_ns())),
            "attributes": tracer.cleaner.attributes(self._attributes),
            "events": self._events,
            "status": self._status,
        }
        tracer.sink((SCOPE, record))

    @contextmanager
    def current(self) -> Generator[None]:
        """While this lasts, spans that start are children of this one, and log records name it."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


IDLE = Span(None, "", INTERNAL, None)
"""The span that is handed out while nobody listens."""


class Tracer:
    """Starts spans, and hands them on when they have ended.

    Args:
        cleaner: Masks all text.
        now_ns: The time, in nanoseconds since 1970.
        sink: Gets the spans that have ended.
    """

    def __init__(self, cleaner: Cleaner, now_ns: Callable[[], int], sink: Callable[[Scoped], None]) -> None:
        self.cleaner = cleaner
        self.now_ns = now_ns
        self.sink = sink
        self.recording = False
        """True while somebody listens."""

    def start(self, name: str, kind: int = INTERNAL, parent: Span | None = None) -> Span:
        """Start a span below `parent`, else below the current one. An idle parent is as good as none."""
        if not self.recording:
            return IDLE
        parent = parent or _current.get()
        return Span(self, name, kind, parent if parent is not IDLE else None)
