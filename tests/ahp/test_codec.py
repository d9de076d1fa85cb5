from __future__ import annotations

import json
from copy import deepcopy
from types import NoneType
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from ahp.strategies import json_values, plain
from ahp.types.examples import full
from requirements import proves
from serai.ahp.codec import CODEC, NOTIFICATIONS, REQUESTS, decode, encode
from serai.ahp.commands import CreateSessionParams, FetchTurnsParams, PingParams
from serai.errors import InvalidParams, InvalidRequest, MethodNotFound, ParseError, ProtocolError
from serai.jsonrpc import ErrorObject, Failure, Message, Notification, Request, Success

PING: dict[str, Any] = {"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"channel": "ahp-root://"}}
FETCH: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 8,
    "method": "fetchTurns",
    "params": {"channel": "ahp-session:/1", "limit": 20},
}
ENVELOPE: dict[str, Any] = {
    "channel": "ahp-session:/1",
    "action": {"type": "session/delta", "turnId": "t1", "partId": "p1", "content": "Hi"},
    "serverSeq": 7,
    "origin": {"clientId": "me", "clientSeq": 3},
}


def frame(value: Any) -> bytes:
    return json.dumps(value).encode()


def read(value: Any) -> Message:
    return decode(frame(value))


def result_of(response: Success, method: str) -> Any:
    return CODEC.result(method, response.result)


def refused(data: bytes | str) -> ProtocolError:
    with pytest.raises(ProtocolError) as caught:
        decode(data)
    return caught.value


# --- every kind of message, in both directions


@proves("ahp:fetchTurns/request")
def test_a_request_is_read_with_typed_params() -> None:
    assert read(FETCH) == Request(
        id=8, method="fetchTurns", params=FetchTurnsParams(channel="ahp-session:/1", limit=20)
    )


@proves("ahp:createSession/request", "ahp:disposeSession/request", "ahp:completions/request")
@pytest.mark.parametrize("method", REQUESTS)
def test_every_command_is_a_request_that_survives_a_round_trip(method: str) -> None:
    value = {"jsonrpc": "2.0", "id": 5, "method": method, "params": full(REQUESTS[method].params)}
    message = read(value)
    assert isinstance(message, Request)
    assert (message.id, message.method, type(message.params)) == (5, method, REQUESTS[method].params)
    assert json.loads(encode(message)) == value


@pytest.mark.parametrize("method", NOTIFICATIONS)
def test_every_notification_survives_a_round_trip(method: str) -> None:
    value = {"jsonrpc": "2.0", "method": method, "params": full(NOTIFICATIONS[method])}
    message = read(value)
    assert isinstance(message, Notification)
    assert (message.method, type(message.params)) == (method, NOTIFICATIONS[method])
    assert json.loads(encode(message)) == value


@pytest.mark.parametrize("method", [name for name in REQUESTS if REQUESTS[name].result is not NoneType])
def test_every_result_is_typed_by_the_command_that_it_answers(method: str) -> None:
    as_type = REQUESTS[method].result
    value = {"jsonrpc": "2.0", "id": 5, "result": full(as_type)}
    message = read(value)
    assert isinstance(message, Success)
    result = result_of(message, method)
    assert type(result) in {as_type, *getattr(as_type, "__args__", ())}
    assert json.loads(encode(Success(id=5, result=result))) == value
    assert json.loads(encode(message)) == value


@pytest.mark.parametrize(
    "method", ["ping", "createSession", "disposeSession", "createTerminal", "disposeTerminal"]
)
def test_null_is_a_result(method: str) -> None:
    data = encode(Success(id=5, result=None))
    assert json.loads(data) == {"jsonrpc": "2.0", "id": 5, "result": None}
    message = decode(data)
    assert isinstance(message, Success)
    assert result_of(message, method) is None


