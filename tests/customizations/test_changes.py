"""Switches, and the smallest actions between two lists."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from serai.ahp.actions import (
    SessionCustomizationRemovedAction,
    SessionCustomizationsChangedAction,
    SessionCustomizationUpdatedAction,
)
from serai.ahp.reducers import customizations as reducer
from serai.ahp.types import Customization, CustomizationLoadedState, DirectoryCustomization, RuleCustomization
from serai.ahp.wire import UnknownType
from serai.customizations import CustomizationAction, difference, with_toggles


def container(name: str, *children: str, enabled: bool = True) -> DirectoryCustomization:
    rules = [
        RuleCustomization(id=f"{name}/{child}", uri=f"file:///{child}", name=child) for child in children
    ]
    return DirectoryCustomization(
        id=name,
        uri=f"file:///{name}",
        name=name,
        enabled=enabled,
        load=CustomizationLoadedState(),
        children=list(rules),
        contents="rule",
        writable=False,
    )


A, B, C = container("a", "x", "y"), container("b", "z"), container("c")
UNKNOWN = UnknownType(extra={"type": "bundle", "id": "u"})


def test_containers_are_switched_as_the_session_says() -> None:
    switched = with_toggles([A, B, UNKNOWN], {"a": False, "b": True, "gone": False, "u": False})
    assert switched == [replace(A, enabled=False), B, UNKNOWN]
    assert A.enabled


def test_what_is_locked_can_be_switched_off_and_not_on() -> None:
    off = replace(A, enabled=False)
    assert with_toggles([off], {"a": True}, {"a"}) == [off]
    assert with_toggles([A], {"a": False}, {"a"}) == [off]
    assert with_toggles([off], {"a": True}) == [A]


@pytest.mark.parametrize("before", [None, [], [A, B]])
def test_nothing_new_needs_no_action(before: list[Customization] | None) -> None:
    assert difference(before, before or []) == []


def test_a_list_that_is_not_there_yet_is_sent_whole() -> None:
    assert difference(None, [A]) == [SessionCustomizationsChangedAction(customizations=[A])]


def test_a_container_that_changed_is_updated_alone() -> None:
    changed = container("b", "z", "new")
    assert difference([A, B, C], [A, changed, C]) == [
        SessionCustomizationUpdatedAction(customization=changed)
    ]


def test_a_container_that_is_new_at_the_end_is_added_and_one_that_is_gone_is_removed() -> None:
    assert difference([A, B], [B, C]) == [
        SessionCustomizationRemovedAction(id="a"),
        SessionCustomizationUpdatedAction(customization=C),
    ]


def test_another_order_is_sent_whole() -> None:
    assert difference([A, B], [B, A]) == [SessionCustomizationsChangedAction(customizations=[B, A])]
    assert difference([B], [A, B]) == [SessionCustomizationsChangedAction(customizations=[A, B])]


def _container(name: str, children: list[str], enabled: bool) -> DirectoryCustomization:
    return container(name, *children, enabled=enabled)


lists = st.lists(
    st.builds(
        _container,
        st.sampled_from("abcd"),
        st.lists(st.sampled_from("uvwxyz"), unique=True),
        st.booleans(),
    ),
    max_size=4,
)


def applied(before: list[Customization], actions: list[CustomizationAction]) -> list[Customization]:
    now = list(before)
    for action in actions:
        match action:
            case SessionCustomizationRemovedAction():
                now = reducer.remove(now, action.id)
            case SessionCustomizationUpdatedAction():
                now = reducer.update(now, action.customization)
            case SessionCustomizationsChangedAction():
                now = list(action.customizations)
    return now


@given(lists, lists)
def test_the_actions_lead_from_the_one_to_the_other(
    before: list[DirectoryCustomization], after: list[DirectoryCustomization]
) -> None:
    old, new = cast("list[Customization]", before), cast("list[Customization]", after)
    assert applied(old, difference(old, new)) == new
