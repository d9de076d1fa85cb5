from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from serai.errors import InvalidRequest, ParseError
from serai.jsonrpc import ErrorObject, Failure, LineCodec, LineSplitter, Notification, Request, Success

CODEC = LineCodec()


def line(**message: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **message}).encode()


def refused(data: bytes) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as caught:
        CODEC.decode(data)
    return caught.value


# --- bytes to lines


@given(st.lists(st.binary(max_size=5).map(lambda line: line.replace(b"\n", b"x"))), st.data())
def test_lines_come_out_as_they_went_in_however_they_are_cut(lines: list[bytes], data: st.DataObject) -> None:
    whole = b"".join(line + b"\n" for line in lines)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    reader = LineSplitter()
    found: list[bytes] = []
    for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        found += reader.feed(whole[start:end])
    assert found == lines
    assert (reader.rest(), reader.size) == (b"", 0)


def test_an_incomplete_line_is_counted_and_can_be_taken() -> None:
    reader = LineSplitter()
    assert reader.feed(b"one\ntw") == [b"one"]
    assert reader.feed(b"o") == []
    assert reader.size == 3
    assert reader.rest() == b"two"
    assert reader.size == 0


# --- lines to messages


@pytest.mark.parametrize("request_id", [0, 7, "seven", 1.5, None])
def test_requests_have_ids_of_any_kind(request_id: Any) -> None:
    request = Request(id=request_id, method="x", params={"a": [1]})
    assert CODEC.decode(line(id=request_id, method="x", params={"a": [1]})) == request
    assert CODEC.decode(CODEC.encode(request)) == request


def test_answers_have_a_result_or_an_error_and_an_error_may_be_anything() -> None:
    assert CODEC.decode(line(id=1, result=None)) == Success(id=1, result=None)
    assert CODEC.decode(line(id=1)) == Success(id=1, result=None)  # JavaScript leaves `undefined` out
    for told, error in (
        ({"code": 1, "message": "no", "data": [2]}, ErrorObject(code=1, message="no", data=[2])),
        ({"code": True, "data": 2}, ErrorObject(code=-32603, message="", data=2)),
        ("no", ErrorObject(code=-32603, message="no")),
    ):
        assert CODEC.decode(line(id=1, error=told)) == Failure(id=1, error=error)


@pytest.mark.parametrize(
    "noise",
    [
        b"",
        b"   ",
        b"Loading...",
        b"42",
        b"null",
        b'"text"',
        b'[{"jsonrpc": "2.0", "method": "x"}]',
        b'{"level": "info", "msg": "started"}',
        b'{"method": 5}',
        b'{"jsonrpc": "2.0", "method": "session/update", "par',
        b'\xff{"method": "x"}',
        b'{"a": ' * 5000 + b"1" + b"}" * 5000,
        b'{"id": ' + b"1" * 5000 + b"}",
    ],
    ids=lambda noise: str(noise[:20]),
)
def test_what_is_no_message_is_noise(noise: bytes) -> None:
    assert CODEC.decode(noise) is None


@given(st.binary() | st.lists(st.none() | st.integers() | st.text()).map(lambda v: json.dumps(v).encode()))
def test_no_line_is_too_strange(data: bytes) -> None:
    assert CODEC.decode(data) is None


_PARTS = ["jsonrpc", "id", "method", "params", "result", "error"]


@given(st.dictionaries(st.sampled_from(_PARTS), st.none() | st.booleans() | st.integers() | st.text()))
def test_every_object_is_a_message_or_noise_or_refused(message: dict[str, Any]) -> None:
    try:
        CODEC.decode(json.dumps(message).encode())
    except InvalidRequest as error:
        CODEC.encode(Failure.from_error(error))


def test_what_cannot_be_a_request_is_refused_under_its_id() -> None:
    assert refused(line(id=3, method=5)).id == 3
    assert refused(line(id=[1], method="x")).id is None
    assert refused(line(id=True, method="x")).id is None


@pytest.mark.parametrize("params", [b'{"a": ' * 500 + b"1" + b"}" * 500, b"1e999"], ids=["deep", "large"])
def test_a_request_that_cannot_be_read_is_refused_under_its_id(params: bytes) -> None:
    assert refused(line(id="i", method="x", params=5).replace(b"5", params)).id == "i"
    assert CODEC.decode(line(method="x", params=5).replace(b"5", params)) is None
    assert CODEC.decode(line(id=3, result=5).replace(b"5", params)) is None


@pytest.mark.parametrize(
    ("params", "meant"),
    [
        (b'{"a": "caf\xe9"}', {"a": "caf\ufffd"}),
        (b'{"a": "cut \xf0\x9f", "b": 1}', {"a": "cut \ufffd", "b": 1}),
        (rb'{"a": "half \ud83d and \\ud83d"}', {"a": "half \ufffd and \\ud83d"}),
        (rb'{"a": "half \ud83d, whole \ud83d\ude00"}', {"a": "half \ufffd, whole \U0001f600"}),
        (b'{"a": [NaN, Infinity, -Infinity, -1]}', {"a": [None, None, None, -1]}),
        (rb'{"NaN": "Infinity, \"NaN\"", "b": NaN}', {"NaN": 'Infinity, "NaN"', "b": None}),
    ],
)
def test_half_an_emoji_or_a_number_that_is_none_costs_nothing_else(params: bytes, meant: Any) -> None:
    read = CODEC.decode(b'{"method": "x", "params": ' + params + b"}")
    assert read == Notification(method="x", params=meant)


def test_what_is_sent_is_one_line_of_unicode() -> None:
    sent = CODEC.encode(Request(id=1, method="x", params={"text": "a\nb\u2028c"}))
    assert sent.endswith(b"\n")
    assert sent.count(b"\n") == 1
    with pytest.raises(ParseError):
        CODEC.encode(Request(id=1, method="x", params="\ud800"))
