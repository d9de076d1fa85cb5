"""What a folder and a client have, put together as a session shows it."""

from __future__ import annotations

from serai.ahp.types import CustomizationErrorState, CustomizationType, PluginCustomization
from serai.customizations import Customizations, HookDefinition
from serai.host.customizations.session import together


def plugin(container: str, *, enabled: bool = True, client_id: str | None = None) -> PluginCustomization:
    return PluginCustomization(
        id=container, uri=f"file:///{container}", name=container, enabled=enabled, client_id=client_id
    )


def found(*containers: PluginCustomization, locked: frozenset[str] = frozenset()) -> Customizations:
    hooks = tuple(
        HookDefinition(
            id=f"{item.id}-hook",
            type=CustomizationType.HOOK,
            container=item.id,
            source="test",
            plugin=None,
            path="hooks.json",
            uri=item.uri,
            name="hook",
            runnable=True,
            event="Stop",
            kind="command",
        )
        for item in containers
    )
    return Customizations(list(containers), hooks, locked)


def test_what_is_found_comes_first_and_what_is_published_after_it() -> None:
    both = together(found(plugin("a"), plugin("b")), [found(plugin("c", client_id="one"))], {})
    assert both.containers == [plugin("a"), plugin("b"), plugin("c", client_id="one")]
    assert [item.container for item in both.definitions] == ["a", "b", "c"]


def test_people_switch_both() -> None:
    both = together(found(plugin("a")), [found(plugin("c"))], {"a": False, "c": False, "gone": True})
    assert both.containers == [plugin("a", enabled=False), plugin("c", enabled=False)]


def test_what_is_locked_stays_off() -> None:
    locked = found(plugin("a", enabled=False), locked=frozenset({"a"}))
    assert together(locked, [], {"a": True}).containers == [plugin("a", enabled=False)]


def test_of_two_with_the_same_id_the_first_counts() -> None:
    both = together(found(plugin("a")), [found(plugin("a", client_id="one"))] * 2, {"a": True})
    first, *refused = both.containers
    assert first == plugin("a")
    assert [item.container for item in both.definitions] == ["a"]
    ids = {item.id for item in refused if isinstance(item, PluginCustomization)}
    assert len(ids) == 2
    assert "a" not in ids
    for item in refused:
        assert isinstance(item, PluginCustomization)
        assert isinstance(item.load, CustomizationErrorState)
        assert not item.enabled
