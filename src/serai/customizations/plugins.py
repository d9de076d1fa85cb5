"""Plugins: a folder with agents, skills, rules, hooks and MCP servers, and a manifest that may name more.

The default places are those of Open Plugins, which Claude Code and Agent Plugins share. What a manifest names
is read besides them, never instead of them. It must stay within the plugin. A plugin that a client publishes
is read from the files that were fetched from it, and kept by its nonce.
"""

from __future__ import annotations

import posixpath
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from threading import Lock
from typing import Any, cast

from msgspec import structs

from serai.ahp.types import ClientPluginCustomization, CustomizationType, PluginCustomization
from serai.customizations.containers import (
    MAX_SECONDS,
    MAX_SHOWN,
    Contents,
    Origin,
    fit,
    in_one_line,
    kept_apart,
    load_state,
)
from serai.customizations.definitions import Customizations, HookDefinition, McpServerDefinition
from serai.customizations.documents import read_document
from serai.customizations.places import MANIFESTS
from serai.customizations.servers import (
    add_hooks,
    add_servers,
    members,
    read_hooks,
    read_json,
    read_servers,
)
from serai.customizations.trees import FetchedTree, Tree, join, matching
from serai.errors import FileUnreadable

__all__ = [
    "ClientPlugins",
    "PluginContents",
    "has_what_runs",
    "is_there",
    "read_client_plugin",
    "read_plugin",
]

# AHP counts the commands of a plugin among its skills.
_TEXTS: tuple[tuple[str, CustomizationType, str], ...] = (
    ("agents", CustomizationType.AGENT, "**/*.md"),
    ("skills", CustomizationType.SKILL, "*/SKILL.md"),
    ("commands", CustomizationType.SKILL, "**/*.md"),
    ("rules", CustomizationType.RULE, "**/*.mdc"),
    ("rules", CustomizationType.RULE, "**/*.md"),
)
_MAX_NAMED = 200
"""Most paths that a manifest may name for one kind of thing: each is looked for on the disk."""
_MAX_KEPT = 64
"""Most published plugins that are kept."""
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
    with kept_apart(origin, "", into):
        into.manifest = next((path for path in MANIFESTS if is_there(origin.tree, path)), None)
        if into.manifest and (found := read_json(origin, into.manifest)):
            manifest, text = found
    name = manifest.get("name")
    into.name = (in_one_line(name) or None) if isinstance(name, str) else None
    reading = _PluginReading(replace(origin, plugin=into.name or origin.plugin), manifest, into)
    for key, contents, pattern in _TEXTS:
        reading.folder(key, contents, pattern)
        for path in reading.listed(key):
            reading.named(path, contents, pattern)
    origin = reading.origin
    for path in [*_HOOK_FILES, *reading.listed("hooks")]:
        reading.once(path, lambda path: read_hooks(origin, path, into))
    for path in [*_SERVER_FILES, *reading.listed("mcpServers")]:
        reading.once(path, lambda path: read_servers(origin, path, "mcpServers", into, bare=True))
    if into.manifest:
        with kept_apart(origin, into.manifest, into):
            if hooks := members(manifest.get("hooks")):
                add_hooks(origin, into.manifest, members(hooks.get("hooks")) or hooks, into)
            if servers := members(manifest.get("mcpServers")):
                add_servers(origin, into.manifest, "mcpServers", servers, text, into)
    return into


