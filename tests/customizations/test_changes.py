"""Switches, and the smallest actions between two lists."""

from __future__ import annotations

from typing import cast

from hypothesis import given, settings, strategies as st

from serai.ahp.actions import (
    SessionCustomizationRemovedAction,
    SessionCustomizationsChangedAction,
    SessionCustomizationUpdatedAction,
)
from serai.ahp.reducers.live import placed
from serai.ahp.reducers.session import without_customization
from serai.ahp.types import (
    Customization,
    CustomizationLoadedState,
    DirectoryCustomization,
    HookCustomization,
    PluginCustomization,
    RuleCustomization,
)
from serai.customizations.changes import CustomizationAction, combined, difference
from serai.customizations.containers import Customizations, Definition
from serai.customizations.trees import FetchedTree


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


def plugin(name: str, *, enabled: bool = True) -> PluginCustomization:
    return PluginCustomization(id=name, uri=f"file:///{name}", name=name, enabled=enabled)


def found(*plugins: PluginCustomization, locked: frozenset[str] = frozenset()) -> Customizations:
    tree = FetchedTree({}, "x:")
    hooks = (HookCustomization(id=f"{item.id}-hook", uri=item.uri, name="hook") for item in plugins)
    definitions = (
        Definition(hook, item.id, "hooks.json", True, {}, tree)
        for item, hook in zip(plugins, hooks, strict=True)
    )
    return Customizations(list(plugins), tuple(definitions), locked)


def test_what_is_locked_stays_off() -> None:
    locked = found(plugin("a", enabled=False), locked=frozenset({"a"}))
    assert combined(locked, [], {"a": True}).containers == [plugin("a", enabled=False)]
    assert combined(found(plugin("a", enabled=False)), [], {"a": True}).containers == [plugin("a")]


def test_of_two_with_the_same_id_the_first_counts() -> None:
    both = combined(found(plugin("a")), [found(plugin("a"))] * 2, {"a": True})
    assert both.containers == [plugin("a")]
    assert [item.container for item in both.definitions] == ["a"]


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
                now = without_customization(now, action.id)
            case SessionCustomizationUpdatedAction():
                now = placed(now, action.customization)
            case SessionCustomizationsChangedAction():
                now = list(action.customizations)
    return now


@settings(max_examples=50)
@given(lists, lists)
def test_the_actions_lead_from_the_one_to_the_other(
    before: list[DirectoryCustomization], after: list[DirectoryCustomization]
) -> None:
    old, new = cast("list[Customization]", before), cast("list[Customization]", after)
    assert applied(old, difference(old, new)) == new
