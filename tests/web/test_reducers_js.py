"""The page's reducers give what the Python ones give: for the shared cases, and for random ones."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import HealthCheck, Phase, given, settings, strategies as st

from ahp.reducers import (
    test_changeset,
    test_customizations,
    test_root,
    test_session,
    test_session_inputs,
    test_session_pending,
    test_terminal,
    test_toolcall_effects,
    test_toolcalls,
    test_turn,
)
from ahp.reducers.cases import NOW, Case, Json
from ahp.reducers.test_properties import CHANNELS, actions_beside, actions_on
from ahp.reducers.test_shared_cases import STATES, without_nulls
from ahp.strategies import values
from serai.ahp.reducers import fold
from serai.ahp.types import SessionState
from serai.ahp.wire import to_json

REPLAY: Final = Path(__file__).parent / "js" / "replay.js"
KINDS: Final = {state: kind for kind, state in STATES.items()}


def replayed(cases: list[Json]) -> Json:
    """What node makes of the cases."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("NOT CHECKED: the page's reducers, since node is not installed")
    lines = "\n".join(json.dumps(each) for each in cases)
    done = subprocess.run(
        [node, str(REPLAY)], input=lines, capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_pages_reducers_pass_every_shared_case(shared_folder: Path) -> None:
    files = sorted((shared_folder / "fixtures" / "ahp-0.2").glob("*.json"))
    shared = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    cases = [
        {
            "name": each["description"],
            "kind": each["reducer"],
            "start": without_nulls(each["initial"]),
            "actions": each["actions"],
            "now": NOW,
            "expected": without_nulls(each["expected"]),
        }
        for each in shared
    ]
    assert replayed(cases) == {"cases": 105, "failed": []}


SESSIONS: Final = (
    test_customizations,
    test_session,
    test_session_inputs,
    test_session_pending,
    test_toolcall_effects,
    test_toolcalls,
    test_turn,
)


def test_the_pages_reducers_pass_every_case_of_the_python_ones() -> None:
    tables: list[tuple[str, list[Case]]] = [
        ("root", test_root.CASES),
        ("terminal", test_terminal.CASES),
        ("changeset", test_changeset.CASES),
        *[("session", module.CASES) for module in SESSIONS],
    ]
    cases = [
        {
            "name": each.name,
            "kind": kind,
            "start": each.start,
            "actions": each.actions,
            "now": NOW,
            "expected": each.then,
        }
        for kind, table in tables
        for each in table
    ]
    assert replayed(cases) == {"cases": len(cases), "failed": []}


def test_the_pages_reducers_make_of_any_actions_what_the_python_ones_make() -> None:
    cases: list[Json] = []

    # Failing cases are found by node, all at once: there is nothing to shrink towards here.
    @settings(
        max_examples=settings().max_examples * 4,
        phases=[Phase.generate],
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        database=None,
    )
    @given(data=st.data())
    def make(data: st.DataObject) -> None:
        channel: Any = data.draw(st.sampled_from([SessionState, *CHANNELS]))
        start = data.draw(values(channel, strange=True))
        any_action = st.one_of([*[actions_on(channel)] * 4, actions_beside(channel)])
        actions = data.draw(st.lists(any_action, min_size=1, max_size=15))
        cases.append(
            {
                "name": f"{channel.__name__} {len(cases)}",
                "kind": KINDS[channel],
                "start": to_json(start),
                "actions": [to_json(action) for action in actions],
                "now": NOW,
                "expected": to_json(fold(start, actions, NOW)),
            }
        )

    make()
    assert replayed(cases) == {"cases": len(cases), "failed": []}
