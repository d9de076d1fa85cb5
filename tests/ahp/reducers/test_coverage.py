"""The cases leave out no action."""

from __future__ import annotations

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
    test_watch,
)
from ahp.types.examples import tag_of, variants
from serai.ahp.actions import StateAction
from serai.ahp.wire import Unknown

MODULES = (
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
    test_watch,
)


def test_there_are_cases_for_every_action_of_every_channel() -> None:
    covered = {action["type"] for module in MODULES for case in module.CASES for action in case.actions}
    known = {tag_of(action)[1] for action in variants(StateAction) if not issubclass(action, Unknown)}
    assert {action for action in covered if not action.endswith(("/later", "/disposed"))} == known
