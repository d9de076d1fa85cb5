from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from serai import contract as c
from serai.contract import decode, encode, to_wire
from serai.errors import Mismatch

NAIVE = datetime(2026, 3, 1, 12)  # noqa: DTZ001 - a date without a zone is what is tested
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

aware = st.datetimes(
    timezones=st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
)


def records(base: type[c.Record] = c.Record) -> list[type[c.Record]]:
    return [record for child in base.__subclasses__() for record in (child, *records(child))]


@pytest.mark.parametrize("record", records(), ids=lambda record: record.__name__)
def test_every_record_is_frozen_keyword_only_and_camel_case(record: type[c.Record]) -> None:
    assert record.__struct_config__.frozen
    assert record.__struct_config__.omit_defaults
    assert not record.__struct_config__.forbid_unknown_fields
    assert not any("_" in name for name in record.__struct_encode_fields__)
    if record.__struct_fields__:
        with pytest.raises(TypeError, match="positional"):
            record("x")  # pyright: ignore[reportCallIssue]


def test_a_whole_number_stays_whole_and_a_broken_one_stays_broken() -> None:
    wire = '{"type":"command.completed","command":"make","durationMs":%s}'
    assert encode(decode(wire % "12", c.CommandCompleted)) == (wire % "12").encode()
    assert encode(decode(wire % "12.5", c.CommandCompleted)) == (wire % "12.5").encode()


def test_what_is_absent_is_not_written() -> None:
    assert to_wire(c.ToolFailed(tool="bash", error="no such file")) == {
        "type": "tool.failed",
        "tool": "bash",
        "error": "no such file",
    }


def test_fields_that_a_record_does_not_know_are_passed_over() -> None:
    assert decode(
        '{"type":"status.changed","status":"idle","mood":"good"}', c.StatusChanged
    ) == c.StatusChanged(status=c.AgentStatus.IDLE)


def test_a_field_that_is_missing_is_named_in_the_error() -> None:
    with pytest.raises(Mismatch) as caught:
        decode('{"type":"transcript.chunk","chunk":{"id":"c"}}', c.AgentSessionEvent)
    assert caught.value.field == "chunk.at"
    assert str(caught.value) == "chunk.at: is required"


@pytest.mark.parametrize("data", [b"{", b"", b"\xff", '{"type":"status.changed"'])
def test_what_is_not_json_is_a_mismatch(data: bytes | str) -> None:
    with pytest.raises(Mismatch):
        decode(data, c.AgentSessionEvent)


@given(aware)
def test_a_date_comes_back_as_the_same_moment(moment: datetime) -> None:
    chunk = c.TranscriptChunk(id="c-1", at=moment, role="agent", content="", sequence=0)
    back = decode(encode(chunk), c.TranscriptChunk)
    assert back == chunk
    assert back.at.utcoffset() == moment.utcoffset()


def date_fields() -> list[tuple[type[c.Record], str]]:
    return [
        (record, name)
        for record in records()
        for name, hint in get_type_hints(record).items()
        if name in record.__struct_fields__ and datetime in (hint, *get_args(hint))
        if record not in {c.DeliveryRecord, c.KeptReceipt, c.RelayMessage}  # the host alone makes these
    ]


@pytest.mark.parametrize(
    ("record", "name"), date_fields(), ids=lambda value: getattr(value, "__name__", value)
)
def test_a_record_that_others_make_refuses_a_naive_date(record: type[c.Record], name: str) -> None:
    values = dict.fromkeys(record.__struct_fields__)
    dates = {other: NOON for other_record, other in date_fields() if other_record is record}
    with pytest.raises(ValueError, match="time zone"):
        record(**{**values, **dates, name: NAIVE})
