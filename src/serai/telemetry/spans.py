"""Spans: the durations of work on a host, each reported at its end.

A span that begins while nobody listens is not reported. Content (prompts, messages of errors) is left out
unless `OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT` asks for it, and is masked then.
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
    """Return the span that the current work is part of."""
    return _current.get()


def wants_content(environ: Mapping[str, str]) -> bool:
    """Tell whether the environment asks for prompts and messages of errors in spans."""
    asked = environ.get("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT", "").strip().lower()
    return asked in {"true", "span_only", "span_and_event"}


class Spans:
    """The settings that all spans of a host share.

    Args:
        cleaner: Masks all text.
        now_ns: Returns the time, in nanoseconds since 1970.
        sink: Receives the spans that have ended.
        content: Include prompts and messages of errors.
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
    """A piece of work that takes time, from the creation of the span to its `end`.

    Args:
        spans: The settings of the host.
        name: A name for people.
        attributes: The attributes. One that is `None` is left out.
        kind: OTLP's kind.
        parent: The span that it is part of; by default the current one.
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
        """Make this the current span of a block: log records name it, and new spans are part of it."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)

    def end(self, outcome: str, error_type: str | None = None, message: str | None = None) -> float:
        """End the span. Returns its duration in seconds.

        Args:
            outcome: The outcome: `completed`, `cancelled`, `failed`, or the status of a receipt.
            error_type: One word for a failure. Being stopped, or not allowed, is no failure.
            message: The error message. It is content: an agent's words may quote the prompt.
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
