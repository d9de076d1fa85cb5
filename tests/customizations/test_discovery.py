"""A working directory and a home, with what people keep in them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest

from requirements import proves
from serai.ahp.types import (
    CustomizationDegradedState,
    CustomizationErrorState,
    CustomizationLoadedState,
    DirectoryCustomization,
    PluginCustomization,
)
from serai.ahp.wire import decode, encode
from serai.customizations import (
    Customizations,
    HookDefinition,
    McpServerDefinition,
    TextDefinition,
    discover,
    trees,
    with_toggles,
)
from serai.customizations.trees import MAX_FILE, DiskTree
from serai.errors import FileUnreadable

Write = Callable[..., Path]
Look = Callable[..., Customizations]
Container = DirectoryCustomization | PluginCustomization

HOOKS = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}'
SERVERS = '{"mcpServers": {"a": {"command": "touch", "args": ["ran"]}}}'


def containers(found: Customizations) -> dict[str, Container]:
    return {item.name: item for item in cast("list[Container]", found.containers)}


def message(container: Container) -> str:
    assert isinstance(container.load, CustomizationDegradedState | CustomizationErrorState)
    return container.load.message


def child_names(container: Container) -> list[str]:
    children: list[Any] = list(container.children or [])
    return [child.name for child in children]


def test_nothing_is_found_where_nothing_is(look: Look) -> None:
    assert look() == Customizations()


def test_folders_that_do_not_exist_have_nothing(tmp_path: Path) -> None:
    assert discover(tmp_path / "no", tmp_path / "neither", trusted=True) == Customizations()
    assert discover(None, tmp_path, trusted=False) == Customizations()


def test_ids_are_the_same_each_time_and_all_different(
    work: Path, home: Path, look: Look, write: Write
) -> None:
    for root in (work, home):
        write(root, ".claude/agents/a.md", "x")
        write(root, ".claude/CLAUDE.md", "x")
        write(root, ".cursor/mcp.json", '{"mcpServers": {"a": {"command": "x"}, "b": {"command": "x"}}}')
    first, second = look(), look()
    assert first.containers == second.containers
    ids = [container.id for container in cast("list[Container]", first.containers)]
    ids += [item.id for item in first.definitions]
    assert len(ids) == len(set(ids)) == 6 + 8


def test_files_of_one_tool_in_one_folder_share_a_container(work: Path, look: Look, write: Write) -> None:
    for name in ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md", ".claude/CLAUDE.md"):
        write(work, name, "x")
    found = containers(look())
    assert {name: child_names(item) for name, item in found.items()} == {
        "AGENTS.md rules (.)": ["AGENTS.md"],
        "Claude Code rules (.)": ["CLAUDE.md", "CLAUDE.local.md"],
        "Claude Code rules (.claude)": ["CLAUDE.md"],
    }


def test_what_is_found_fits_the_wire(work: Path, look: Look, write: Write) -> None:
    write(work, ".cursor/rules/a.mdc", "---\nglobs: *.ts\n---\nx")
    write(work, ".mcp.json", SERVERS)
    write(work, ".agents/plugins/p/skills/s/SKILL.md", "x")
    found = look()
    wire = encode({"customizations": found.containers})
    assert decode(wire, dict[str, list[DirectoryCustomization | PluginCustomization]]) == {
        "customizations": found.containers
    }


# -- what is broken ----------------------------------------------------------------------------------------


def test_one_broken_file_does_not_hide_the_others(work: Path, look: Look, write: Write) -> None:
    write(work, ".claude/agents/good.md", "---\nname: good\n---\nx")
    write(work, ".claude/agents/bad.md", "---\nname: x\ntools: [a\n---\nx")
    [container] = containers(look()).values()
    assert child_names(container) == ["good"]
    assert isinstance(container.load, CustomizationDegradedState)
    assert message(container).startswith(".claude/agents/bad.md, line ")


def test_a_container_of_which_nothing_can_be_read_is_an_error(
    work: Path, home: Path, look: Look, write: Write
) -> None:
    write(work, ".mcp.json", '{\n"mcpServers": {"a" 1}\n}')
    write(home, ".codex/config.toml", "[mcp_servers")
    found = containers(look())
    project, personal = found["Claude Code MCP servers (.)"], found["Codex MCP servers (~/.codex)"]
    assert isinstance(project.load, CustomizationErrorState)
    assert message(project).startswith(".mcp.json, line 2: ")
    assert isinstance(personal.load, CustomizationErrorState)
    assert message(personal).startswith("~/.codex/config.toml: ")


@pytest.mark.parametrize("empty", ["[]", '""'])
def test_a_file_of_which_the_shape_is_wrong_is_told_though_it_is_empty(
    work: Path, look: Look, write: Write, empty: str
) -> None:
    write(work, ".cursor/mcp.json", f'{{"mcpServers": {empty}}}')
    write(work, ".cursor/hooks.json", f'{{"hooks": {empty}}}')
    found = containers(look())
    servers, hooks = found["Cursor MCP servers (.cursor)"], found["Cursor hooks (.cursor)"]
    assert message(servers) == ".cursor/mcp.json: 'mcpServers' is no object"
    assert message(hooks) == ".cursor/hooks.json: 'hooks' is no object"


def test_many_problems_are_counted(work: Path, look: Look, write: Write) -> None:
    for number in range(20):
        write(work, f".claude/agents/{number:02}.md", "---\na: [\n---\n")
    [container] = containers(look()).values()
    lines = message(container).splitlines()
    assert len(lines) == 6
    assert lines[-1] == "and 15 more"


@pytest.mark.parametrize("content", [b"x" * (MAX_FILE + 1), b"\xff\xfe\x00"])
def test_files_that_cannot_be_used_are_told(work: Path, look: Look, write: Write, content: bytes) -> None:
    write(work, ".claude/agents/a.md", content)
    [container] = containers(look()).values()
    assert isinstance(container.load, CustomizationErrorState)
    assert ".claude/agents/a.md" in message(container)


def test_links_out_of_the_working_directory_are_told_and_not_followed(
    work: Path, tmp_path: Path, look: Look, write: Write
) -> None:
    write(tmp_path, "secret.md", "---\nname: secret\n---\nsecret")
    write(tmp_path, "elsewhere/s/SKILL.md", "secret")
    write(work, ".claude/agents/mine.md", "x")
    (work / ".claude/agents/link.md").symlink_to(tmp_path / "secret.md")
    (work / ".claude/skills").symlink_to(tmp_path / "elsewhere")
    (work / "CLAUDE.md").symlink_to("../secret.md")
    found = look()
    assert "secret" not in str(found.containers).replace("secret.md", "")
    for container in containers(found).values():
        assert "leads out of the folder" in message(container)
        assert child_names(container) == (["mine"] if "agents" in container.name else [])


def test_files_of_a_place_are_bounded(work: Path, look: Look, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(trees, "MAX_FILES", 20)
    folder = work / ".cursor/rules"
    folder.mkdir(parents=True)
    for number in range(30):
        (folder / f"{number:04}.mdc").write_text(f"---\ndescription: Rule {number}\nglobs: *.ts\n---\nx\n")
    [container] = containers(look()).values()
    assert len(child_names(container)) == 20
    assert message(container) == ".cursor/rules has more than 20 files: the rest is left out"


def test_names_that_json_cannot_carry_are_cleaned(work: Path, look: Look, write: Write) -> None:
    write(work, ".mcp.json", '{"mcpServers": {"a\\ud800": {"command": "x"}}}')
    write(work, ".claude/agents/a.md", '---\nname: "x\\uDC00y"\n---\nx')
    with suppress(OSError):  # a file system may have Unicode names only
        write(work, ".claude/commands/" + os.fsdecode(b"\xff") + ".md", "x")
    encode(look().containers)


# -- trust -------------------------------------------------------------------------------------------------


def test_of_a_folder_that_is_not_trusted_all_is_listed_and_nothing_runs(
    work: Path, home: Path, look: Look, write: Write
) -> None:
    write(work, ".claude/settings.json", HOOKS)
    write(work, ".mcp.json", SERVERS)
    write(work, ".claude/agents/a.md", "x")
    write(work, ".agents/plugins/p/.mcp.json", SERVERS)
    write(work, ".agents/plugins/p/skills/s/SKILL.md", "x")
    write(home, ".cursor/mcp.json", SERVERS)
    trusted, found = look(), look(trusted=False)
    names = containers(found)
    assert set(names) == set(containers(trusted))
    for name in ("Claude Code hooks (.claude)", "Claude Code MCP servers (.)"):
        assert not names[name].enabled
        assert "not trusted" in message(names[name])
        assert child_names(names[name])
        assert names[name].id in found.locked
    assert names["Claude Code agents (.claude/agents)"].load == CustomizationLoadedState()
    assert names["Claude Code agents (.claude/agents)"].enabled
    assert "hooks and MCP servers are listed and do not run" in message(names["p"])
    assert names["Cursor MCP servers (~/.cursor)"].enabled
    runnable = {(item.uri, item.runnable) for item in found.definitions}
    assert runnable == {(item.uri, item.uri.startswith(home.as_uri())) for item in found.definitions}
    assert all(item.runnable for item in trusted.definitions)
    assert trusted.locked == frozenset()
    assert not (work / "ran").exists()


def test_what_is_locked_cannot_be_switched_on(work: Path, look: Look, write: Write) -> None:
    write(work, ".mcp.json", SERVERS)
    found = look(trusted=False)
    [container] = containers(found).values()
    assert with_toggles(found.containers, {container.id: True}, found.locked) == found.containers


def test_a_home_that_is_the_working_directory_is_listed_once_and_trusted(home: Path, write: Write) -> None:
    write(home, ".claude/settings.json", HOOKS)
    write(home, ".mcp.json", SERVERS)
    found = discover(home, home, trusted=False)
    assert len(found.containers) == 2
    [hook] = [item for item in found.definitions if isinstance(item, HookDefinition)]
    [server] = [item for item in found.definitions if isinstance(item, McpServerDefinition)]
    assert (hook.runnable, server.runnable) == (True, False)
    assert found.locked == {server.container}


# -- where clients may write -------------------------------------------------------------------------------


def test_folders_are_writable_where_it_is_allowed(work: Path, home: Path, write: Write) -> None:
    write(work, ".claude/agents/a.md", "x")
    write(work, "CLAUDE.md", "x")
    write(home, ".claude/agents/a.md", "x")
    found = containers(discover(work, home, trusted=True, may_write=lambda path: path.is_relative_to(work)))
    writable = {
        name for name, item in found.items() if isinstance(item, DirectoryCustomization) and item.writable
    }
    assert "Claude Code agents (.claude/agents)" in writable
    assert not any("~" in name or name == "Claude Code rules (.)" for name in writable)
    assert "Claude Code agents (~/.claude/agents)" in found


@proves("ahp:DirectoryCustomization/folder-may-be-missing")
def test_neutral_folders_are_offered_before_they_exist(look: Look) -> None:
    found = containers(look(writable=True))
    assert set(found) == {
        f".agents {kind} ({root}.agents/{kind})"
        for kind in ("agents", "skills", "prompts", "rules")
        for root in ("", "~/")
    }
    assert all(item.load == CustomizationLoadedState() and item.children == [] for item in found.values())


@pytest.mark.usefixtures("permissions_count")
def test_a_folder_that_the_disk_protects_is_not_writable(work: Path, look: Look, write: Write) -> None:
    write(work, ".claude/agents/a.md", "x").parent.chmod(0o500)
    container = containers(look(writable=True))["Claude Code agents (.claude/agents)"]
    assert isinstance(container, DirectoryCustomization)
    assert not container.writable


def test_a_folder_that_leads_out_is_not_writable(work: Path, tmp_path: Path, look: Look) -> None:
    (work / ".claude").mkdir()
    (work / ".claude/agents").symlink_to(tmp_path)
    container = containers(look(writable=True))["Claude Code agents (.claude/agents)"]
    assert isinstance(container, DirectoryCustomization)
    assert not container.writable


# -- plugins that Claude Code has installed ----------------------------------------------------------------


def test_installed_plugins_count_for_the_person_or_for_their_project(
    work: Path, home: Path, look: Look, write: Write
) -> None:
    for name in ("user", "mine", "other"):
        write(home, f".claude/plugins/cache/{name}/skills/s/SKILL.md", "x")

    def entry(name: str, project: Path | None = None) -> dict[str, str]:
        where = {"installPath": str(home / ".claude/plugins/cache" / name)}
        return where if project is None else {**where, "scope": "project", "projectPath": str(project)}

    plugins = {
        "u@m": [entry("user")],
        "m@m": [entry("other", home), entry("mine", work)],
        "o@m": [entry("other", home)],
    }
    write(home, ".claude/plugins/installed_plugins.json", json.dumps({"version": 2, "plugins": plugins}))
    write(home, ".claude/settings.json", '{"enabledPlugins": {"u@m": true}}')
    found = containers(look())
    assert {name: item.enabled for name, item in found.items()} == {"user": True, "mine": False}


def test_a_broken_list_of_plugins_is_told(home: Path, look: Look, write: Write) -> None:
    write(home, ".claude/plugins/installed_plugins.json", "{")
    [container] = containers(look()).values()
    assert isinstance(container.load, CustomizationErrorState)
    assert "~/.claude/plugins/installed_plugins.json, line 1" in message(container)


def test_plugins_that_lead_out_of_the_working_directory_are_told_and_not_read(
    work: Path, tmp_path: Path, look: Look, write: Write
) -> None:
    write(tmp_path, "outside/skills/s/SKILL.md", "secret")
    write(work, ".agents/plugins/p/skills/ok/SKILL.md", "x")
    (work / ".agents/plugins/link").symlink_to(tmp_path / "outside")
    found = containers(look())
    assert child_names(found.pop("p")) == ["ok"]
    [told] = found.values()
    assert message(told) == ".agents/plugins/link is not read: it leads out of the folder"
    assert not told.enabled


def test_a_plugin_that_becomes_a_link_after_it_was_found_is_not_followed(
    work: Path, tmp_path: Path, write: Write
) -> None:
    write(tmp_path, "outside/a.md", "secret")
    inner = write(work, "plugins/p/a.md", "ours").parent
    plugin = DiskTree(work).below("plugins/p")
    assert plugin.read("a.md") == b"ours"
    inner.rename(work / "moved")
    inner.symlink_to(tmp_path / "outside")
    with pytest.raises(FileUnreadable, match="leads out"):
        plugin.read("a.md")


def test_rules_come_with_their_text_when_it_is_wanted(work: Path, look: Look, write: Write) -> None:
    file = write(work, "AGENTS.md", "First.")
    [rule] = look().definitions
    assert isinstance(rule, TextDefinition)
    file.write_text("Second.")
    assert rule.body() == "Second."
