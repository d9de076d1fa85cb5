"""A working directory and a home, with what people keep in them, and what strangers put there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import cast

import pytest

from customizations.conftest import (
    Container,
    Look,
    Write,
    child_names,
    children_of,
    containers,
    message,
    names_of,
)
from requirements import proves
from serai.ahp.types import (
    CustomizationDegradedState,
    CustomizationLoadedState,
    DirectoryCustomization,
)
from serai.ahp.wire import encode
from serai.customizations.containers import MAX_SHOWN
from serai.customizations.discovery import discover

HOOKS = '{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "touch ran"}]}]}}'
SERVERS = '{"mcpServers": {"a": {"command": "touch", "args": ["ran"]}}}'


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
    ids += [item.child.id for item in first.definitions]
    assert len(ids) == len(set(ids)) == 6 + 8


# -- what is broken ----------------------------------------------------------------------------------------


def test_one_broken_file_does_not_hide_the_others(work: Path, look: Look, write: Write) -> None:
    write(work, ".claude/agents/good.md", "---\nname: good\n---\nx")
    write(work, ".claude/agents/bad.md", "---\nname: x\ntools: [a\n---\nx")
    [container] = containers(look()).values()
    assert child_names(container) == ["good"]
    assert isinstance(container.load, CustomizationDegradedState)
    assert message(container).startswith(".claude/agents/bad.md, line ")


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
    for item in found.definitions:
        assert item.runnable is item.child.uri.startswith(home.as_uri())
    assert all(item.runnable for item in trusted.definitions)
    assert trusted.locked == frozenset()
    assert not (work / "ran").exists()


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


# -- what strangers write --------------------------------------------------------------------------------


def test_names_are_one_line_that_turns_nothing_around(work: Path, look: Look, write: Write) -> None:
    odd = "a\\nb\\e[31mred\\u202Egnp"
    write(work, ".claude/agents/a.md", f'---\nname: "{odd}"\ndescription: "one\\n{odd}"\n---\nx')
    write(work, ".mcp.json", '{"mcpServers": {"a\\nb\\u001b[31mred\\u202egnp": {"command": "x"}}}')
    write(work, ".agents/plugins/p/plugin.json", '{"name": "a\\nb\\u001b[31mred\\u202egnp"}')
    name = "a b\ufffd[31mred\ufffdgnp"
    found = containers(look())
    assert child_names(found["Claude Code agents (.claude/agents)"]) == [name]
    assert child_names(found["Claude Code MCP servers (.)"]) == [name]
    assert name in found
    [agent] = children_of(found["Claude Code agents (.claude/agents)"])
    assert agent.description == "one\na\nb\ufffd[31mred\ufffdgnp"


def test_what_a_folder_shows_has_a_bound(work: Path, home: Path, look: Look, write: Write) -> None:
    servers = {f"{'s' * 200}{number}": {"command": "x"} for number in range(1_000)}
    for file, key in ((".mcp.json", "mcpServers"), (".vscode/mcp.json", "servers")):
        write(work, file, json.dumps({key: servers}))
    for number in range(300):
        write(work, f".agents/plugins/{number}/skills/a/SKILL.md", f"---\ndescription: {'d' * 3_000}\n---\n")
    write(home, ".agents/skills/cook/SKILL.md", "---\ndescription: Cooks\n---\n")
    found = look(trusted=False)
    assert len(encode(found.containers)) < MAX_SHOWN + 20_000
    assert len(child_names(containers(found)["Claude Code MCP servers (.)"])) == 1_000
    shown = containers(found)["Copilot MCP servers (.vscode)"]
    left_out = 1_000 - len(child_names(shown))
    assert 0 < left_out < 1_000
    assert f"{left_out:,} more are left out" in encode(shown.load).decode()
    assert "cook" in child_names(containers(found)[".agents skills (~/.agents/skills)"])


def test_the_servers_that_claude_code_has_for_a_project_are_those_of_its_folder(
    work: Path, home: Path, look: Look, write: Write
) -> None:
    of_project = {"local": {"command": "y"}, "both": {"command": "of the project"}}
    settings = {
        "mcpServers": {"user": {"command": "x"}, "both": {"command": "of the person"}},
        "projects": {
            str(work.parent / "link"): {"allowedTools": [], "mcpServers": of_project},
            str(work.parent): {"mcpServers": {"another": {"command": "z"}}},
            str(home): "what is this",
        },
    }
    (work.parent / "link").symlink_to(work)
    write(home, ".claude.json", json.dumps(settings, indent=2))
    found = look(trusted=False)
    [container] = containers(found).values()
    assert container.name == "Claude Code MCP servers (~/)"
    assert container.load == CustomizationLoadedState()
    commands = {item.name: (item.fields["command"], item.runnable) for item in found.definitions}
    assert commands == {"user": ("x", True), "local": ("y", True), "both": ("of the project", True)}
    children = {child.name: child for child in children_of(container)}
    lines = (home / ".claude.json").read_text().splitlines()
    assert lines[children["local"].range.start.line].strip() == '"local": {'


GOOD = "---\nname: good\ndescription: fine\n---\nx"


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".claude/agents/bad.md", '---\nname: "\\UFFFFFFFF"\n---\nx'),
        (".claude/agents/bad.md", '---\nname: "\\U00110000"\n---\nx'),
        (".codex/config.toml", f"[mcp_servers.x]\ncommand = 'a'\nargs = [{'9' * 5000}]"),
        (".codex/config.toml", f"[mcp_servers.x]\ncommand = 'a'\nargs = [0x{'f' * 5000}]"),
        (".codex/agents/bad.toml", f"prompt = 'x'\nn = {'9' * 5000}"),
        (".gemini/commands/bad.toml", "prompt." + '"!".' * 60_000 + "x = 1"),
    ],
    ids=lambda text: text[:40],
)
def test_a_file_takes_no_other_along_and_is_told(
    work: Path, look: Look, write: Write, caplog: pytest.LogCaptureFixture, path: str, content: str
) -> None:
    write(work, ".claude/agents/good.md", GOOD)
    write(work, path, content)
    found = look(trusted=False)
    assert names_of(found) == ["good"]
    assert any(path in encode(item.load).decode() for item in containers(found).values())
    assert caplog.text == ""


def test_files_that_take_too_long_leave_out_those_after_them(
    work: Path, home: Path, look: Look, write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("serai.customizations.discovery.MAX_SECONDS", 0.05)
    for number in range(100):
        write(work, f".claude/agents/{number:02}.md", f"---\nx: [{'a,' * 4_000}]\n---\nx")
    write(work, ".agents/plugins/p/skills/s/SKILL.md", "x")
    write(home, ".claude/agents/mine.md", GOOD)
    found = look(trusted=False)
    names = names_of(found)
    assert len(names) < 20
    assert "good" in names, "a home has its own time"
    told = encode(found.containers).decode()
    assert ".claude/agents/99.md is not read" in told or "more" in told
    assert ".agents/plugins/p/skills/s/SKILL.md is not read: the files before it took too long" in told
