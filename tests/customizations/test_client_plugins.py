"""Plugins that clients publish."""

from __future__ import annotations

from typing import cast

from requirements import proves
from serai.ahp.types import (
    ClientPluginCustomization,
    CustomizationDegradedState,
    CustomizationLoadedState,
    PluginCustomization,
)
from serai.customizations import ClientPlugins, Found, SkillDefinition, read_client_plugin

FILES = {"skills/greet/SKILL.md": b"---\ndescription: Greets.\n---\nHello.\n"}


def published(
    nonce: str | None = "1", *, enabled: bool = True, plugin_id: str = "p1"
) -> ClientPluginCustomization:
    return ClientPluginCustomization(
        id=plugin_id, uri="virtual://editor/p", name="P", enabled=enabled, nonce=nonce
    )


def container(found: Found) -> PluginCustomization:
    [only] = found.customizations
    return cast("PluginCustomization", only)


def test_a_published_plugin_is_read_like_any_other() -> None:
    found = read_client_plugin(published(), FILES, "editor")
    plugin = container(found)
    assert (plugin.id, plugin.uri, plugin.name, plugin.client_id) == (
        "p1",
        "virtual://editor/p",
        "P",
        "editor",
    )
    assert type(plugin) is PluginCustomization
    assert plugin.load == CustomizationLoadedState()
    [skill] = found.definitions
    assert isinstance(skill, SkillDefinition)
    assert skill.uri == "virtual://editor/p/skills/greet/SKILL.md"
    assert skill.body() == "Hello.\n"
    assert not skill.runnable


def test_its_hooks_and_servers_do_not_run_here() -> None:
    files = {**FILES, ".mcp.json": b'{"mcpServers": {"m": {"command": "x"}}}', "../x": b""}
    found = read_client_plugin(published(), files, "editor")
    load = container(found).load
    assert isinstance(load, CustomizationDegradedState)
    assert "do not run here" in load.message
    assert "../x leads out of the plugin" in load.message
    assert not any(item.runnable for item in found.definitions)
    assert all(
        item.runnable for item in read_client_plugin(published(), files, "editor", trusted=True).definitions
    )


@proves("ahp:ClientPluginCustomization/unchanged-nonce-not-parsed")
def test_a_plugin_is_read_once_for_each_nonce() -> None:
    plugins = ClientPlugins()
    assert plugins.get("editor", published("1")) is None
    found = plugins.read("editor", published("1"), FILES)
    assert plugins.get("editor", published("1")) == found
    assert plugins.get("editor", published("2")) is None
    assert plugins.get("other", published("1")) is None
    plugins.read("editor", published("2"), FILES)
    assert plugins.get("editor", published("1")) is None


def test_a_kept_plugin_has_the_switch_and_the_id_of_now() -> None:
    plugins = ClientPlugins()
    plugins.read("editor", published(), FILES)
    kept = plugins.get("editor", published(enabled=False))
    assert kept is not None
    assert not container(kept).enabled
    assert plugins.get("editor", published(plugin_id="p2")) is None


def test_without_a_nonce_nothing_is_kept() -> None:
    plugins = ClientPlugins()
    plugins.read("editor", published(None), FILES)
    assert plugins.get("editor", published(None)) is None


def test_a_client_that_is_gone_is_forgotten_and_the_oldest_go_first() -> None:
    plugins = ClientPlugins()
    for client in ("editor", "other"):
        plugins.read(client, published(), FILES)
    plugins.forget("editor")
    assert plugins.get("editor", published()) is None
    assert plugins.get("other", published()) is not None
    for number in range(64):
        plugins.read(f"client-{number}", published(), FILES)
    assert plugins.get("other", published()) is None
    assert plugins.get("client-0", published()) is not None
