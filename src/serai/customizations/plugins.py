"""Reads plugins: folders with agents, skills, rules, hooks and MCP servers, and perhaps a manifest.

The default places are those of Open Plugins, which Claude Code and Agent Plugins share. Paths in a manifest
are read in addition to them. They must stay within the plugin. A plugin that a client publishes is read from
the files that were fetched from it, and kept by its nonce.
"""

from __future__ import annotations

import posixpath
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from msgspec import structs

from serai.ahp.types import (
    ClientPluginCustomization,
    CustomizationLoadState,
    CustomizationType,
    HookCustomization,
    McpServerCustomization,
    PluginCustomization,
)
from serai.customizations.containers import (
    MAX_SECONDS,
    MAX_SHOWN,
    Contents,
    Customizations,
    Origin,
    fit,
    in_one_line,
    load_state,
    noting_problems,
)
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

# AHP counts the commands of a plugin among its skills.
_TEXTS: tuple[tuple[str, CustomizationType, str], ...] = (
    ("agents", CustomizationType.AGENT, "**/*.md"),
    ("skills", CustomizationType.SKILL, "*/SKILL.md"),
    ("commands", CustomizationType.SKILL, "**/*.md"),
    ("rules", CustomizationType.RULE, "**/*.mdc"),
    ("rules", CustomizationType.RULE, "**/*.md"),
)
_MAX_KEPT = 64
"""Most published plugins that are kept."""
_HOOK_FILES = ("hooks/hooks.json", "hooks.json")
_SERVER_FILES = (".mcp.json", "mcp.json")


@dataclass(slots=True)
class PluginContents(Contents):
    """The contents of a plugin, and its manifest."""

    name: str | None = None
    manifest: str | None = None
    """Path of the manifest, if there is one."""
    seen: set[str] = field(default_factory=set[str])

    @property
    def has_what_runs(self) -> bool:
        """True when there are hooks or MCP servers among the contents."""
        return any(isinstance(item, HookCustomization | McpServerCustomization) for item in self.children)


def read_plugin(origin: Origin) -> PluginContents:
    """Read a plugin. It never raises: broken files are noted as problems, and the rest is read."""
    into = PluginContents()
    manifest: dict[str, Any] = {}
    text = ""
    with noting_problems(origin, "", into):
        into.manifest = next((path for path in MANIFESTS if is_there(origin.tree, path)), None)
        if into.manifest and (found := read_json(origin, into.manifest)):
            manifest, text = found
    name = manifest.get("name")
    into.name = (in_one_line(name) or None) if isinstance(name, str) else None
    reading = _PluginReading(origin, manifest, into)
    for key, contents, pattern in _TEXTS:
        reading.folder(key, contents, pattern)
        for path in reading.listed(key):
            reading.named(path, contents, pattern)
    for path in [*_HOOK_FILES, *reading.listed("hooks")]:
        reading.once(path, lambda path: read_hooks(origin, path, into))
    for path in [*_SERVER_FILES, *reading.listed("mcpServers")]:
        reading.once(path, lambda path: read_servers(origin, path, "mcpServers", into, bare=True))
    if into.manifest:
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
        """Read a file, unless it was read already."""
        if path not in self.into.seen:
            self.into.seen.add(path)
            with noting_problems(self.origin, path, self.into):
                read(path)

    def document(self, path: str, folder: str, contents: CustomizationType) -> None:
        self.once(path, lambda path: read_document(self.origin, path, folder, contents, self.into))

    def folder(self, folder: str, contents: CustomizationType, pattern: str) -> None:
        found = matching(self.origin.tree, folder, pattern)
        self.into.problems += found.problems
        for path in found.files:
            self.document(path, folder, contents)

    def named(self, path: str, contents: CustomizationType, pattern: str) -> None:
        """Read a path in a manifest: a file, the folder of a skill, or a folder of the usual form."""
        own = join(path, "SKILL.md")
        if path.endswith((".md", ".mdc")):
            self.document(path, posixpath.dirname(path), contents)
        elif pattern.endswith("SKILL.md") and is_there(self.origin.tree, own):
            self.document(own, path, contents)
        else:
            self.folder(path, contents, pattern)

    def listed(self, key: str) -> list[str]:
        """Return the paths that a manifest names, as paths within the plugin."""
        value = self.manifest.get(key)
        items = cast("list[Any]", [value] if isinstance(value, str) else value)
        if not isinstance(items, list):  # pyright: ignore[reportUnnecessaryIsInstance] - a stranger wrote it
            return []
        shown = self.origin.tree.shown(self.into.manifest or "")
        paths: list[str] = []
        for item in items:
            path = posixpath.normpath(item) if isinstance(item, str) else "/"
            if path.startswith(("/", "..")) or "\\" in path:
                self.into.problems.append(f"{shown}: '{key}' has a path outside of the plugin: {item}")
            else:
                paths.append("" if path == "." else path)
        return paths


