from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import get_args, get_type_hints

import msgspec
import pytest
from hypothesis import given, strategies as st

from serai import contract as c
from serai.contract import decode, encode
from serai.errors import Mismatch

NAIVE = datetime(2026, 3, 1, 12)  # noqa: DTZ001 - a date without a zone is what is tested
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)

aware = st.datetimes(
    timezones=st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
)


def records(base: type[c.Record] = c.Record) -> list[type[c.Record]]:
    return [record for child in base.__subclasses__() for record in (child, *records(child))]


def test_every_record_is_frozen_keyword_only_and_camel_case() -> None:
    for record in records():
        assert record.__struct_config__.frozen, record
        assert record.__struct_config__.omit_defaults, record
        assert not record.__struct_config__.forbid_unknown_fields, record
        assert not any("_" in name for name in record.__struct_encode_fields__), record
        if record.__struct_fields__:
            with pytest.raises(TypeError, match="positional"):
                record("x")  # pyright: ignore[reportCallIssue]


def test_a_field_of_the_wrong_type_is_named_in_the_error() -> None:
    with pytest.raises(Mismatch) as caught:
        decode('{"type":"transcript.chunk","chunk":{"id":"c","at":3}}', c.AgentSessionEvent)
    assert caught.value.field == "chunk.at"


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


def test_a_record_with_a_naive_date_cannot_be_copied_into_being() -> None:
    with pytest.raises(ValueError, match="time zone"):
        msgspec.structs.replace(c.Deferred(available_at=NOON), available_at=NAIVE)


def date_fields() -> list[tuple[type[c.Record], str]]:
    return [
        (record, name)
        for record in records()
        for name, hint in get_type_hints(record).items()
        if name in record.__struct_fields__ and datetime in (hint, *get_args(hint))
        if record not in {c.DeliveryRecord, c.KeptReceipt, c.RelayMessage}  # the host alone makes these
    ]


def test_a_record_that_others_make_refuses_a_naive_date() -> None:
    for record, name in date_fields():
        values = dict.fromkeys(record.__struct_fields__)
        dates = {other: NOON for other_record, other in date_fields() if other_record is record}
        with pytest.raises(ValueError, match="time zone"):
            record(**{**values, **dates, name: NAIVE})
