from __future__ import annotations

import json
from typing import Any

import pytest

from serai.errors import ConnectionLost, InvalidRequest, Mismatch, ParseError, ProtocolError
from serai.jsonrpc import Answered, LineCodec, Message, Notification, Peer, Request, Success


class Numbers(LineCodec):
    """All results have to be numbers."""

    def result(self, method: str, value: Any) -> Any:
        if not isinstance(value, int):
            raise Mismatch(f"{method} answers with a number", field="")
        return value


def pair() -> tuple[Peer[str], Peer[str]]:
    return Peer(Numbers()), Peer(Numbers())


def asked(peer: Peer[str], frame: bytes) -> Request:
    request = peer.receive(frame)
    assert isinstance(request, Request)
    return request


def test_each_request_gets_an_id_of_its_own_and_answers_find_their_tickets_in_any_order() -> None:
    here, there = pair()
    frames = [here.request("add", [number], ticket=f"ticket {number}")[1] for number in range(3)]
    requests = [asked(there, frame) for frame in frames]
    assert [request.params for request in requests] == [[0], [1], [2]]
    for number in (1, 0, 2):
        answer = there.answer(requests[number].id, number)
        assert here.receive(answer) == Answered(f"ticket {number}", number, None)
        assert isinstance(here.receive(answer), Success)  # once


def test_an_error_comes_back_with_its_number_words_and_data() -> None:
    here, there = pair()
    request = asked(there, here.request("add", [], ticket="t")[1])
    answered = here.receive(there.refuse(ProtocolError("no", number=-32001, data=[1]), request.id))
    assert isinstance(answered, Answered)
    assert isinstance(error := answered.error, ProtocolError)
    assert (answered.ticket, error.message, error.number, error.data) == ("t", "no", -32001, [1])


def test_an_error_that_is_not_of_the_protocol_tells_its_code() -> None:
    here, there = pair()
    request = asked(there, here.request("add", [], ticket="t")[1])
    frame = json.loads(there.refuse(ConnectionLost("gone"), request.id))
    assert (frame["error"]["code"], frame["error"]["data"]["code"]) == (-32603, "connection_lost")


def test_a_result_that_does_not_fit_is_an_error_for_who_asked() -> None:
    here, there = pair()
    request = asked(there, here.request("add", [], ticket="t")[1])
    answered = here.receive(there.answer(request.id, "three"))
    assert isinstance(answered, Answered)
    assert isinstance(answered.error, Mismatch)


def test_an_id_may_come_back_as_another_kind_of_number_but_not_as_a_truth() -> None:
    here, _ = pair()
    here.request("add", [], ticket="t")
    assert here.receive(b'{"id": true, "result": 1}') == Success(id=True, result=1)
    assert here.receive(b'{"id": "1", "result": 1}') == Success(id="1", result=1)
    assert here.receive(b'{"id": 1.0, "result": 1}') == Answered("t", 1, None)


def test_an_answer_that_is_not_waited_for_comes_back_as_it_is() -> None:
    here, there = pair()
    call_id, frame = here.request("add", [], ticket="t")
    here.forget(call_id)
    assert here.receive(there.answer(asked(there, frame).id, 1)) == Success(id=call_id, result=1)


def test_when_the_connection_is_over_all_tickets_come_back() -> None:
    here, _ = pair()
    for number in range(3):
        here.request("add", [], ticket=str(number))
    assert here.forget_all() == ["0", "1", "2"]
    assert here.forget_all() == []


def test_notifications_and_noise() -> None:
    here, there = pair()
    told: Message | None = Notification(method="hello", params={"a": 1})
    assert there.receive(here.notify("hello", {"a": 1})) == told
    assert there.receive(b"Loading...") is None


def test_what_cannot_be_read_has_an_error_that_can_be_sent() -> None:
    here, _ = pair()
    event = here.receive(b'{"id": 5, "method": 7}')
    assert isinstance(event, InvalidRequest)
    assert json.loads(here.refuse(event))["id"] == 5


def test_a_request_that_cannot_be_written_is_not_waited_for() -> None:
    here, _ = pair()
    with pytest.raises(ParseError):
        here.request("add", "\ud800", ticket="t")
    assert here.forget_all() == []
