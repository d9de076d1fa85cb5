"""What strangers write into their files, and tools into theirs: bounds, and names that can be shown."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from serai.ahp.types import CustomizationLoadedState, DirectoryCustomization, PluginCustomization
from serai.ahp.wire import encode
from serai.customizations import Customizations, McpServerDefinition
from serai.customizations.containers import MAX_SHOWN
from serai.customizations.trees import MAX_FILE

Write = Callable[..., Path]
Look = Callable[..., Customizations]
Container = DirectoryCustomization | PluginCustomization


def containers(found: Customizations) -> dict[str, Container]:
    return {item.name: item for item in cast("list[Container]", found.containers)}


def children_of(container: Container) -> list[Any]:
    return list(container.children or [])


def child_names(container: Container) -> list[str]:
    return [child.name for child in children_of(container)]


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
    [agent] = cast("list[Any]", found["Claude Code agents (.claude/agents)"].children)
    assert agent.description == "one\na\nb\ufffd[31mred\ufffdgnp"


# -- what is large -----------------------------------------------------------------------------------------


def test_a_name_has_a_bound(work: Path, look: Look, write: Write) -> None:
    long = "n" * 10_000
    write(work, ".codex/agents/a.toml", f'name = "{long}"\nprompt = "x"\n')
    write(work, ".mcp.json", json.dumps({"mcpServers": {long: {"command": "x"}, f"{long}2": {}}}))
    write(work, ".agents/plugins/p/plugin.json", json.dumps({"name": long}))
    found = look()
    names = [name for container in containers(found).values() for name in child_names(container)]
    assert names == ["n" * 255 + "…"] * 2
    assert {len(name) for name in containers(found)} <= set(range(257))
    assert {len(item.name) for item in found.definitions} == {256}
    assert len(encode(found.containers)) < 5_000, "what is broken is told with less than its name too"


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
    ids = {child.id for item in containers(found).values() for child in cast("list[Any]", item.children)}
    assert {item.id for item in found.definitions} == ids


# -- what Claude Code knows of a project -------------------------------------------------------------------


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
    servers = {item.name: item for item in found.definitions if isinstance(item, McpServerDefinition)}
    commands = {name: (item.command, item.runnable) for name, item in servers.items()}
    assert commands == {"user": ("x", True), "local": ("y", True), "both": ("of the project", True)}
    children = {child.name: child for child in cast("list[Any]", container.children)}
    lines = (home / ".claude.json").read_text().splitlines()
    assert lines[children["local"].range.start.line].strip() == '"local": {'


def test_what_claude_code_keeps_in_its_file_may_be_long(home: Path, look: Look, write: Write) -> None:
    settings = {"history": ["x" * 100] * 30_000, "mcpServers": {"user": {"command": "x"}}}
    write(home, ".claude.json", json.dumps(settings))
    assert (home / ".claude.json").stat().st_size > MAX_FILE
    began = time.perf_counter()
    [server] = look().definitions
    assert server.name == "user"
    assert time.perf_counter() - began < 2  # 0.1 s where it is quiet
