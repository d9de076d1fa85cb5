"""The host's log as records."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import pytest

from serai.telemetry.logs import LogTap
from serai.telemetry.otlp import Cleaner, Level, Signal, payload
from serai.telemetry.spans import Span, Spans
from telemetry.conftest import CLEANER, SECRET, Clock, log_records_of, plain
from telemetry.oracle import ExportLogsServiceRequest, read

LOG = logging.getLogger("serai.host.host")


class Tap:
    """A tap, and what came out of it."""

    def __init__(self, clock: Clock, cleaner: Cleaner = CLEANER) -> None:
        self.told: list[tuple[str, dict[str, Any]]] = []
        self.lost = 0
        self.tap = LogTap(cleaner, clock, self.told.append, self._lose)
        self.listen = self.tap.listen

    def _lose(self) -> None:
        self.lost += 1

    @property
    def records(self) -> list[dict[str, Any]]:
        return [record for _, record in self.told]

    def bodies(self) -> list[str]:
        return [record["body"]["stringValue"] for record in self.records]


@pytest.fixture
def tap(clock: Clock) -> Iterator[Tap]:
    tap = Tap(clock)
    yield tap
    tap.listen(None)


def test_a_line_of_the_log_becomes_a_record_that_names_its_span(tap: Tap, clock: Clock) -> None:
    tap.listen(Level.INFO)
    spans = Spans(CLEANER, clock, lambda _: None, content=False)
    spans.recording = True
    span = Span(spans, "a step", {})
    with span.current():
        LOG.warning("%d of %s", 1, "two")
    made = payload(Signal.LOGS, [], tap.told)
    assert read(made, ExportLogsServiceRequest).resource_logs[0].scope_logs[0].scope.name == "serai.host.host"
    (record,) = log_records_of(made)
    assert (record["severityNumber"], record["severityText"]) == (13, "WARN")
    assert record["body"] == {"stringValue": "1 of two"}
    assert record["observedTimeUnixNano"] == str(clock.now)
    attributes = plain(record["attributes"])
    assert attributes["code.file.path"] == __file__
    assert (record["traceId"], record["spanId"]) == (span.trace_id, span.span_id)


def refuse() -> None:
    raise ConnectionError(f"refused with {SECRET}")


def test_messages_and_exceptions_are_masked(tap: Tap) -> None:
    tap.listen(Level.INFO)
    try:
        refuse()
    except ConnectionError:
        LOG.exception("no way in with %s", SECRET)
    (record,) = tap.records
    assert record["severityNumber"] == 17
    assert tap.bodies() == ["no way in with [masked]"]
    attributes = plain(record["attributes"])
    assert attributes["exception.type"] == "ConnectionError"
    assert attributes["exception.message"] == "refused with [masked]"
    assert "Traceback" in attributes["exception.stacktrace"]
    assert SECRET not in repr(tap.records)


def test_who_wants_finer_records_gets_them_and_the_screen_does_not(
    tap: Tap, logger_as_it_was: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    assert tap.tap.own_level() is Level.INFO
    caplog.handler.setLevel(logging.INFO)
    tap.listen(Level.DEBUG)
    LOG.debug("fine")
    LOG.info("plain")
    assert tap.bodies() == ["fine", "plain"]
    assert [record.getMessage() for record in caplog.records] == ["plain"]
    tap.listen(None)
    assert logger_as_it_was.level == logging.INFO
    LOG.debug("fine again")
    LOG.info("plain again")
    assert tap.bodies() == ["fine", "plain"]
    assert caplog.records[-1].getMessage() == "plain again"


def test_what_cannot_be_masked_is_not_told_but_counted(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(text: str) -> str:
        raise ValueError(text)

    tap = Tap(clock, Cleaner(broken))
    tap.listen(Level.INFO)
    LOG.info("%s", SECRET)
    tap.listen(None)
    assert (tap.records, tap.lost) == ([], 1)
    assert capsys.readouterr() == ("", "")
