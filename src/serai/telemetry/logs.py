"""The host's log as OTLP records: a handler on the logger `serai`, there only while someone wants them."""

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

    While someone wants finer records than the host's own log has, the logger lets them through. The host's
    handler has a level of its own: what is on the screen does not change because someone else looks.

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
        self._found = logging.NOTSET
        """The logger's level when nobody listens here."""
        self._is_listening = False

    def own_level(self) -> Level:
        """The level from which on the host's own log has records, as long as nobody listens here."""
        return level_of(self._logger.getEffectiveLevel())

    def listen(self, level: Level | None) -> None:
        """Listen from a level on; `None` leaves the logger as it was found."""
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
