"""Plugins: a folder with agents, skills, rules, hooks and MCP servers, and a manifest that may name more.

The default places are those of Open Plugins, which Claude Code and Agent Plugins share. What a manifest names
is read besides them, never instead of them. It must stay within the plugin.
"""

from __future__ import annotations

import posixpath
from dataclasses import dataclass, field, replace
from typing import Any, cast

from serai.ahp.types import CustomizationType
from serai.customizations.containers import Contents, Origin, in_one_line, kept_apart
from serai.customizations.definitions import HookDefinition, McpServerDefinition
from serai.customizations.documents import read_document
from serai.customizations.manifests import add_hooks, add_servers, read_hooks, read_json, read_servers
from serai.customizations.places import MANIFESTS
from serai.customizations.trees import Tree
from serai.customizations.walking import join, matching
from serai.errors import FileUnreadable

__all__ = ["PluginContents", "has_what_runs", "read_plugin"]

# AHP counts the commands of a plugin among its skills.
_TEXTS: tuple[tuple[str, CustomizationType, str], ...] = (
    ("agents", CustomizationType.AGENT, "**/*.md"),
    ("skills", CustomizationType.SKILL, "*/SKILL.md"),
    ("commands", CustomizationType.SKILL, "**/*.md"),
    ("rules", CustomizationType.RULE, "**/*.mdc"),
    ("rules", CustomizationType.RULE, "**/*.md"),
)
_MAX_NAMED = 200
"""How many paths a manifest may name for one kind of thing: each is looked for on the disk."""
_HOOK_FILES = ("hooks/hooks.json", "hooks.json")
_SERVER_FILES = (".mcp.json", "mcp.json")


@dataclass(slots=True)
class PluginContents(Contents):
    """What a plugin has, and what its manifest says of it."""

    name: str | None = None
    manifest: str | None = None
    """Where the manifest is, when there is one."""
    seen: set[str] = field(default_factory=set[str])


def has_what_runs(contents: Contents) -> bool:
    """Whether there are hooks or MCP servers among what was read."""
    return any(isinstance(item, HookDefinition | McpServerDefinition) for item in contents.definitions)


def read_plugin(origin: Origin) -> PluginContents:
    """Read a plugin. It never raises: what is broken is told in the contents, and the rest is read."""
    into = PluginContents()
    manifest: dict[str, Any] = {}
    text = ""
    try:
        into.manifest = _manifest_of(origin.tree)
        if into.manifest and (found := read_json(origin, into.manifest)):
            manifest, text = found
    except FileUnreadable as error:
        into.problems.append(error.message)
    name = manifest.get("name")
    into.name = (in_one_line(name) or None) if isinstance(name, str) else None
    origin = replace(origin, plugin=into.name or origin.plugin)
    for key, contents, pattern in _TEXTS:
        _read_texts(origin, key, contents, pattern, into)
        for path in _listed(origin, manifest, key, into):
            _read_listed(origin, path, contents, pattern, into)
    for path in [*_HOOK_FILES, *_listed(origin, manifest, "hooks", into)]:
        if path not in into.seen:
            into.seen.add(path)
            with kept_apart(origin, path, into):
                read_hooks(origin, path, into)
    for path in [*_SERVER_FILES, *_listed(origin, manifest, "mcpServers", into)]:
        if path not in into.seen:
            into.seen.add(path)
            with kept_apart(origin, path, into):
                read_servers(origin, path, "mcpServers", into, bare=True)
    if into.manifest:
        with kept_apart(origin, into.manifest, into):
            _read_inline(origin, into.manifest, manifest, text, into)
    return into


def _read_texts(
    origin: Origin, folder: str, contents: CustomizationType, pattern: str, into: PluginContents
) -> None:
    found = matching(origin.tree, folder, pattern)
    into.problems += found.problems
    for path in found.files:
        if path not in into.seen:
            into.seen.add(path)
            with kept_apart(origin, path, into):
                read_document(origin, path, folder, contents, into)


def _read_listed(
    origin: Origin, path: str, contents: CustomizationType, pattern: str, into: PluginContents
) -> None:
    """Read what a manifest names: a file, a skill's own folder, or a folder of the usual form."""
    if path.endswith((".md", ".mdc")):
        if path not in into.seen:
            into.seen.add(path)
            with kept_apart(origin, path, into):
                read_document(origin, path, posixpath.dirname(path), contents, into)
        return
    own = join(path, "SKILL.md")
    if pattern.endswith("SKILL.md") and _is_there(origin.tree, own):
        if own not in into.seen:
            into.seen.add(own)
            with kept_apart(origin, own, into):
                read_document(origin, own, path, contents, into)
        return
    _read_texts(origin, path, contents, pattern, into)


def _read_inline(
    origin: Origin, path: str, manifest: dict[str, Any], text: str, into: PluginContents
) -> None:
    hooks = manifest.get("hooks")
    if isinstance(hooks, dict):
        inner = cast("dict[str, Any]", hooks).get("hooks")
        add_hooks(origin, path, cast("Any", inner if isinstance(inner, dict) else hooks), into)
    servers = manifest.get("mcpServers")
    if isinstance(servers, dict):
        add_servers(origin, path, servers, text, ("mcpServers",), into)


def _listed(origin: Origin, manifest: dict[str, Any], key: str, into: PluginContents) -> list[str]:
    """The paths that a manifest names, as paths within the plugin."""
    value = manifest.get(key)
    named = [value] if isinstance(value, str) else value
    if not isinstance(named, list):
        return []
    items = cast("list[Any]", named)
    shown = origin.tree.shown(into.manifest or "")
    if len(items) > _MAX_NAMED:
        into.problems.append(f"{shown}: '{key}' names more than {_MAX_NAMED} paths: the rest is left out")
    paths: list[str] = []
    for item in items[:_MAX_NAMED]:
        if not isinstance(item, str):
            into.problems.append(f"{shown}: '{key}' names what is no path")
            continue
        path = posixpath.normpath(item)
        if path.startswith(("/", "..")) or "\\" in item:
            into.problems.append(f"{shown}: '{key}' leads out of the plugin: {item}")
            continue
        paths.append("" if path == "." else path)
    return paths


def _is_there(tree: Tree, path: str) -> bool:
    try:
        return tree.read(path) is not None
    except FileUnreadable:
        return True


def _manifest_of(tree: Tree) -> str | None:
    return next((path for path in MANIFESTS if tree.read(path) is not None), None)
