"""The cases leave out no action."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

from ahp.types.examples import tag_of, variants
from serai.ahp.actions import StateAction
from serai.ahp.wire import Unknown


def test_there_are_cases_for_every_action_of_every_channel() -> None:
    modules = [import_module(f"ahp.reducers.{file.stem}") for file in Path(__file__).parent.glob("test_*.py")]
    cases = [case for module in modules for case in getattr(module, "CASES", ())]
    covered = {action["type"] for case in cases for action in case.actions}
    known = {tag_of(action)[1] for action in variants(StateAction) if not issubclass(action, Unknown)}
    assert {action for action in covered if not action.endswith(("/later", "/disposed"))} == known
