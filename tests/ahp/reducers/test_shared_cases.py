"""The reducer cases that are shared with other implementations: `../shared/fixtures/ahp-0.2`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ahp.reducers.cases import NOW, Json
from ahp.strategies import action as read_action
from serai.ahp.reducers import live, reduce
from serai.ahp.types import ChangesetState, ResourceWatchState, RootState, SessionState, TerminalState
from serai.ahp.wire import decode, encode, to_json

STATES: dict[str, Any] = {
    "root": RootState,
    "session": SessionState,
    "terminal": TerminalState,
    "changeset": ChangesetState,
    "resourceWatch": ResourceWatchState,
}


def without_nulls(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: without_nulls(item) for name, item in value.items() if item is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.fixture(scope="module")
def cases(shared_folder: Path) -> dict[str, Json]:
    files = sorted((shared_folder / "fixtures" / "ahp-0.2").glob("*.json"))
    return {file.stem: json.loads(file.read_text(encoding="utf-8")) for file in files}


def test_there_are_as_many_shared_cases_as_were_handed_over(cases: dict[str, Json]) -> None:
    assert len(cases) == 105
    assert {each["reducer"] for each in cases.values()} == set(STATES)


def test_reduce_passes_every_shared_case_step_by_step(cases: dict[str, Json]) -> None:
    failed: dict[str, Json] = {}
    for name, each in cases.items():
        state = decode(json.dumps(each["initial"]), STATES[each["reducer"]])
        for plain in each["actions"]:
            before = encode(state)
            after = reduce(state, read_action(plain), NOW)
            assert encode(state) == before, name
            state = after
        if without_nulls(to_json(state)) != without_nulls(each["expected"]):
            failed[name] = to_json(state)
    assert failed == {}


def test_apply_passes_every_shared_case(cases: dict[str, Json]) -> None:
    failed: dict[str, Json] = {}
    for name, each in cases.items():
        state = live(decode(json.dumps(each["initial"]), STATES[each["reducer"]]))
        for plain in each["actions"]:
            state.apply(read_action(plain), NOW)
        if without_nulls(to_json(state.snapshot())) != without_nulls(each["expected"]):
            failed[name] = to_json(state.snapshot())
    assert failed == {}
