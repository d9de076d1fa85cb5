"""The resource watch: changes pass through."""

from __future__ import annotations

import pytest

from ahp.reducers.cases import Case, Json, case, check, params
from serai.ahp.types import ResourceWatchState

WATCH: Json = {"root": "file:///w", "recursive": True, "excludes": {"items": [".git/**"]}, "x-new": None}
CHANGES: Json = {
    "items": [{"uri": "file:///w/a", "type": kind} for kind in ("added", "updated", "deleted", "x")]
}

CASES: list[Case] = [
    case("changes leave the watch as it is", WATCH, {"type": "resourceWatch/changed", "changes": CHANGES}),
    case("no changes do too", WATCH, {"type": "resourceWatch/changed", "changes": {"items": []}}),
    case("an unknown action changes nothing", WATCH, {"type": "resourceWatch/later", "root": "file:///x"}),
]


@pytest.mark.parametrize("each", params(CASES))
def test_watch(each: Case) -> None:
    check(each, ResourceWatchState)
