"""The host's log as OTLP records: a handler on the logger `serai`, set only while someone wants them."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar

from serai.telemetry.otlp import Cleaner, Json, Level, Scalar, Scoped
from serai.telemetry.spans import current_span

_ROOT = "serai"
_SAMPLED = 1

_unheard: ContextVar[bool] = ContextVar("serai_unheard", default=False)


@contextmanager
def unheard() -> Generator[None]:
    """Keep log lines of a block, and of tasks that start in it, out of telemetry.

    Otherwise a line about a record that was sent would be a record to send.
    """
    token = _unheard.set(True)
    try:
        yield
    finally:
        _unheard.reset(token)


def level_of(number: int) -> Level:
    """Return the level of one of Python's numbers."""
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

    While someone wants finer records than the host's own log has, the logger lets them through. The host's
    handler has a level of its own, so that its output does not change.

    Args:
        cleaner: Masks all text.
        now_ns: Returns the time, in nanoseconds since 1970.
        sink: Receives the records, on the thread that made them.
        lost: Called when a record could not be made.
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
        self._found = logging.NOTSET
        """Level of the logger when this handler is not on it."""
        self._is_listening = False

    def own_level(self) -> Level:
        """Return the level of the host's own log, while this handler is not on it."""
        return level_of(self._logger.getEffectiveLevel())

    def listen(self, level: Level | None) -> None:
        """Listen from a level on; `None` restores the logger."""
        if self._is_listening:
            self._logger.removeHandler(self)
            self._logger.setLevel(self._found)
        self._is_listening = level is not None
        if level is not None:
            number = _PYTHON_LEVELS[level]
            self._found = self._logger.level
            self._logger.setLevel(min(number, self._logger.getEffectiveLevel()))
            self.setLevel(number)
            self._logger.addHandler(self)

    def emit(self, record: logging.LogRecord) -> None:
        """Pass on a log line, unless it is about telemetry itself."""
        if _unheard.get():
            return
        try:
            with unheard():  # a mask that logs would call this again
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
