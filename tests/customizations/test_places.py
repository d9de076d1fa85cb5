"""Every row of the table finds its file: the tests are made from the table, so that none can be forgotten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from customizations.conftest import Look, Write, children_of
from requirements import proves
from serai.ahp.types import (
    CustomizationLoadedState,
    CustomizationType,
    DirectoryCustomization,
    PluginCustomization,
    RuleCustomization,
)
from serai.ahp.wire import encode
from serai.customizations.places import PLACES, PLUGIN_FOLDERS, PLUGIN_REGISTRY, FilePlace, Where
from serai.machine.watch.events import SeenPaths

HOOKS = {
    "Claude Code": {"hooks": {"Stop": [{"matcher": "x", "hooks": [{"type": "command", "command": "true"}]}]}},
    "Copilot": {"version": 1, "hooks": {"sessionStart": [{"type": "command", "bash": "true"}]}},
    "Cursor": {"version": 1, "hooks": {"stop": [{"command": "true"}]}},
    "Codex": {"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "true"}]}]}},
}


def sample(place: FilePlace) -> str:
    """What people write into such a file."""
    if place.contents is CustomizationType.HOOK:
        return json.dumps(HOOKS[place.source])
    if place.contents is CustomizationType.MCP_SERVER:
        if place.pattern.endswith(".toml"):
            return f'model = "x"\n[{place.key}.sample]\ncommand = "true"\n'
        if place.source == "OpenCode":
            return f'{{// mine\n"{place.key}": {{"sample": {{"type": "local", "command": ["true"]}},}}}}'
        return json.dumps({place.key: {"sample": {"command": "true", "args": ["-x"]}}})
    if place.pattern.endswith(".toml"):
        return 'name = "sample"\ndescription = "A sample."\nprompt = "Do."\n'
    if place.is_of_serai:
        return "slug: sample\ndescription: A sample.\nsystem_prompt: Do.\n"
    return "---\ndescription: A sample.\n---\n# Sample\n\nDo.\n"


# As each tool's own documentation has it: the rows cannot vouch for their own keys.
WRITTEN = {
    ".mcp.json": '{"mcpServers": {"one": {"command": "npx", "args": ["-y", "x"]}}}',
    ".vscode/mcp.json": '{"inputs": [], "servers": {"one": {"type": "stdio", "command": "npx", "args": []}}}',
    ".cursor/mcp.json": '{"mcpServers": {"one": {"command": "npx"}}}',
    ".codex/config.toml": 'model = "x"\n[mcp_servers.one]\ncommand = "npx"\nargs = ["-y"]\n',
    ".gemini/settings.json": '{"theme": "x", "mcpServers": {"one": {"command": "npx"}}}',
    "opencode.json": '{"$schema": "x", "mcp": {"one": {"type": "local", "command": ["npx", "-y"]}}}',
    "opencode.jsonc": '{"mcp": {"one": {"type": "local", "command": ["npx"]}, /* two */}}',
    "~/.claude.json": '{"numStartups": 3, "mcpServers": {"one": {"type": "stdio", "command": "npx"}}}',
    "~/.copilot/mcp-config.json": '{"mcpServers": {"one": {"type": "local", "command": "npx"}}}',
    "~/.config/opencode/opencode.json": '{"mcp": {"one": {"type": "local", "command": ["npx"]}}}',
    "~/.config/opencode/opencode.jsonc": '{"mcp": {"one": {"type": "local", "command": ["npx"]}}} // x',
}


@pytest.mark.parametrize("path", WRITTEN)
def test_servers_are_read_as_each_tool_writes_them(
    path: str, work: Path, home: Path, look: Look, write: Write
) -> None:
    write(home if path.startswith("~/") else work, path.removeprefix("~/"), WRITTEN[path])
    [server] = look().definitions
    assert server.name == "one"
    assert server.fields["command"] in ("npx", ["npx"], ["npx", "-y"])


@proves("ahp:RuleCustomization/instruction-files")
@pytest.mark.parametrize("name", ["style.md", "style.instructions.md", "python/style.instructions.md"])
def test_instruction_files_are_rules(name: str, work: Path, look: Look, write: Write) -> None:
    text = "---\ndescription: How we write.\napplyTo: '**/*.py'\n---\nWrite briefly.\n"
    file = write(work, f".github/instructions/{name}", text)
    [rule] = look().definitions
    assert rule.body() == "Write briefly.\n"
    assert isinstance(rule.child, RuleCustomization)
    assert (rule.child.uri, rule.child.description, rule.child.globs) == (
        file.as_uri(),
        "How we write.",
        ["**/*.py"],
    )


def rows() -> list[tuple[FilePlace, Where]]:
    scopes = {Where.BOTH: (Where.DIRECTORY, Where.HOME)}
    return [(place, where) for place in PLACES for where in scopes.get(place.where, (place.where,))]


@pytest.mark.parametrize(
    ("place", "where"),
    rows(),
    ids=lambda value: value.name if isinstance(value, Where) else f"{value.folder}/{value.pattern}",
)
def test_each_place_is_found(
    place: FilePlace, where: Where, work: Path, home: Path, settings: Path, look: Look, write: Write
) -> None:
    look(seen=(before := SeenPaths()))
    root = {Where.DIRECTORY: work, Where.HOME: home, Where.SETTINGS: settings}[where]
    path = f"{place.folder}/{place.pattern}".lstrip("/").replace("**/", "").replace("*", "sample")
    file = write(root, path, sample(place))
    assert not before.are_unchanged()
    found = look(seen=(seen := SeenPaths()))
    [container] = found.containers
    assert isinstance(container, DirectoryCustomization)
    assert container.contents == place.contents
    assert container.uri == (root / place.folder).as_uri()
    assert container.load == CustomizationLoadedState()
    assert container.enabled
    assert place.source in container.name
    [child] = children_of(container)
    assert encode(child).startswith(f'{{"type":"{place.contents.value}"'.encode())
    assert child.uri == file.as_uri()
    if place.contents not in {CustomizationType.HOOK, CustomizationType.MCP_SERVER}:
        assert child.description == "A sample."
    is_server = place.contents is CustomizationType.MCP_SERVER
    if is_server or not place.is_one_file:
        assert (child.name == "sample") is (place.contents is not CustomizationType.HOOK)
    [definition] = found.definitions
    assert (definition.child, definition.container, definition.runnable) == (child, container.id, True)
    assert seen.are_unchanged()
    file.write_text("changed")
    assert not seen.are_unchanged()


@pytest.mark.parametrize("where", ["work", "home", "registry"])
def test_each_place_of_plugins_is_found(where: str, work: Path, home: Path, look: Look, write: Write) -> None:
    look(seen=(before := SeenPaths()))
    plugin = (work if where == "work" else home) / PLUGIN_FOLDERS / "tools"
    if where == "registry":
        plugin = home / "elsewhere" / "tools"
        entry = {"scope": "user", "installPath": str(plugin)}
        write(home, PLUGIN_REGISTRY, json.dumps({"version": 2, "plugins": {"tools@shop": [entry]}}))
        write(home, ".claude/settings.json", '{"enabledPlugins": {"tools@shop": true}}')
    write(plugin, "skills/greet/SKILL.md", "---\ndescription: Greets.\n---\nHello.\n")
    [container] = look().containers
    assert isinstance(container, PluginCustomization)
    assert (container.name, container.uri) == ("tools", plugin.as_uri())
    assert container.enabled
    assert [child.name for child in children_of(container)] == ["greet"]
    assert not before.are_unchanged()