@pytest.mark.parametrize("data", [None, {"supportedVersions": ["^0.2.0"]}, [1, None], "text", 0, False])
@pytest.mark.parametrize("request_id", [4, 4.5, None])
def test_an_error_is_read_with_its_number_words_and_data(request_id: float | None, data: Any) -> None:
    error: dict[str, Any] = {"code": -32005, "message": "no"} | ({} if data is None else {"data": data})
    value = {"jsonrpc": "2.0", "id": request_id, "error": error}
    message = read(value)
    assert message == Failure(id=request_id, error=ErrorObject(code=-32005, message="no", data=data))
    assert json.loads(encode(message)) == value


# --- what is refused, and how


@pytest.mark.parametrize(
    "data",
    [
        "",
        "{",
        '{"jsonrpc": "2.0"} {}',
        b"\xff\xfe",
        '{"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": "\\ud800"}}',
        '{"jsonrpc": "2.0", "id": 1, "result": "\\ud800"}',
        '{"jsonrpc": "2.0", "id": 1e999, "method": "ping", "params": {}}',
        '{"jsonrpc": "2.0", "method": "later", "params": {"n": NaN}}',
    ],
)
def test_what_is_not_json_is_a_parse_error_without_an_id(data: bytes | str) -> None:
    error = refused(data)
    assert isinstance(error, ParseError)
    assert (error.number, error.id) == (-32700, None)
    assert json.loads(encode(Failure.from_error(error)))["id"] is None


@pytest.mark.parametrize(
    "data",
    [
        '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"channel": "\\ud800"}}',
        '{"jsonrpc": "2.0", "params": {"channel": "a\\uDfFfb \\ud83d\\ude00"}, "method": "ping", "id": 1}',
        b'{"jsonrpc": "2.0", "id": 1, "method": "ping\xff", "params": {}}',
        '{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": {"channel": "\ud800"}}',
    ],
)
def test_half_a_character_in_a_request_is_a_parse_error_with_its_id(data: bytes | str) -> None:
    error = refused(data)
    assert isinstance(error, ParseError)
    assert (error.number, error.id) == (-32700, 1)


@pytest.mark.parametrize(
    ("around", "request_id"),
    [
        ('{"jsonrpc": "2.0", "id": 7, "method": "createSession", "params": {"config": %s}}', 7),
        ('{"params": [{"id": 8}, %s], "method": "later", "more": "\\n", "id": 7.5, "jsonrpc": "2.0"}', 7.5),
        ('{"jsonrpc": "2.0", "id": "seven", "method": "ping", "params": %s}', "seven"),
        ('{"jsonrpc": "2.0", "method": "dispatchAction", "params": %s}', None),
        ('{"jsonrpc": "2.0", "id": 7, "result": %s}', None),
        ('{"jsonrpc": "2.0", "id": [7], "method": "ping", "params": %s}', None),
        ('{"jsonrpc": "2.0", "id": 7, "method": "ping", "params": %s', None),
    ],
)
@pytest.mark.parametrize(
    ("much", "problem"), [("[" + "0," * 200 + "0]", "150 values"), ("[" * 120 + "]" * 120, "100 levels")]
)
def test_a_request_with_too_much_in_it_is_a_parse_error_with_its_id(
    around: str, request_id: float | str | None, much: str, problem: str
) -> None:
    for data in (around.replace("%s", much), around.replace("%s", much).encode()):
        with pytest.raises(ParseError, match=problem) as caught:
            CODEC.within(100, 150).decode(data)
        assert caught.value.id == request_id


@pytest.mark.parametrize("value", [[], [PING], 7, 1.5, "ping", True, None])
def test_json_that_is_no_object_is_an_invalid_request_and_so_is_a_batch(value: Any) -> None:
    error = refused(frame(value))
    assert isinstance(error, InvalidRequest)
    assert (error.number, error.id) == (-32600, None)


