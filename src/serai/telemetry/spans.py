"""Spans: what takes time on a host, each told once it has ended.

A span that begins while nobody listens is not told. What was said (prompts, messages of errors) stands in no
span unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for it, and then masked.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from serai.telemetry.otlp import SCOPE, Attributes, Cleaner, Scalar, Scoped

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


def wants_content(environ: Mapping[str, str]) -> bool:
    """True when the environment asks for prompts and messages of errors in spans."""
    asked = environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
    return asked in {"true", "span_only", "span_and_event"}


class Spans:
    """What all spans of a host share.

    Args:
        cleaner: Masks all text.
        now_ns: The time, in nanoseconds since 1970.
        sink: Gets the spans that have ended.
        content: Whether prompts and messages of errors may stand in spans.
    """

    def __init__(
        self, cleaner: Cleaner, now_ns: Callable[[], int], sink: Callable[[Scoped], None], *, content: bool
    ) -> None:
        self.cleaner = cleaner
        self.now_ns = now_ns
        self.sink = sink
        self.content = content
        self.recording = False
        """True while somebody listens."""


class Span:
    """Something that takes time, from when it is made until it is ended.

    Args:
        spans: Those of the host.
        name: What people see.
        attributes: What is known of it. One that is `None` is left out.
        kind: OTLP's.
        parent: What it is part of; by default the current span.
    """

    def __init__(
        self,
        spans: Spans,
        name: str,
        attributes: Attributes,
        *,
        kind: int = INTERNAL,
        parent: Span | None = None,
    ) -> None:
        self._spans = spans
        self._name = name
        self._kind = kind
        self._attributes: dict[str, Scalar | None] = {}
        self._start_ns = spans.now_ns()
        self.trace_id = self.span_id = self.parent_id = ""  # as long as nobody listens
        if spans.recording:
            parent = parent or _current.get()
            self.parent_id = parent.span_id if parent else ""
            self.trace_id = parent.trace_id if parent and self.parent_id else os.urandom(16).hex()
            self.span_id = os.urandom(8).hex()
        self.set(attributes)

    def set(self, attributes: Attributes) -> None:
        """Set attributes. One that is `None` is left out."""
        if self.span_id:
            self._attributes |= {name: value for name, value in attributes.items() if value is not None}

    @contextmanager
    def current(self) -> Generator[None]:
        """While this lasts, log records name the span, and what begins is part of it."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def end(self, outcome: str, error_type: str | None = None, message: str | None = None) -> float:
        """End it, well or not. Returns how many seconds it took.

        Args:
            outcome: How it ended: `completed`, `cancelled`, `failed`, or the status of a receipt.
            error_type: A word out of few, when it failed. To be stopped, or not allowed, is no error.
            message: What went wrong. It is content: an agent's words may quote what it was asked.
        """
        ended_ns = max(self._start_ns, self._spans.now_ns())
        if self.span_id and self._spans.recording:
            self.set({"serai.outcome": outcome, "error.type": error_type})
            cleaner = self._spans.cleaner
            said = {"message": cleaner.text(message)} if message and self._spans.content else {}
            record = {
                "traceId": self.trace_id,
                "spanId": self.span_id,
                **({"parentSpanId": self.parent_id} if self.parent_id else {}),
                "flags": _SAMPLED_LOCAL_PARENT,
                "name": cleaner.text(self._name),
                "kind": self._kind,
                "startTimeUnixNano": str(self._start_ns),
                "endTimeUnixNano": str(ended_ns),
                "attributes": cleaner.attributes(self._attributes),
                "status": {"code": _ERROR, **said} if error_type else {},
            }
            self._spans.sink((SCOPE, record))
        return (ended_ns - self._start_ns) / 1e9
