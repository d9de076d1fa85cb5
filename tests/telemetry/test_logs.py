"""The host's log as records."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from serai.telemetry.channels import Level
from serai.telemetry.cleaning import Cleaner
from serai.telemetry.logs import LogTap, level_of, unheard
from serai.telemetry.records import LogRecord, SpanRecord
from serai.telemetry.tracing import Tracer
from telemetry.conftest import CLEANER, SECRET, Clock

LOG = logging.getLogger("serai.host.host")


class Tap:
    """A tap, and what came out of it."""

    def __init__(self, clock: Clock, cleaner: Cleaner = CLEANER) -> None:
        self.records: list[LogRecord] = []
        self.lost = 0
        self.tap = LogTap(cleaner, clock, self.records.append, self._lose)

    def _lose(self) -> None:
        self.lost += 1

    def bodies(self) -> list[str]:
        return [record.body for record in self.records]


@pytest.fixture
def tap(clock: Clock) -> Iterator[Tap]:
    tap = Tap(clock)
    yield tap
    tap.tap.close()


def test_a_line_of_the_log_becomes_a_record(tap: Tap, clock: Clock) -> None:
    tap.tap.open(Level.INFO)
    LOG.warning("%d of %s", 1, "two")
    (record,) = tap.records
    assert (record.severity, record.severity_text) == (13, "WARN")
    assert (record.body, record.scope) == ("1 of two", "serai.host.host")
    assert record.observed_ns == clock.now
    assert record.attributes["code.file.path"] == __file__
    assert record.attributes["code.function.name"] == (
        "serai.host.host.test_a_line_of_the_log_becomes_a_record"
    )
    assert int(str(record.attributes["code.line.number"])) > 0
    assert (record.trace_id, record.span_id) == ("", "")


@pytest.mark.parametrize(
    ("number", "level"),
    [
        (1, Level.TRACE),
        (5, Level.TRACE),
        (10, Level.DEBUG),
        (20, Level.INFO),
        (25, Level.INFO),
        (30, Level.WARN),
        (40, Level.ERROR),
        (50, Level.FATAL),
        (60, Level.FATAL),
    ],
)
def test_pythons_levels_have_their_places(number: int, level: Level) -> None:
    assert level_of(number) is level


def refuse() -> None:
    raise ConnectionError(f"refused with {SECRET}")


def test_messages_and_exceptions_are_masked(tap: Tap) -> None:
    tap.tap.open(Level.INFO)
    try:
        refuse()
    except ConnectionError:
        LOG.exception("no way in with %s", SECRET)
    (record,) = tap.records
    assert record.severity == 17
    assert record.body == "no way in with [masked]"
    assert record.attributes["exception.type"] == "ConnectionError"
    assert record.attributes["exception.message"] == "refused with [masked]"
    assert "Traceback" in str(record.attributes["exception.stacktrace"])
    assert "[masked]" in str(record.attributes["exception.stacktrace"])
    assert SECRET not in repr(tap.records)


def test_a_record_names_the_span_that_it_belongs_to(tap: Tap, clock: Clock) -> None:
    spans: list[SpanRecord] = []
    tracer = Tracer(CLEANER, clock, spans.append)
    tracer.recording = True
    tap.tap.open(Level.INFO)
    span = tracer.start("work")
    with span.current():
        LOG.info("in it")
    LOG.info("beside it")
    inside, outside = tap.records
    assert (inside.trace_id, inside.span_id) == (span.trace_id, span.span_id)
    assert (outside.trace_id, outside.span_id) == ("", "")


def test_other_loggers_are_not_listened_to(tap: Tap) -> None:
    tap.tap.open(Level.INFO)
    logging.getLogger("urllib3").warning("not ours")
    logging.getLogger("seraiph").warning("not ours either")
    assert tap.records == []


def test_coarser_levels_than_the_logs_own_leave_out_the_rest(tap: Tap) -> None:
    tap.tap.open(Level.ERROR)
    LOG.warning("a warning")
    LOG.error("an error")
    assert tap.bodies() == ["an error"]


def test_who_wants_finer_records_gets_them_and_the_screen_does_not(
    tap: Tap, logger_as_it_was: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    tap.tap.open(Level.DEBUG)
    assert tap.tap.own is Level.INFO
    LOG.debug("fine")
    LOG.info("plain")
    assert tap.bodies() == ["fine", "plain"]
    assert [record.getMessage() for record in caplog.records] == ["plain"]
    with caplog.at_level(logging.DEBUG):  # lowers the root logger, which is not ours
        logging.getLogger("other").debug("theirs")
        assert caplog.records[-1].getMessage() == "theirs"
    tap.tap.close()
    assert logger_as_it_was.level == logging.INFO
    LOG.debug("fine again")
    LOG.info("plain again")
    assert tap.bodies() == ["fine", "plain"]
    assert caplog.records[-1].getMessage() == "plain again"


def test_with_its_own_level_it_gets_all_that_the_log_has(tap: Tap) -> None:
    tap.tap.open(None, own=True)
    LOG.debug("fine")
    LOG.info("plain")
    assert tap.bodies() == ["plain"]
    tap.tap.open(Level.ERROR, own=True)
    LOG.info("plain")
    assert tap.bodies() == ["plain", "plain"]


def test_opening_again_changes_the_level_and_does_not_double(tap: Tap) -> None:
    tap.tap.open(Level.TRACE)
    tap.tap.open(Level.WARN)
    LOG.info("plain")
    LOG.warning("grave")
    assert tap.bodies() == ["grave"]


def test_what_is_logged_while_telling_is_not_told(tap: Tap) -> None:
    tap.tap.open(Level.INFO)
    with unheard():
        LOG.error("could not send a record")
    LOG.error("after it")
    assert tap.bodies() == ["after it"]


def test_a_mask_that_logs_does_not_come_back(clock: Clock) -> None:
    def chatty(text: str) -> str:
        LOG.info("masking")
        return text

    tap = Tap(clock, Cleaner(chatty))
    tap.tap.open(Level.INFO)
    LOG.info("once")
    tap.tap.close()
    assert tap.bodies() == ["once"]


def test_what_cannot_be_masked_is_not_told_but_counted(
    clock: Clock, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(text: str) -> str:
        raise ValueError(text)

    tap = Tap(clock, Cleaner(broken))
    tap.tap.open(Level.INFO)
    LOG.info("%s", SECRET)
    tap.tap.close()
    assert (tap.records, tap.lost) == ([], 1)
    assert capsys.readouterr() == ("", "")


def test_a_line_whose_arguments_do_not_fit_is_counted_as_lost(tap: Tap) -> None:
    tap.tap.open(Level.INFO)
    record = LOG.makeRecord(LOG.name, logging.INFO, __file__, 1, "%d", ("x",), None)
    tap.tap._handler.handle(record)
    assert (tap.records, tap.lost) == ([], 1)
