from __future__ import annotations

import re
from inspect import getdoc, getmembers, isclass

from serai import errors
from serai.errors import (
    CapabilityUnsupported,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    ParseError,
    ProtocolError,
    SeraiError,
)

CLASSES: dict[str, type[SeraiError]] = {
    name: member for name, member in getmembers(errors, isclass) if issubclass(member, SeraiError)
}


def test_every_error_has_a_code_of_its_own_and_says_what_it_is() -> None:
    for error in CLASSES.values():
        assert "code" in vars(error)
        assert re.fullmatch(r"[a-z]+(_[a-z]+)*", error.code)
        assert getdoc(error)
    assert len({error.code for error in CLASSES.values()}) == len(CLASSES)


def test_the_numbers_are_those_of_json_rpc() -> None:
    numbers = {error: error.number for error in CLASSES.values() if issubclass(error, ProtocolError)}
    assert numbers == {
        ParseError: -32700,
        InvalidRequest: -32600,
        MethodNotFound: -32601,
        InvalidParams: -32602,
        ProtocolError: -32603,
    }


def test_an_error_says_what_happened_and_what_to_do() -> None:
    error = SeraiError("the door is locked", remedy="Ask for the key")
    assert str(error) == "the door is locked. Ask for the key"
    assert (error.message, error.remedy) == ("the door is locked", "Ask for the key")
    assert error.to_wire() == {"code": "error", "message": "the door is locked", "remedy": "Ask for the key"}


def test_a_missing_capability_is_told_with_what_was_asked_and_what_there_is() -> None:
    error = CapabilityUnsupported(
        "delivery.modes", "immediate", ("on-idle", "next-message"), agent="reviewer"
    )
    assert error.to_wire() == {
        "code": "capability_unsupported",
        "capability": "delivery.modes",
        "requested": "immediate",
        "available": ["on-idle", "next-message"],
        "agent": "reviewer",
    }
    for word in ("reviewer", "'immediate'", "delivery.modes", "on-idle, next-message"):
        assert word in str(error)


def test_a_capability_that_nothing_is_declared_for_says_so() -> None:
    error = CapabilityUnsupported("actions", "review")
    assert error.to_wire() == {
        "code": "capability_unsupported",
        "capability": "actions",
        "requested": "review",
        "available": [],
    }
    assert "nothing" in str(error)
    assert str(CapabilityUnsupported("actions", "review", remedy="Register it")).endswith(". Register it")


def test_a_protocol_error_may_have_a_number_of_its_own() -> None:
    error = ProtocolError("no such session", id=3, number=-32001, data={"x": 1})
    assert (error.number, error.id, error.data) == (-32001, 3, {"x": 1})
    assert ProtocolError("broken").number == -32603
    assert InvalidParams("params.x: is required", field="params.x", id=1).data == {"field": "params.x"}
