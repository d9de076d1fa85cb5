"""JSON to values and back: nothing is lost, and nothing but our own errors comes out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from ahp.strategies import Json, actions_of, plain, values
from ahp.types.examples import full, wire_fields
from serai.ahp import types as t
from serai.ahp.actions import (
    ActionEnvelope,
    SessionActiveClientChangedAction,
    StateAction,
    TerminalCommandExecutedAction,
)
from serai.ahp.wire import (
    Unknown,
    UnknownKind,
    UnknownState,
    UnknownStatus,
    UnknownType,
    convert,
    decode,
    encode,
    to_json,
)
from serai.errors import Mismatch

STATES = (t.RootState, t.SessionState, t.TerminalState, t.ChangesetState, t.ResourceWatchState)
every_root = pytest.mark.parametrize(
    "roots",
    [
        [t.SessionState],
        [t.RootState, t.TerminalState, t.ChangesetState, t.ResourceWatchState],
        [StateAction, ActionEnvelope],
    ],
    ids=["session", "other states", "actions"],
)
every_state = pytest.mark.parametrize("root", STATES, ids=lambda state: state.__name__)


def exactly(value: Any) -> str:
    """JSON that tells 1 from 1.0 and from true, and does not mind the order of names."""
    return json.dumps(value, sort_keys=True)


def written(value: Any) -> str:
    return exactly(json.loads(encode(value)))


def dumps(value: Any) -> bytes:
    return json.dumps(value).encode()


# -- what this version does not know -----------------------------------------------------------------------


def with_strangers(value: Any, *, inside_free_form: bool = False) -> Any:
    """The same JSON with a field that nobody knows in every object that is not free-form."""
    if isinstance(value, list):
        return [with_strangers(item, inside_free_form=inside_free_form) for item in value]
    if isinstance(value, dict):
        free = {"_meta", "values", "config", "structuredContent", "inputSchema", "outputSchema", "default"}
        records = {"properties", "answers"}  # by names that are not the protocol's
        inner = {
            name: item
            if name in free
            else {key: with_strangers(each) for key, each in item.items()}
            if name in records
            else with_strangers(item)
            for name, item in value.items()
        }
        return {**inner, "x-stranger": {"deep": [None, 1, 1.0, {"x": None}]}}
    return value


@every_state
def test_unknown_fields_survive_at_every_depth(root: type) -> None:
    strange = with_strangers(full(root))
    value = decode(dumps(strange), root)
    assert written(value) == exactly(strange)
    assert exactly(to_json(value)) == exactly(strange)
    assert decode(encode(value), root) == value


@pytest.mark.parametrize(
    ("strange", "as_type", "stands_for"),
    [
        ({"type": "session/later", "a": {"b": None}}, StateAction, UnknownType),
        ({"type": "", "n": 1.0}, StateAction, UnknownType),
        ({"kind": "hologram", "id": "p1", "light": [1, 2]}, t.Turn, UnknownKind),
        ({"status": "paused", "toolCallId": "c1", "why": None}, t.Turn, UnknownStatus),
        ({"state": "whispered", "value": {"kind": "voice"}}, t.SessionState, UnknownState),
    ],
)
def test_an_unknown_variant_is_kept_whole(strange: Json, as_type: Any, stands_for: type[Unknown]) -> None:
    around: Json = strange
    if as_type is t.Turn:
        part = strange if "kind" in strange else {"kind": "toolCall", "toolCall": strange}
        around = {**full(t.Turn), "responseParts": [part]}
    elif as_type is t.SessionState:
        around = {**full(t.SessionState), "inputRequests": [{"id": "r1", "answers": {"q1": strange}}]}
    value = decode(dumps(around), as_type)
    assert exactly(strange) in written(value)
    assert written(value) == exactly(around)
    found = [each for each in _structs(value) if isinstance(each, Unknown)]
    assert [type(each) for each in found] == [stands_for]
    assert dict(found[0].raw) == strange


def _structs(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [each for item in value for each in _structs(item)]
    if isinstance(value, dict):
        return [each for item in value.values() for each in _structs(item)]
    if hasattr(value, "__struct_fields__"):
        fields = [getattr(value, name) for name in value.__struct_fields__ if name != "extra"]
        return [value, *(each for item in fields for each in _structs(item))]
    return []


# -- null and absent ---------------------------------------------------------------------------------------


def optional(struct: Any) -> dict[str, str]:
    """The names of the fields that may be absent, here and on the wire."""
    return {field.name: name for name, field in wire_fields(struct).items() if not field.required}


@every_state
def test_null_is_the_same_as_absent(root: type) -> None:
    whole = full(root)
    for name in optional(root).values():
        without = {key: value for key, value in whole.items() if key != name}
        assert decode(dumps({**whole, name: None}), root) == decode(dumps(without), root)
        assert written(decode(dumps({**whole, name: None}), root)) == exactly(without)


def test_null_is_kept_inside_free_form_records() -> None:
    free = {"a": None, "b": [None, {"c": None}]}
    message = {"text": "a", "_meta": free}
    result = {"success": True, "pastTenseMessage": "done", "structuredContent": free}
    changed = {"type": "session/configChanged", "config": free}
    schema = {"type": "object", "properties": {}}
    state = {**full(t.SessionState), "config": {"schema": schema, "values": free}, "_meta": free}
    cases: list[tuple[Json, Any]] = [
        (message, t.UserMessage),
        (result, t.ToolCallResult),
        (changed, StateAction),
        (state, t.SessionState),
    ]
    for plain_json, as_type in cases:
        assert written(decode(dumps(plain_json), as_type)) == exactly(plain_json)
        strange = {**plain_json, "x-new": None}  # the slow way keeps them too
        assert written(decode(dumps(strange), as_type)) == exactly(strange)


@given(actions_of(StateAction, strange=True))
def test_no_other_action_writes_null_for_what_is_absent(action: Any) -> None:
    if not isinstance(action, SessionActiveClientChangedAction):
        absent = {wire for name, wire in optional(type(action)).items() if getattr(action, name) is None}
        assert absent.isdisjoint(json.loads(encode(action)))


# -- numbers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "number", ["1", "1.0", "-0.0", "0.1", "9007199254740993", str(10**30), "1e300", "-7"]
)
def test_integers_stay_integers_and_floats_stay_floats(number: str) -> None:
    wanted = json.loads(number)
    cases: list[tuple[str, Any]] = [
        ('{"text":"a","_meta":{"n":%s}}', t.UserMessage),
        ('{"text":"a","x-new":[%s]}', t.UserMessage),
        ('{"kind":"number","value":%s}', t.SessionInputNumberAnswerValue),
        ('{"id":"o","label":"l","kind":"approve","group":%s}', t.ConfirmationOption),
    ]
    for text, as_type in cases:
        value = decode(text % number, as_type)
        assert written(value) == exactly(json.loads(text % number))
    time = TerminalCommandExecutedAction(command_id="c", command_line="ls", timestamp=wanted)
    assert repr(json.loads(encode(time))["timestamp"]) == repr(wanted)


# -- what does not fit -------------------------------------------------------------------------------------

TURN = {"id": "t1", "userMessage": {"text": "hi"}, "responseParts": [], "state": "complete"}


@pytest.mark.parametrize(
    ("data", "as_type", "field"),
    [
        ({"attachments": []}, t.UserMessage, "text"),
        ({"text": 5}, t.UserMessage, "text"),
        ({"text": None}, t.UserMessage, "text"),
        ({"text": "a", "x-new": 1, "_meta": []}, t.UserMessage, "_meta"),
        ({**TURN, "userMessage": {}}, t.Turn, "userMessage.text"),
        ({**TURN, "userMessage": {"text": True}}, t.Turn, "userMessage.text"),
        ({**TURN, "responseParts": [{"kind": "markdown", "id": "p"}]}, t.Turn, "responseParts[...].content"),
        ({**TURN, "responseParts": [{"id": "p"}]}, t.Turn, "responseParts[...].kind"),
        ({**TURN, "responseParts": [{"kind": 5}]}, t.Turn, "responseParts[...].kind"),
        ({**TURN, "responseParts": "none"}, t.Turn, "responseParts"),
        ({"channel": "c", "serverSeq": 1}, ActionEnvelope, "action"),
        (
            {
                "channel": "c",
                "serverSeq": 1,
                "action": {"type": "session/delta", "turnId": "t", "partId": "p"},
            },
            ActionEnvelope,
            "action.content",
        ),
        ({"channel": "c", "serverSeq": "1", "action": {"type": "x"}}, ActionEnvelope, "serverSeq"),
        ([], t.UserMessage, ""),
        ("text", t.UserMessage, ""),
        (None, t.UserMessage, ""),
        (5, StateAction, ""),
        ({}, StateAction, "type"),
    ],
)
def test_what_does_not_fit_is_named(data: Any, as_type: Any, field: str) -> None:
    with pytest.raises(Mismatch) as caught:
        decode(dumps(data), as_type)
    assert caught.value.field.replace("[0]", "[...]") == field


# -- anything at all ---------------------------------------------------------------------------------------


@every_root
@given(data=st.data())
def test_what_is_written_is_read_back_the_same(roots: list[Any], data: st.DataObject) -> None:
    root = data.draw(st.sampled_from(roots))
    value = data.draw(values(root, strange=True))
    assert decode(encode(value), root) == value
    assert exactly(to_json(value)) == written(value)


@every_root
@given(data=st.data())
def test_what_is_read_is_written_back_the_same(roots: list[Any], data: st.DataObject) -> None:
    root = data.draw(st.sampled_from(roots))
    whole = data.draw(plain(root, strange=True))
    assert written(decode(dumps(whole), root)) == exactly(whole)
    assert decode(dumps(whole), root) == convert(whole, root)