@pytest.mark.parametrize(
    ("changes", "salvaged"),
    [
        ({"jsonrpc": "1.0"}, 1),
        ({"jsonrpc": None, "id": [1]}, None),
        ({"method": 7}, 1),
        ({"method": ["ping"], "id": 2.5}, 2.5),
        ({"id": "text"}, "text"),
        ({"id": None}, None),
        ({"id": True}, None),
    ],
)
def test_an_object_that_is_no_message_is_an_invalid_request_under_the_id_that_can_be_read(
    changes: dict[str, Any], salvaged: float | str | None
) -> None:
    for value in ({**PING, **changes}, {**changes, **{k: v for k, v in PING.items() if k not in changes}}):
        error = refused(frame(value))
        assert isinstance(error, InvalidRequest)
        assert (error.number, error.id) == (-32600, salvaged)
        assert json.loads(encode(Failure.from_error(error)))["id"] == salvaged


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"result": None, "error": {"code": 1, "message": "no"}},
        {"error": "no"},
        {"error": {"message": "no"}},
    ],
)
def test_an_answer_has_either_a_result_or_an_error(parts: dict[str, Any]) -> None:
    error = refused(frame({"jsonrpc": "2.0", "id": 1, **parts}))
    assert isinstance(error, InvalidRequest)


@pytest.mark.parametrize("request_id", [None, "1", True, [1]])
def test_a_result_needs_the_number_that_it_answers(request_id: Any) -> None:
    assert isinstance(refused(frame({"jsonrpc": "2.0", "id": request_id, "result": 1})), InvalidRequest)
    assert isinstance(refused(frame({"jsonrpc": "2.0", "result": 1})), InvalidRequest)


@pytest.mark.parametrize("parts", [{"result": 1, "error": {"code": 1, "message": "no"}}, {"error": 7}])
@pytest.mark.parametrize("version", ["2.0", "1.0"])
def test_a_bad_answer_is_never_answered_under_its_id(parts: dict[str, Any], version: str) -> None:
    # The id is one of ours. An error under it would look like the answer to one of theirs.
    assert refused(frame({"jsonrpc": version, "id": 1, **parts})).id is None


@pytest.mark.parametrize("method", ["later", "Ping", *NOTIFICATIONS])
@pytest.mark.parametrize("params", [{"channel": "ahp-root://"}, None])
def test_a_request_for_what_is_no_command_is_a_method_not_found_under_its_id(
    method: str, params: Any
) -> None:
    error = refused(frame({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}))
    assert isinstance(error, MethodNotFound)
    assert (error.number, error.id) == (-32601, 9)
    assert repr(method) in str(error)


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        ("fetchTurns", {}, "params.channel"),
        ("fetchTurns", {"channel": "x", "limit": 1.5}, "params.limit"),
        ("fetchTurns", {"channel": "x", "later": 1, "before": 7}, "params.before"),
        ("fetchTurns", None, "params"),
        ("createSession", {"channel": "x", "fork": {"session": "y"}}, "params.fork.turnId"),
        (
            "createSession",
            {"channel": "x", "activeClient": {"clientId": "me", "tools": [{"name": "a"}, {"name": 1}]}},
            "params.activeClient.tools[1].name",
        ),
    ],
)
def test_params_that_do_not_fit_are_refused_under_the_id_with_the_field(
    method: str, params: Any, field: str
) -> None:
    error = refused(frame({"jsonrpc": "2.0", "id": 9, "method": method, "params": params}))
    assert isinstance(error, InvalidParams)
    assert (error.number, error.id, error.field) == (-32602, 9, field)
    assert str(error).startswith(f"{field}: ")
    assert json.loads(encode(Failure.from_error(error)))["error"]["data"] == {"field": field}


def test_a_notification_whose_params_do_not_fit_has_no_id_to_answer_to() -> None:
    params = {**ENVELOPE, "action": {"type": "session/delta", "turnId": "t1", "partId": "p1"}}
    error = refused(frame({"jsonrpc": "2.0", "method": "action", "params": params}))
    assert isinstance(error, InvalidParams)
    assert (error.id, error.field) == (None, "params.action.content")


