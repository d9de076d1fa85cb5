"""Settings of a session and of the host."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.rules.world import Json, accepts, judged, rejection, root, session
from requirements import proves
from serai.ahp.reducers import LiveState

PROPERTIES: dict[str, Json] = {
    "name": {"type": "string", "title": "Name", "sessionMutable": True},
    "mode": {"type": "string", "title": "Mode", "sessionMutable": True, "enum": ["fast", "careful"]},
    "branch": {
        "type": "string",
        "title": "Branch",
        "sessionMutable": True,
        "enum": ["main"],
        "enumDynamic": True,
    },
    "count": {"type": "number", "title": "Count", "sessionMutable": True},
    "strict": {"type": "boolean", "title": "Strict", "sessionMutable": True},
    "tags": {
        "type": "array",
        "title": "Tags",
        "sessionMutable": True,
        "items": {"type": "string", "title": "Tag", "enum": ["a", "b"]},
    },
    "extra": {"type": "object", "title": "Extra", "sessionMutable": True},
    "later": {"type": "later", "title": "Later", "sessionMutable": True},
    "folder": {"type": "string", "title": "Folder"},
    "locked": {"type": "string", "title": "Locked", "sessionMutable": False},
    "shown": {"type": "string", "title": "Shown", "sessionMutable": True, "readOnly": True},
}
FIXED = ["folder", "locked", "shown"]


def settings(values: Json, properties: dict[str, Json] = PROPERTIES) -> Json:
    return {"schema": {"type": "object", "properties": properties}, "values": values}


def change(values: Json, *, replace: bool | None = None, kind: str = "session") -> Json:
    action: Json = {"type": f"{kind}/configChanged", "config": values}
    return action if replace is None else {**action, "replace": replace}


def problem(state: LiveState[Any], action: Json) -> str:
    assert rejection(state, action) == "bad_config"
    return str(judged(state, action).reason)


@proves("ahp:session/configChanged/mutable-properties-only")
@pytest.mark.parametrize("name", FIXED)
def test_a_setting_that_is_not_mutable_cannot_be_changed(name: str) -> None:
    assert repr(name) in problem(session(config=settings({name: "old"})), change({name: "new"}))
    assert repr(name) in problem(session(config=settings({})), change({name: "new"}))
    assert repr(name) in problem(session(config=settings({})), change({"mode": "fast", name: "new"}))


@pytest.mark.parametrize("name", FIXED)
def test_a_setting_that_is_not_mutable_may_be_named_with_the_value_that_it_has(name: str) -> None:
    state = session(config=settings({"mode": "fast", name: "old"}))
    assert accepts(state, change({"mode": "careful", name: "old"}))
    assert accepts(state, change({"mode": "careful", name: "old"}, replace=True))


def test_a_setting_that_there_is_not_cannot_be_set() -> None:
    assert "'nothing'" in problem(session(config=settings({})), change({"nothing": 1}))
    assert "'nothing'" in problem(session(config=settings({"nothing": 1})), change({"nothing": 1}))


VALUES: list[tuple[str, list[Any], list[Any]]] = [
    ("name", ["", "x"], [1, 1.5, True, [], {}, None]),
    ("mode", ["fast", "careful"], ["slow", "", "Fast", 1]),
    ("branch", ["main", "feature"], [1, None]),
    ("count", [0, -1, 1.5], ["1", True, False, None, [1]]),
    ("strict", [True, False], [0, 1, "true", None]),
    ("tags", [[], ["a"], ["b", "a"]], ["a", {}, ["c"], ["a", 1], [None]]),
    ("extra", [{}, {"a": [1]}], ["{}", [], 1, None]),
    ("later", ["x", 1, [], None], []),
]


@pytest.mark.parametrize("replace", [None, False, True])
@pytest.mark.parametrize(("name", "good", "bad"), VALUES)
def test_a_value_is_of_the_type_of_its_setting_and_one_of_its_choices(
    name: str, good: list[Any], bad: list[Any], replace: bool | None
) -> None:
    state = session(config=settings({}))
    for value in good:
        assert accepts(state, change({name: value}, replace=replace))
    for value in bad:
        assert repr(name) in problem(state, change({name: value}, replace=replace))


@pytest.mark.parametrize("name", FIXED)
def test_a_replacement_may_not_drop_what_is_not_mutable(name: str) -> None:
    state = session(config=settings({"mode": "fast", name: "old"}))
    assert repr(name) in problem(state, change({"mode": "careful"}, replace=True))
    assert accepts(state, change({"mode": "careful"}, replace=False))
    assert accepts(state, change({"mode": "careful"}))


# --- the host's own settings


HOST: dict[str, Json] = {
    "log": {"type": "string", "title": "Log", "enum": ["info", "debug"]},
    "port": {"type": "number", "title": "Port", "readOnly": True},
}


def test_what_is_read_only_on_the_host_can_neither_be_changed_nor_dropped() -> None:
    state = root(config=settings({"log": "info", "port": 1}, HOST))
    assert "'port'" in problem(state, change({"port": 2}, kind="root"))
    assert "'port'" in problem(state, change({"log": "debug"}, replace=True, kind="root"))
