"""Every type of every channel against `shapes.txt`: exactly those fields, needed or not, and those tags."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from msgspec import Struct

from ahp.types.examples import full, named, tag_of, variants, wire_fields
from requirements import proves
from serai.ahp import actions, commands, types, wire
from serai.ahp.actions import StateAction
from serai.ahp.types import AgentInfo, Customization, SessionState
from serai.ahp.wire import Unknown, UnknownType, convert, to_json

if TYPE_CHECKING:
    from _pytest.mark.structures import ParameterSet

SHAPES = Path(__file__).with_name("shapes.txt").read_text(encoding="utf-8")


def shapes() -> Iterator[tuple[str, list[str]]]:
    for line in re.sub(r"\n +", " ", SHAPES).splitlines():
        if line and not line.startswith("#"):
            name, _, fields = line.partition(":")
            yield name, fields.split()


def with_and_without(wanted: bool) -> list[ParameterSet]:
    return [
        pytest.param(name, fields, id=name)
        for name, fields in shapes()
        if wanted is bool(fields and fields[0].startswith("="))
    ]


@pytest.mark.parametrize(("name", "fields"), with_and_without(wanted=False))
def test_a_type_has_exactly_its_fields(name: str, fields: list[str]) -> None:
    struct: type[Struct] = named(name)
    tag_field, tag = tag_of(struct)
    constants = dict(field.split("=") for field in fields if "=" in field)
    if tag_field in constants:
        assert tag == constants.pop(tag_field)
    found = wire_fields(struct)
    assert {name: not field.required for name, field in found.items()} == {
        field.partition("=")[0].rstrip("?"): field.endswith("?")
        for field in fields
        if field.partition("=")[0] != tag_field
    }
    for constant, value in constants.items():
        assert full(struct)[constant] == value


@pytest.mark.parametrize(("name", "members"), with_and_without(wanted=True))
def test_an_enumeration_has_exactly_its_members(name: str, members: list[str]) -> None:
    enum: type[Enum] = named(name)
    assert {member.value for member in enum} == {member.lstrip("=") for member in members}


def structs_of(*modules: Any) -> set[str]:
    everything = [getattr(m, name) for m in modules for name in getattr(m, "__all__", vars(m))]
    own = [each for each in everything if isinstance(each, type) and each.__module__ != wire.__name__]
    return {each.__name__ for each in own if issubclass(each, Struct)}


def test_no_type_is_left_out_of_the_list() -> None:
    without_a_row = structs_of(types, actions, commands) - {name for name, _ in shapes()}
    assert without_a_row == {
        "Action",
        "EmptyResult",
        "RootParams",
        "ResourceParams",
        "SessionInputAnswered",  # two types here: draft and submitted
        "ToolCallWithResult",  # what two states share
    }


def actions_of_all_channels() -> list[type[Struct]]:
    return [action for action in variants(StateAction) if not issubclass(action, Unknown)]


def test_the_union_of_all_actions_has_every_action_and_one_for_the_unknown() -> None:
    named_in_the_list = {name for name, _ in shapes() if name.endswith("Action")}
    assert {action.__name__ for action in actions_of_all_channels()} == named_in_the_list
    assert UnknownType in variants(StateAction)


@proves("ahp:Actions/scoped-by-envelope")
def test_an_action_says_nothing_of_its_channel_and_its_envelope_does() -> None:
    assert not [action for action in actions_of_all_channels() if "channel" in wire_fields(action)]
    assert wire_fields(named("ActionEnvelope"))["channel"].required


@proves("ahp:disposeSession/no-parameters")
def test_disposing_of_a_session_takes_its_channel_and_nothing_else() -> None:
    assert list(wire_fields(named("DisposeSessionParams"))) == ["channel"]


@proves("ahp:SessionConfigPropertySchema/extends-generic-property")
def test_a_setting_of_a_session_has_every_field_of_a_generic_one() -> None:
    generic, ours = (
        wire_fields(named("ConfigPropertySchema")),
        wire_fields(named("SessionConfigPropertySchema")),
    )
    assert generic.keys() < ours.keys()
    assert ours.keys() - generic.keys() == {"enumDynamic", "sessionMutable"}


@proves(
    "ahp:SessionState/customizations-are-containers",
    "ahp:CustomizationType/only-containers-on-top",
    "ahp:CustomizationType/same-rule-for-agent-info",
)
@pytest.mark.parametrize("kind", ["agent", "skill", "prompt", "rule", "hook", "mcpServer"])
def test_only_containers_stand_on_top_and_a_child_there_is_a_stranger(kind: str) -> None:
    child = {"type": kind, "id": "x", "uri": "file:///x", "name": "x"}
    container = {"type": "plugin", "id": "p", "uri": "file:///p", "name": "p", "enabled": True}
    for owner in (SessionState, AgentInfo):
        whole = {**full(owner), "customizations": [child, {**container, "children": [child]}]}
        read: list[Customization] = convert(whole, owner).customizations or []
        assert isinstance(read[0], Unknown)
        assert not isinstance(read[1], Unknown)
        assert read[1].children is not None
        assert not isinstance(read[1].children[0], Unknown)
        assert to_json(convert(whole, owner)) == whole
