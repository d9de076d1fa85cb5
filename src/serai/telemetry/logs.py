"""The host's log as OTLP records: a handler on the logger `serai`, there only while someone wants them."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from serai.telemetry.activities import current_span
from serai.telemetry.otlp import Cleaner, Json, Level, Scalar, Scoped

_ROOT = "serai"
_SAMPLED = 1

_unheard: ContextVar[bool] = ContextVar("serai_unheard", default=False)


@contextmanager
def unheard() -> Generator[None]:
    """Keep what is logged meanwhile, and by what starts meanwhile, out of telemetry.

    Otherwise a line about a record that was sent would be a record to send.
    """
    token = _unheard.set(True)
    try:
        yield
    finally:
        _unheard.reset(token)


def level_of(number: int) -> Level:
    """The level of one of Python's numbers."""
    return next((level for level, lowest in _PYTHON_LEVELS.items() if number >= lowest), Level.TRACE)


_PYTHON_LEVELS = {
    Level.FATAL: logging.CRITICAL,
    Level.ERROR: logging.ERROR,
    Level.WARN: logging.WARNING,
    Level.INFO: logging.INFO,
    Level.DEBUG: logging.DEBUG,
    Level.TRACE: 1,
}


class LogTap(logging.Handler):
    """Listens to the logger `serai`.

    While someone wants finer records than the host's own log has, the logger lets them through, and the other
    handlers are kept from them: what is on the screen does not change because someone else looks.

    Args:
        cleaner: Masks all text.
        now_ns: The time, in nanoseconds since 1970.
        sink: Gets the records, on whichever thread they were made.
        lost: Is told when a record could not be made.
    """

    def __init__(
        self,
        cleaner: Cleaner,
        now_ns: Callable[[], int],
        sink: Callable[[Scoped], None],
        lost: Callable[[], None],
    ) -> None:
        super().__init__()
        self._cleaner = cleaner
        self._now_ns = now_ns
        self._sink = sink
        self._lost = lost
        self._logger = logging.getLogger(_ROOT)
        self._listening: Level | None = None
        self._own = logging.NOTSET
        self._levels: dict[logging.Logger | logging.Handler, int] = {}
        """What was set before finer records were let through."""

    def own_level(self) -> Level:
        """The level from which on the host's own log has records."""
        return level_of(self._own if self._levels else self._logger.getEffectiveLevel())

    def listen(self, level: Level | None) -> None:
        """Listen from a level on; `None` leaves the logger as it was found."""
        if level is self._listening:
            return
        self._restore()
        self._listening = level
        if level is not None:
            number = _PYTHON_LEVELS[level]
            self._let_through(number)
            self.setLevel(number)
            self._logger.addHandler(self)

    def _restore(self) -> None:
        self._logger.removeHandler(self)
        for each, level in self._levels.items():
            each.setLevel(level)
        self._levels.clear()

    def _let_through(self, number: int) -> None:
        self._own = self._logger.getEffectiveLevel()
        if number < self._own:
            others = list(_handlers_of(self._logger))
            self._levels = {each: each.level for each in (self._logger, *others)}
            self._logger.setLevel(number)
            for handler in others:
                handler.setLevel(max(handler.level, self._own))

    def emit(self, record: logging.LogRecord) -> None:
        """Hand on a line of the log, unless it is about telemetry itself."""
        if _unheard.get():
            return
        try:
            with unheard():  # a mask that logs would come back to here
                made = self._record(record)
        except Exception:  # noqa: BLE001 - logging never raises; and unmasked it must not be told
            self._lost()
            return
        self._sink((record.name, made))

    def _record(self, record: logging.LogRecord) -> Json:
        level = level_of(record.levelno)
        attributes: dict[str, Scalar | None] = {
            "code.function.name": f"{record.name}.{record.funcName}",
            "code.file.path": record.pathname,
            "code.line.number": record.lineno,
            "thread.name": record.threadName,
        }
        if record.exc_info and record.exc_info[0] is not None:
            kind, error, _ = record.exc_info
            module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
            attributes["exception.type"] = f"{module}{kind.__qualname__}"
            attributes["exception.message"] = str(error)
            attributes["exception.stacktrace"] = "".join(traceback.format_exception(*record.exc_info))
        made: Json = {
            "timeUnixNano": str(int(record.created * 1e9)),
            "observedTimeUnixNano": str(self._now_ns()),
            "severityNumber": level.severity,
            "severityText": level.upper(),
            "body": {"stringValue": self._cleaner.text(record.getMessage())},
            "attributes": self._cleaner.attributes(attributes),
        }
        if (span := current_span()) and span.trace_id:
            made |= {"traceId": span.trace_id, "spanId": span.span_id, "flags": _SAMPLED}
        return made


def _handlers_of(logger: logging.Logger) -> Iterator[logging.Handler]:
    """All handlers that a logger's records come to."""
    at: logging.Logger | None = logger
    while at is not None:
        yield from at.handlers
        at = at.parent if at.propagate else None
