"""What an agent shows, asks and declares, and what it is told again: without a host."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from serai.acp.capabilities import Handshake
from serai.acp.client_side import PermissionOption
from serai.ahp import wire
from serai.ahp.types import (
    MarkdownResponsePart,
    ReasoningResponsePart,
    ResponsePart,
    SessionInputSkipped,
    SessionInputSubmitted,
    Turn,
    UserMessage,
)
from serai.contract import ContentType, DeliveryMode, supports
from serai.harness.acp.call_actions import choose, offered
from serai.harness.acp.content import link_to, questions_of, values_of
from serai.harness.acp.harness import can_steer, declared
from serai.harness.acp.record import retold


@pytest.mark.parametrize(
    ("uri", "name", "shown"),
    [
        ("http://good", None, "<http://good>"),
        ("file:///a", "a.py", "`a.py` <file:///a>"),
        ("http://good", "x](http://evil) `<b>\n\n# big", "`x](http://evil) <b> # big` <http://good>"),
        ("http://good> [y](javascript:alert(1))", "x", "`x` `http://good> [y](javascript:alert(1))`"),
        ("javascript:alert(1)", "x", "`x` `javascript:alert(1)`"),
        (" data:text/html,x", None, "`data:text/html,x`"),
    ],
)
def test_a_link_is_no_more_than_that(uri: str, name: str | None, shown: str) -> None:
    assert link_to(uri, name) == shown


def question(**told: Any) -> dict[str, Any]:
    (found,) = questions_of({"properties": {"q": told}})
    return wire.to_json(found)


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        ({}, {"kind": "text", "message": "q"}),
        ({"type": "string", "format": "email"}, {"kind": "text", "message": "q", "format": "email"}),
        (
            {"type": "string", "title": "T", "description": "D", "default": "x", "maxLength": 3},
            {"kind": "text", "title": "T", "message": "D", "defaultValue": "x", "max": 3},
        ),
        (
            {"type": "number", "minimum": 0.5, "maximum": 2},
            {"kind": "number", "message": "q", "min": 0.5, "max": 2},
        ),
        ({"type": "boolean", "default": True}, {"kind": "boolean", "message": "q", "defaultValue": True}),
        (
            {"type": "string", "oneOf": [{"const": "a", "title": "A"}, {"const": "b"}], "default": "b"},
            {
                "kind": "single-select",
                "message": "q",
                "options": [{"id": "a", "label": "A"}, {"id": "b", "label": "b", "recommended": True}],
            },
        ),
        (
            {"type": "array", "items": {"type": "string", "enum": ["a"]}, "minItems": 1},
            {"kind": "multi-select", "message": "q", "options": [{"id": "a", "label": "a"}], "min": 1},
        ),
        ({"type": "string", "minLength": "many"}, {"kind": "text", "message": "q"}),
    ],
)
def test_each_property_is_a_question(told: dict[str, Any], asked: dict[str, Any]) -> None:
    assert question(**told) == {"id": "q", **asked}


def test_what_is_required_says_so() -> None:
    first, second = questions_of({"properties": {"a": {}, "b": {}}, "required": ["b"]})
    assert (wire.to_json(first).get("required"), wire.to_json(second)["required"]) == (None, True)


@pytest.mark.parametrize("told", [{}, {"properties": []}, {"properties": {"a": 3}}])
def test_a_form_that_is_none_asks_at_most_for_text(told: dict[str, Any]) -> None:
    assert all(wire.to_json(each)["kind"] == "text" for each in questions_of(told))


def submitted(**value: Any) -> SessionInputSubmitted:
    return wire.convert({"state": "submitted", "value": value}, SessionInputSubmitted)


def test_answers_have_the_types_of_the_form_and_what_was_passed_over_is_left_out() -> None:
    schema = {"properties": {"n": {"type": "integer"}, "x": {"type": "number"}, "s": {}, "t": {}}}
    answers = {
        "n": submitted(kind="number", value=3.0),
        "x": submitted(kind="number", value=3.5),
        "s": SessionInputSkipped(),
        "other": submitted(kind="text", value="nobody asked"),
    }
    values = values_of(schema, answers)
    assert values == {"n": 3, "x": 3.5}
    assert isinstance(values["n"], int)


def test_an_option_of_an_unknown_kind_is_for_who_chooses_it_and_never_a_no() -> None:
    options = [PermissionOption("a", "A", "allow_session"), PermissionOption("b", "B", "perhaps")]
    assert [option.kind for option in offered(options)] == ["approve", "approve"]
    assert choose(options, "b", approved=True) == "b"
    assert choose(options, None, approved=True) == "a"
    assert choose(options, "b", approved=False) is None
    assert choose(options[1:], None, approved=True) is None


def test_a_plain_yes_is_not_for_ever_when_there_is_a_choice() -> None:
    always = [PermissionOption("x", "X", "allow_always"), PermissionOption("y", "Y", "allow_session")]
    assert choose(always, None, approved=True) is None
    assert choose(always[:1], None, approved=True) == "x"


def turn(asked: str, answered: str = "") -> Turn:
    parts: list[ResponsePart] = [
        ReasoningResponsePart(id="r", content="hm"),
        MarkdownResponsePart(id="m", content=answered),
    ]
    return Turn(id=asked, user_message=UserMessage(text=asked), response_parts=parts, state="complete")


def test_questions_and_answers_are_told_in_their_order_without_thoughts() -> None:
    told = retold([turn("one", "1"), turn("two")])
    assert told.index("User: one\n\nYou: 1") < told.index("User: two\n\nYou: [no answer]")
    assert "hm" not in told


def test_of_a_long_conversation_the_end_is_told() -> None:
    told = retold([turn("first", "x" * 60_000), turn("last", "yes")])
    assert "first" not in told
    assert "Earlier messages are left out" in told
    assert "User: last" in told
    assert told.count("x") > 40_000


@pytest.fixture
def handshakes(shared_folder: Path) -> dict[str, Handshake]:
    return {
        path.stem: Handshake.read(json.loads(path.read_text())["initialize"]["result"])
        for path in sorted((shared_folder / "fixtures" / "acp-handshakes").glob("*.json"))
    }


def test_only_who_advertises_it_can_be_steered(handshakes: dict[str, Handshake]) -> None:
    steered = {name for name, one in handshakes.items() if can_steer(one)}
    assert steered == {"claude-agent-acp"}
    for name, one in handshakes.items():
        assert supports(declared(one), DeliveryMode.NEXT_TOOL_CALL) is (name in steered)


def test_every_handshake_gives_what_a_session_may_declare(handshakes: dict[str, Handshake]) -> None:
    for one in handshakes.values():
        told, found = one.capabilities, declared(one)
        assert supports(found, ContentType.IMAGE) is told.prompt.image
        assert found.lifecycle.fork is told.fork_session
        assert found.lifecycle.resume is (told.resume_session or told.load_session)
        assert found.delivery.modes[0] is DeliveryMode.IMMEDIATE


def test_a_handshake_that_says_nothing_promises_nothing() -> None:
    assert not can_steer(Handshake.read(None))
    assert not can_steer(Handshake.read({"_meta": {"steering": {"supported": "yes"}}}))
    assert can_steer(Handshake.read({"agentCapabilities": {"_meta": {"steering": {"supported": True}}}}))
