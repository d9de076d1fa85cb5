"""The host's log as records: a handler on the logger `serai`, there only while someone wants them."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from types import TracebackType
from typing import TypeAlias

from serai.telemetry.channels import Level
from serai.telemetry.cleaning import Cleaner
from serai.telemetry.records import LogRecord, Scalar
from serai.telemetry.tracing import current_span

__all__ = ["LogTap", "level_of", "unheard"]

_ROOT = "serai"

_ExcInfo: TypeAlias = tuple[type[BaseException], BaseException, TracebackType | None]

_unheard: ContextVar[bool] = ContextVar("serai_unheard", default=False)


@contextmanager
def unheard() -> Generator[None]:
    """What is logged meanwhile, and by what starts meanwhile, is not told as telemetry.

    For the telling itself: otherwise a line about a record that was sent would be a record to send.
    """
    token = _unheard.set(True)
    try:
        yield
    finally:
        _unheard.reset(token)


def level_of(number: int) -> Level:
    """The level of one of Python's numbers."""
    for level, lowest in _PYTHON_LEVELS:
        if number >= lowest:
            return level
    return Level.TRACE


_PYTHON_LEVELS = (
    (Level.FATAL, logging.CRITICAL),
    (Level.ERROR, logging.ERROR),
    (Level.WARN, logging.WARNING),
    (Level.INFO, logging.INFO),
    (Level.DEBUG, logging.DEBUG),
    (Level.TRACE, 1),
)


class LogTap:
    """Listens to the logger `serai`.

    While someone wants finer records than the host's own log has, the logger lets them through, and the other
    handlers are kept from them: what is on the screen does not change because someone else looks.

    Args:
        cleaner: What all text passes.
        now_ns: The time, in nanoseconds since 1970.
        sink: Gets the records, on whichever thread they were made.
        lost: Is told when a record could not be made.
    """

    def __init__(
        self,
        cleaner: Cleaner,
        now_ns: Callable[[], int],
        sink: Callable[[LogRecord], None],
        lost: Callable[[], None],
    ) -> None:
        self._handler = _Handler(cleaner, now_ns, sink, lost)
        self._logger = logging.getLogger(_ROOT)
        self._kept: tuple[int, _NotBelow, list[logging.Handler]] | None = None

    @property
    def own(self) -> Level:
        """From which level on the host's own log has records."""
        return level_of(self._kept[1].level if self._kept else self._logger.getEffectiveLevel())

    def open(self, level: Level | None, *, own: bool = False) -> None:
        """Listen, from a level on; with `own` also to whatever the host's own log has."""
        self.close()
        number = dict(_PYTHON_LEVELS)[level] if level is not None else logging.CRITICAL + 1
        self._let_through(number)
        self._handler.setLevel(logging.NOTSET if own else number)
        self._logger.addHandler(self._handler)

    def close(self) -> None:
        """Listen no longer, and leave the logger as it was found."""
        self._logger.removeHandler(self._handler)
        if self._kept is None:
            return
        level, keep, handlers = self._kept
        self._kept = None
        self._logger.setLevel(level)
        for handler in handlers:
            handler.removeFilter(keep)

    def _let_through(self, number: int) -> None:
        effective = self._logger.getEffectiveLevel()
        if number >= effective:
            return
        keep = _NotBelow(effective)
        handlers = list(_handlers_of(self._logger))
        for handler in handlers:
            handler.addFilter(keep)
        self._kept = (self._logger.level, keep, handlers)
        self._logger.setLevel(number)


def _handlers_of(logger: logging.Logger) -> Iterator[logging.Handler]:
    """All handlers that a logger's records come to."""
    at: logging.Logger | None = logger
    while at is not None:
        yield from at.handlers
        at = at.parent if at.propagate else None


class _NotBelow(logging.Filter):
    """Keeps a handler from our records that the host's own level would not have let through."""

    def __init__(self, level: int) -> None:
        super().__init__()
        self.level = level

    def filter(self, record: logging.LogRecord) -> bool:
        ours = record.name == _ROOT or record.name.startswith(f"{_ROOT}.")
        return not ours or record.levelno >= self.level


class _Handler(logging.Handler):
    def __init__(
        self,
        cleaner: Cleaner,
        now_ns: Callable[[], int],
        sink: Callable[[LogRecord], None],
        lost: Callable[[], None],
    ) -> None:
        super().__init__()
        self._clean = cleaner
        self._now_ns = now_ns
        self._sink = sink
        self._lost = lost

    def emit(self, record: logging.LogRecord) -> None:
        if _unheard.get():
            return
        try:
            with unheard():  # a mask that logs would come back to here
                made = self._make(record)
        except Exception:  # noqa: BLE001 - logging never raises; and unmasked it must not be told
            self._lost()
            return
        self._sink(made)

    def _make(self, record: logging.LogRecord) -> LogRecord:
        level = level_of(record.levelno)
        attributes: dict[str, Scalar] = {
            "code.function.name": f"{record.name}.{record.funcName}",
            "code.file.path": record.pathname,
            "code.line.number": record.lineno,
        }
        if record.threadName is not None:
            attributes["thread.name"] = record.threadName
        if record.exc_info and record.exc_info[0] is not None:
            attributes |= self._exception(record.exc_info)
        span = current_span()
        return LogRecord(
            time_ns=int(record.created * 1e9),
            observed_ns=self._now_ns(),
            severity=level.severity,
            severity_text=level.upper(),
            body=self._clean.text(record.getMessage()),
            scope=record.name,
            attributes=self._clean.attributes(attributes),
            trace_id=span.trace_id if span else "",
            span_id=span.span_id if span else "",
        )

    @staticmethod
    def _exception(info: _ExcInfo) -> dict[str, Scalar]:
        kind, error, _ = info
        module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
        return {
            "exception.type": f"{module}{kind.__qualname__}",
            "exception.message": str(error),
            "exception.stacktrace": "".join(traceback.format_exception(*info)),
        }