@dataclass(slots=True)
class _PluginReading:
    origin: Origin
    manifest: dict[str, Any]
    into: PluginContents

    def once(self, path: str, read: Callable[[str], None]) -> None:
        """Read a file that was not read yet."""
        if path not in self.into.seen:
            self.into.seen.add(path)
            with kept_apart(self.origin, path, self.into):
                read(path)

    def document(self, path: str, folder: str, contents: CustomizationType) -> None:
        self.once(path, lambda path: read_document(self.origin, path, folder, contents, self.into))

    def folder(self, folder: str, contents: CustomizationType, pattern: str) -> None:
        found = matching(self.origin.tree, folder, pattern)
        self.into.problems += found.problems
        for path in found.files:
            self.document(path, folder, contents)

    def named(self, path: str, contents: CustomizationType, pattern: str) -> None:
        """Read what a manifest names: a file, a skill's own folder, or a folder of the usual form."""
        own = join(path, "SKILL.md")
        if path.endswith((".md", ".mdc")):
            self.document(path, posixpath.dirname(path), contents)
        elif pattern.endswith("SKILL.md") and is_there(self.origin.tree, own):
            self.document(own, path, contents)
        else:
            self.folder(path, contents, pattern)

    def listed(self, key: str) -> list[str]:
        """The paths that a manifest names, as paths within the plugin."""
        value = self.manifest.get(key)
        items = cast("list[Any]", [value] if isinstance(value, str) else value)
        if not isinstance(items, list):  # pyright: ignore[reportUnnecessaryIsInstance] - a stranger wrote it
            return []
        shown = self.origin.tree.shown(self.into.manifest or "")
        paths: list[str] = []
        for item in items[:_MAX_NAMED]:
            path = posixpath.normpath(item) if isinstance(item, str) else "/"
            if path.startswith(("/", "..")) or "\\" in path:
                self.into.problems.append(f"{shown}: '{key}' names what is no path in the plugin: {item}")
            else:
                paths.append("" if path == "." else path)
        if len(items) > _MAX_NAMED:
            problem = f"{shown}: '{key}' names more than {_MAX_NAMED} paths: the rest is left out"
            self.into.problems.append(problem)
        return paths


def is_there(tree: Tree, path: str) -> bool:
    """Whether there is a file, be it readable or not."""
    try:
        return tree.read(path) is not None
    except FileUnreadable:
        return True


# -- plugins of clients --------------------------------------------------------------------------------------


def read_client_plugin(
    plugin: PluginCustomization, files: Mapping[str, bytes], client_id: str
) -> Customizations:
    """Read a published plugin from its files. Nothing of it runs on this machine.

    Args:
        plugin: What the client published. Its id, URI, name and switch are kept.
        files: The content of each file, by its path below the plugin's URI.
        client_id: Who published it.
    """
    tree = FetchedTree(files, plugin.uri)
    until = time.thread_time() + MAX_SECONDS
    into = read_plugin(Origin(tree, plugin.id, client_id, trusted=False, plugin=plugin.name, until=until))
    into.problems += [f"{path} leads out of the plugin, so it is not read" for path in tree.refused]
    if has_what_runs(into):
        into.warnings.insert(0, "A client published this plugin: its hooks and MCP servers do not run here")
    fit(into, MAX_SHOWN)
    customization = PluginCustomization(
        id=plugin.id,
        uri=plugin.uri,
        name=plugin.name or into.name or in_one_line(plugin.uri),
        icons=plugin.icons,
        enabled=plugin.enabled,
        client_id=client_id,
        load=load_state(into),
        children=into.children,
    )
    return Customizations([customization], tuple(into.definitions))


class ClientPlugins:
    """Published plugins that were read already. The least used go first. Threads may share it."""

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[str, str, str, str], Customizations] = OrderedDict()
        self._lock = Lock()

    def get(self, client_id: str, plugin: PluginCustomization) -> Customizations | None:
        """What is known of a plugin under its nonce; `None` when its files must be fetched.

        Its switch is as it is published now.
        """
        with self._lock:
            key = _key(client_id, plugin)
            found = self._kept.get(key) if key else None
            if key is None or found is None:
                return None
            self._kept.move_to_end(key)
        known = cast("PluginCustomization", found.containers[0])
        return replace(found, containers=[structs.replace(known, enabled=plugin.enabled)])

    def keep(self, client_id: str, plugin: PluginCustomization, found: Customizations) -> None:
        """Keep what was read of a plugin, when it has a nonce. An older nonce's is dropped."""
        key = _key(client_id, plugin)
        with self._lock:
            for old in [old for old in self._kept if old[:2] == (client_id, plugin.uri)]:
                del self._kept[old]
            if key is not None:
                self._kept[key] = found
            while len(self._kept) > _MAX_KEPT:
                self._kept.popitem(last=False)

    def forget(self, client_id: str) -> None:
        """Drop what a client published."""
        with self._lock:
            for key in [key for key in self._kept if key[0] == client_id]:
                del self._kept[key]


def _key(client_id: str, plugin: PluginCustomization) -> tuple[str, str, str, str] | None:
    nonce = plugin.nonce if isinstance(plugin, ClientPluginCustomization) else None
    return None if nonce is None else (client_id, plugin.uri, plugin.id, nonce)