def test_text_that_is_not_unicode_cannot_be_sent() -> None:
    for params in (PingParams(channel="ahp-root://", extra={"x": "\ud800"}), {"x": "\ud800"}, {"\ud800": 1}):
        with pytest.raises(ParseError):
            encode(Request(id=1, method="ping", params=params))
    with pytest.raises(ParseError):
        encode(Request(id=1, method="createSession", params=CreateSessionParams(channel="\ud800")))


# --- whatever comes


def _frames(strange: bool) -> st.SearchStrategy[dict[str, Any]]:
    ids = st.integers(-(2**70), 2**70) | st.floats(-1e300, 1e300)
    head: dict[str, Any] = {"jsonrpc": st.just("2.0")}
    shapes = [
        st.fixed_dictionaries(
            {**head, "id": ids, "method": st.just(name), "params": plain(m.params, strange=strange)}
        )
        for name, m in REQUESTS.items()
    ] + [
        st.fixed_dictionaries({**head, "method": st.just(name), "params": plain(params, strange=strange)})
        for name, params in NOTIFICATIONS.items()
    ]
    results = [
        st.fixed_dictionaries({**head, "id": ids, "result": plain(m.result, strange=strange)})
        for m in REQUESTS.values()
        if m.result is not NoneType
    ]
    error = st.fixed_dictionaries(
        {"code": st.integers(-33000, 33000), "message": st.text()},
        optional={"data": json_values.filter(lambda data: data is not None)},
    )
    failures = st.fixed_dictionaries({**head, "id": ids | st.none(), "error": error})
    return st.one_of(*shapes, *results, failures)


frames = _frames(strange=False)
strange_frames = _frames(strange=True)


@given(strange_frames)
def test_what_is_read_is_written_as_it_came_and_read_the_same_again(value: dict[str, Any]) -> None:
    message = read(value)
    assert json.loads(encode(message)) == value
    assert decode(encode(message)) == message


def survives(data: bytes | str) -> None:
    """No error but the codec's own, and what it takes it can also write."""
    try:
        message = decode(data)
    except ProtocolError as error:
        encode(Failure.from_error(error))
    else:
        if not isinstance(message, Success):  # a result is not looked into
            assert decode(encode(message)) == message


@given(st.binary(max_size=200) | st.text(st.characters(exclude_categories=[]), max_size=200))
def test_random_bytes_and_text_raise_nothing_but_the_codecs_errors(data: bytes | str) -> None:
    survives(data)


@given(st.data(), frames)
def test_a_frame_that_is_cut_off_is_a_parse_error(data: st.DataObject, value: dict[str, Any]) -> None:
    whole = frame(value)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert isinstance(refused(whole[:cut]), ParseError)


@given(st.data(), frames)
def test_a_frame_with_broken_bytes_raises_nothing_but_the_codecs_errors(
    data: st.DataObject, value: dict[str, Any]
) -> None:
    whole = bytearray(json.dumps(value, ensure_ascii=data.draw(st.booleans())).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(whole) - 1))
        whole[place : place + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(
                [b"", b'"', b"\\", b"\\ud800", b"{", b"]", b"\xff", b"9" * 400, b"1e999", b",", b"null"]
            )
        )
    survives(bytes(whole))


def _places(value: Any, here: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    items = cast("list[tuple[Any, Any]]", list(inner))
    return [here, *(place for key, item in items for place in _places(item, (*here, key)))]


@given(st.data(), strange_frames, json_values)
def test_a_frame_with_a_wrong_value_somewhere_raises_nothing_but_the_codecs_errors(
    data: st.DataObject, value: dict[str, Any], wrong: Any
) -> None:
    value = deepcopy(value)
    *path, last = data.draw(st.sampled_from(_places(value)[1:]))
    inside: Any = value
    for key in path:
        inside = inside[key]
    inside[last] = wrong
    survives(frame(value))