def is_there(tree: Tree, path: str) -> bool:
    """Tell whether there is a file, be it readable or not."""
    try:
        return tree.read(path) is not None
    except FileUnreadable:
        return True


# -- plugins of clients --------------------------------------------------------------------------------------


def read_client_plugin(
    plugin: PluginCustomization, files: Mapping[str, bytes], client_id: str, missing: Sequence[str] = ()
) -> Customizations:
    """Read a published plugin from its files. Nothing of it runs on this machine.

    Args:
        plugin: The plugin as the client published it. Its id, URI, name and switch are kept.
        files: The content of each file, by its path below the plugin's URI.
        client_id: The client.
        missing: Sentences about files that could not be fetched.
    """
    tree = FetchedTree(files, plugin.uri)
    into = read_plugin(Origin(tree, plugin.id, trusted=False, until=time.thread_time() + MAX_SECONDS))
    into.problems += missing
    if into.has_what_runs:
        into.problems.insert(0, "A client published this plugin: its hooks and MCP servers do not run here")
    fit(into, MAX_SHOWN)
    known = published(plugin, client_id, load_state(into))
    named = plugin.name or into.name or in_one_line(plugin.uri)
    customization = structs.replace(known, name=named, children=into.children)
    return Customizations([customization], tuple(into.definitions))


def published(
    plugin: PluginCustomization, client_id: str, load: CustomizationLoadState
) -> PluginCustomization:
    """Return a plugin as a client has published it, with a load state."""
    return PluginCustomization(
        id=plugin.id,
        uri=plugin.uri,
        name=plugin.name,
        icons=plugin.icons,
        enabled=plugin.enabled,
        client_id=client_id,
        load=load,
    )


class ClientPlugins:
    """Published plugins that were read already, each with its last nonce. The oldest are dropped first."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, str], tuple[str, str, Customizations]] = {}

    def get(self, client_id: str, plugin: ClientPluginCustomization) -> Customizations | None:
        """Return a plugin with its nonce; `None` when its files must be fetched.

        Its switch is as it is published now.
        """
        plugin_id, nonce, found = self._kept.get((client_id, plugin.uri), (None, None, None))
        if found is None or (plugin.id, plugin.nonce) != (plugin_id, nonce):
            return None
        known = cast("PluginCustomization", found.containers[0])
        return replace(found, containers=[structs.replace(known, enabled=plugin.enabled)])

    def keep(self, client_id: str, plugin: ClientPluginCustomization, found: Customizations) -> None:
        """Keep the contents of a plugin, if it has a nonce."""
        self._kept.pop((client_id, plugin.uri), None)
        if plugin.nonce is not None:
            self._kept[client_id, plugin.uri] = (plugin.id, plugin.nonce, found)
        if len(self._kept) > _MAX_KEPT:
            del self._kept[next(iter(self._kept))]
