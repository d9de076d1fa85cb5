"""A light tracer: spans with parents, and which of them is the current one.

While nobody listens, `Tracer.start` gives one and the same span, which keeps nothing.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar

from serai.telemetry.cleaning import Cleaner
from serai.telemetry.records import Attributes, Scalar, SpanEvent, SpanKind, SpanRecord, StatusCode

__all__ = ["IDLE", "Span", "Tracer", "current_span"]

_EVENT_LIMIT = 128
"""How many events a span keeps: the first ones."""

_current: ContextVar[Span | None] = ContextVar("serai_span", default=None)


def current_span() -> Span | None:
    """The span that this piece of work is part of."""
    return _current.get()


class Span:
    """Something that takes time. Made by `Tracer.start`; told when it has ended."""

    __slots__ = (
        "_attributes",
        "_events",
        "_kind",
        "_message",
        "_start_ns",
        "_status",
        "_tracer",
        "name",
        "parent_id",
        "span_id",
        "trace_id",
    )

    recording: ClassVar[bool] = True
    """Whether anything is kept. Ask before you work out attributes."""

    def __init__(self, tracer: Tracer | None, name: str, kind: SpanKind, parent: Span | None) -> None:
        self._tracer = tracer
        self.name = name
        self._kind = kind
        self._attributes: dict[str, Scalar | Sequence[Scalar]] = {}
        self._events: list[SpanEvent] = []
        self._status = StatusCode.UNSET
        self._message = ""
        self._start_ns = tracer.now_ns() if tracer else 0
        self.trace_id = parent.trace_id if parent else os.urandom(16).hex()
        self.span_id = os.urandom(8).hex()
        self.parent_id = parent.span_id if parent else ""

    def set(self, attributes: Mapping[str, Scalar | Sequence[Scalar] | None]) -> None:
        """Set attributes. One that is `None` is left out."""
        for name, value in attributes.items():
            if value is not None:
                self._attributes[name] = value

    def event(self, name: str, attributes: Attributes | None = None) -> None:
        """Note a moment."""
        if self._tracer and len(self._events) < _EVENT_LIMIT:
            cleaned = self._tracer.cleaner.attributes(attributes or {})
            self._events.append(SpanEvent(self._tracer.now_ns(), name, cleaned))

    def fail(self, error_type: str, message: str = "") -> None:
        """It did not go well. The span still has to be ended."""
        self._attributes["error.type"] = error_type
        self._status = StatusCode.ERROR
        self._message = message

    def end(self) -> None:
        """It is over. Ending it again does nothing."""
        tracer, self._tracer = self._tracer, None
        if tracer is None or not tracer.recording:
            return
        clean = tracer.cleaner
        tracer.sink(
            SpanRecord(
                trace_id=self.trace_id,
                span_id=self.span_id,
                parent_id=self.parent_id,
                name=clean.text(self.name),
                kind=self._kind,
                start_ns=self._start_ns,
                end_ns=max(self._start_ns, tracer.now_ns()),
                attributes=clean.attributes(self._attributes),
                events=self._events,
                status=self._status,
                message=clean.text(self._message) if self._message else "",
            )
        )

    @contextmanager
    def current(self) -> Generator[None]:
        """While this lasts, spans that start are children of this one, and log records name it."""
        token = _current.set(self)
        try:
            yield
        finally:
            _current.reset(token)


class _IdleSpan(Span):
    """What is handed out while nobody listens."""

    __slots__ = ()

    recording = False

    def __init__(self) -> None:
        super().__init__(None, "", SpanKind.INTERNAL, None)
        self.trace_id = self.span_id = ""

    def set(self, attributes: Mapping[str, Scalar | Sequence[Scalar] | None]) -> None:
        """Keep nothing."""

    def event(self, name: str, attributes: Attributes | None = None) -> None:
        """Keep nothing."""

    def fail(self, error_type: str, message: str = "") -> None:
        """Keep nothing."""

    def end(self) -> None:
        """Tell nothing."""


IDLE: Span = _IdleSpan()


class Tracer:
    """Starts spans, and hands them on when they have ended.

    Args:
        cleaner: What all text passes.
        now_ns: The time, in nanoseconds since 1970.
        sink: Gets the spans that have ended.
    """

    def __init__(
        self, cleaner: Cleaner, now_ns: Callable[[], int], sink: Callable[[SpanRecord], None]
    ) -> None:
        self.cleaner = cleaner
        self.now_ns = now_ns
        self.sink = sink
        self.recording = False
        """Whether anybody listens."""

    def start(self, name: str, kind: SpanKind = SpanKind.INTERNAL, parent: Span | None = None) -> Span:
        """Start a span below `parent`, else below the current one.

        A parent that started while nobody listened is as good as none.
        """
        if not self.recording:
            return IDLE
        parent = parent or _current.get()
        return Span(self, name, kind, parent if parent and parent.recording else None)
