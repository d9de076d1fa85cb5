"""Plugins: default places, and what a manifest names."""

from __future__ import annotations

import json
from typing import Any, cast

import pytest

from requirements import proves
from serai.ahp.types import (
    ClientPluginCustomization,
    CustomizationDegradedState,
    McpServerCustomization,
    PluginCustomization,
    SkillCustomization,
)
from serai.customizations.containers import Customizations, Origin
from serai.customizations.plugins import ClientPlugins, PluginContents, read_client_plugin, read_plugin
from serai.customizations.trees import FetchedTree

MANIFEST = ".plugin/plugin.json"


def read(files: dict[str, str], manifest: dict[str, Any] | str | None = None) -> PluginContents:
    data = {path: text.encode() for path, text in files.items()}
    if manifest is not None:
        data[MANIFEST] = (manifest if isinstance(manifest, str) else json.dumps(manifest)).encode()
    return read_plugin(Origin(FetchedTree(data, "virtual://x"), "c", trusted=True))


def names(contents: PluginContents, kind: str) -> list[str]:
    return [name for tag, name in map(child_of, contents.children) if tag == kind]


def child_of(child: Any) -> tuple[str, str]:
    return type(child).__struct_config__.tag, child.name


@proves("ahp:PluginCustomization/open-plugins-read")
def test_default_places_are_read_without_a_manifest() -> None:
    contents = read(
        {
            "agents/a.md": "x",
            "skills/s/SKILL.md": "x",
            "commands/c.md": "x",
            "rules/r.mdc": "x",
            "hooks/hooks.json": '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "y"}]}]}}',
            ".mcp.json": '{"mcpServers": {"m": {"command": "y"}}}',
            "mcp.json": '{"mcpServers": {"n": {"type": "stdio", "command": "y"}}}',
            "README.md": "x",
        }
    )
    assert contents.problems == []
    assert [child_of(item) for item in contents.children] == [
        ("agent", "a"),
        ("skill", "s"),
        ("skill", "c"),
        ("rule", "r"),
        ("hook", "hooks.json"),
        ("mcpServer", "m"),
        ("mcpServer", "n"),
    ]


@proves(
    "ahp:SkillCustomization/skill-folders",
    "ahp:SkillCustomization/command-files",
    "ahp:SkillCustomization/description-from-frontmatter",
    "ahp:SkillCustomization/disable-flag-from-frontmatter",
)
def test_each_folder_with_a_skill_file_is_a_skill_and_each_file_of_commands_is_one() -> None:
    contents = read(
        {
            "skills/sweep/SKILL.md": "---\ndescription: Sweeps.\n---\nSweep.",
            "skills/sweep/more.md": "x",
            "skills/mop/SKILL.md": "x",
            "skills/empty/README.md": "x",
            "skills/loose.md": "x",
            "commands/tidy.md": ("---\ndescription: Tidies.\ndisable-model-invocation: true\n---\nTidy up."),
            "commands/git/commit.md": "---\ndisable-model-invocation: false\n---\nCommit.",
        }
    )
    assert contents.problems == []
    skills = {one.name: one for one in contents.children if isinstance(one, SkillCustomization)}
    assert set(skills) == {"sweep", "mop", "tidy", "git:commit"}
    assert (skills["sweep"].description, skills["tidy"].description) == ("Sweeps.", "Tidies.")
    assert {name for name, one in skills.items() if one.disable_model_invocation} == {"tidy"}


@proves("ahp:PluginCustomization/open-plugins-read")
def test_a_manifest_names_more_places_and_each_file_counts_once() -> None:
    contents = read(
        {
            "agents/a.md": "x",
            "more/b.md": "x",
            "extra/s/SKILL.md": "x",
            "one/SKILL.md": "x",
            "config/h.json": '{"hooks": {"Stop": [{"command": "y"}]}}',
            "config/m.json": '{"m": {"command": "y"}}',
        },
        {
            "name": "tools",
            "agents": ["./agents/a.md", "./more/"],
            "skills": ["./extra", "./one"],
            "hooks": "./config/h.json",
            "mcpServers": ["./config/m.json"],
        },
    )
    assert contents.problems == []
    assert contents.name == "tools"
    assert names(contents, "agent") == ["a", "b"]
    assert names(contents, "skill") == ["s", "one"]
    assert names(contents, "hook") == ["h.json"]
    assert names(contents, "mcpServer") == ["m"]


@proves("ahp:McpServerCustomization/inline-declaration")
def test_hooks_and_servers_may_stand_in_the_manifest_itself() -> None:
    manifest = {
        "name": "p",
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "y"}]}]},
        "mcpServers": {"m": {"command": "y"}},
    }
    contents = read({}, json.dumps(manifest, indent=2))
    assert names(contents, "hook") == ["plugin.json"]
    assert names(contents, "mcpServer") == ["m"]
    server = contents.children[-1]
    assert isinstance(server, McpServerCustomization)
    assert server.range is not None
    assert server.uri == f"virtual://x/{MANIFEST}"
    assert (server.range.start.line, server.range.end.line) == (15, 17)


@pytest.mark.parametrize("path", ["../other", "/etc", "./a/../../b", "a\\..\\b", 7])
def test_a_manifest_cannot_lead_out_of_the_plugin(path: Any) -> None:
    contents = read({"agents/a.md": "x"}, {"name": "p", "agents": [path]})
    assert names(contents, "agent") == ["a"]
    assert contents.problems[0].startswith(f"{MANIFEST}: 'agents' ")


# -- plugins of clients -----------------------------------------------------------------------------------

FILES = {"skills/greet/SKILL.md": b"---\ndescription: Greets.\n---\nHello.\n"}


def published(
    nonce: str | None = "1", *, enabled: bool = True, plugin_id: str = "p1"
) -> ClientPluginCustomization:
    return ClientPluginCustomization(
        id=plugin_id, uri="virtual://editor/p", name="P", enabled=enabled, nonce=nonce
    )


def published_container(found: Customizations) -> PluginCustomization:
    [only] = found.containers
    return cast("PluginCustomization", only)


def test_its_hooks_and_servers_do_not_run_here() -> None:
    files = {**FILES, ".mcp.json": b'{"mcpServers": {"m": {"command": "x"}}}'}
    found = read_client_plugin(published(), files, "editor")
    load = published_container(found).load
    assert isinstance(load, CustomizationDegradedState)
    assert "do not run here" in load.message
    assert not any(item.runnable for item in found.definitions)


@proves("ahp:ClientPluginCustomization/unchanged-nonce-not-parsed")
def test_a_plugin_is_kept_by_its_nonce_with_the_switch_of_now() -> None:
    plugins, found = ClientPlugins(), read_client_plugin(published(), FILES, "editor")
    plugins.keep("editor", published("1"), found)
    assert plugins.get("editor", published("1")) == found
    kept = plugins.get("editor", published("1", enabled=False))
    assert kept is not None
    assert not published_container(kept).enabled
    for other in (published("2"), published(None), published("1", plugin_id="p2")):
        assert plugins.get("editor", other) is None
    assert plugins.get("other", published("1")) is None
    plugins.keep("editor", published("2"), found)
    assert plugins.get("editor", published("1")) is None
