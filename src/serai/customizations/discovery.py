"""Discovery: finds the customisations of a working directory and of a person's home."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from serai.ahp.types import Customization, CustomizationType, DirectoryCustomization, PluginCustomization
from serai.ahp.wire import encode
from serai.customizations.agent_files import read_agent_file
from serai.customizations.containers import (
    MAX_SECONDS,
    MAX_SHOWN,
    Contents,
    Customizations,
    Definition,
    Origin,
    fit,
    identity,
    in_one_line,
    load_state,
    noting_problems,
)
from serai.customizations.documents import read_document
from serai.customizations.places import PLACES, PLUGIN_FOLDERS, PLUGIN_REGISTRY, FilePlace, Where
from serai.customizations.plugins import read_plugin
from serai.customizations.servers import members, read_hooks, read_json, read_servers
from serai.customizations.trees import DiskTree, join, matching, real_path
from serai.errors import FileUnreadable
from serai.machine.watch.events import SeenPaths

_MAX_PLUGINS = 200
_RUNS = {CustomizationType.HOOK: "hooks", CustomizationType.MCP_SERVER: "MCP servers"}
_PLURALS = {
    CustomizationType.AGENT: "agents",
    CustomizationType.SKILL: "skills",
    CustomizationType.PROMPT: "prompts",
    CustomizationType.RULE: "rules",
    **_RUNS,
}


def discover(
    directory: Path | None,
    home: Path,
    *,
    trusted: bool,
    may_write: Callable[[Path], bool] = lambda _: False,
    settings: Path | None = None,
    seen: SeenPaths | None = None,
) -> Customizations:
    """Find and read the customisations of a working directory and of a home.

    It reads the disk and may take a while: call it in a thread. It does not raise for broken files: they are
    reported in the load state of their container, and the rest is read.

    Args:
        directory: The working directory, if there is one. Links that lead out of it are not followed.
        home: The person's home, which is trusted. Links in it are followed.
        trusted: The working directory is trusted. Otherwise all of it is listed, its hooks, MCP servers and
            the agents that bring those along are off and locked, and no definition from it is runnable.
        may_write: Tells whether clients may write to a folder, given by its real path. The disk has to allow
            it, too.
        settings: The folder of the person's `serai.toml`, which is as trusted as the home.
        seen: Notes all paths that were read: while they are unchanged, so is the result.
    """
    seen = seen or SeenPaths()
    containers: dict[str, Customization] = {}
    definitions: dict[str, list[Definition]] = {}
    locked: set[str] = set()
    project = None if directory is None else os.path.realpath(directory)
    tree = DiskTree(home, prefix="~/", confined=False, seen=seen)
    scans = [_CustomizationScan(tree, Where.HOME, True, project, may_write, seen)]
    if settings is not None:
        tree = DiskTree(settings, prefix=f"{settings}/", confined=False, seen=seen)
        scans.append(_CustomizationScan(tree, Where.SETTINGS, True, project, may_write, seen))
    if directory is not None:
        tree = DiskTree(directory, seen=seen)
        scans.insert(0, _CustomizationScan(tree, Where.DIRECTORY, trusted, None, may_write, seen))
    for scan in scans:  # a home that is also the working directory counts as home: it comes later
        scan.run()
        containers |= scan.containers
        definitions |= scan.definitions
        locked = (locked - scan.containers.keys()) | scan.locked
    found = (item for items in definitions.values() for item in items)
    return Customizations(list(containers.values()), tuple(found), frozenset(locked))


@dataclass(slots=True)
class _CustomizationScan:
    """A scan of a working directory or a home."""

    tree: DiskTree
    where: Where
    trusted: bool
    project: str | None
    may_write: Callable[[Path], bool]
    seen: SeenPaths
    room: int = MAX_SHOWN
    until: float = 0.0
    containers: dict[str, Customization] = field(default_factory=dict[str, Customization])
    definitions: dict[str, list[Definition]] = field(default_factory=dict[str, "list[Definition]"])
    locked: set[str] = field(default_factory=set[str])

    def run(self) -> None:
        self.until = time.thread_time() + MAX_SECONDS
        groups: dict[tuple[str, str, CustomizationType], list[FilePlace]] = {}
        for place in PLACES:
            if place.where.has(self.where):
                groups.setdefault((place.source, place.folder, place.contents), []).append(place)
        for (source, folder, contents), places in groups.items():
            self._folder(source, folder, contents, places)
        if self.where is not Where.SETTINGS:
            self._plugins("Open Plugins", PLUGIN_FOLDERS, self._plugin_folders)
        if self.where is Where.HOME:
            self._plugins("Claude Code", PLUGIN_REGISTRY, self._registered)

    # -- folders -------------------------------------------------------------------------------------------

    def _folder(self, source: str, folder: str, contents: CustomizationType, places: list[FilePlace]) -> None:
        uri = self.tree.uri(folder)
        container = identity("directory", source, uri, contents)
        origin = Origin(self.tree, container, self.trusted, self.until)
        into = Contents()
        exists = False
        for place in places:
            found = matching(self.tree, folder, place.pattern)
            exists |= found.folders > 0
            into.problems += found.problems
            for path in found.files:
                with noting_problems(origin, path, into):
                    self._read_file(origin, path, place, into)
        writable = self._is_writable(places)
        offered = writable and any(place.offered for place in places)
        if not (exists or offered or into.definitions or into.problems):
            return
        off = not self.trusted and (contents in _RUNS or any(place.is_of_serai for place in places))
        if off:
            self.locked.add(container)
            if into.definitions:
                into.problems.insert(0, _not_trusted(_PLURALS[contents]))
        fit(into, self.room)
        self._add(
            DirectoryCustomization(
                id=container,
                uri=uri,
                name=in_one_line(f"{source} {_PLURALS[contents]} ({self.tree.shown(folder)})"),
                enabled=not off,
                load=load_state(into),
                children=into.children,
                contents=contents.value,
                writable=writable,
            ),
            into.definitions,
        )

    def _read_file(self, origin: Origin, path: str, place: FilePlace, into: Contents) -> None:
        if place.is_of_serai:
            read_agent_file(origin, path, into)
        elif place.contents is CustomizationType.HOOK:
            read_hooks(origin, path, into)
        elif place.contents is CustomizationType.MCP_SERVER:
            is_memory = place.of_projects
            read_servers(origin, path, place.key, into, is_memory=is_memory, project=self.project)
        else:
            read_document(
                origin,
                path,
                place.folder,
                place.contents,
                into,
                always=place.always,
                whole_name=place.is_one_file,
            )

    def _is_writable(self, places: list[FilePlace]) -> bool:
        if all(place.is_one_file for place in places):
            return False
        real = self.tree.real(places[0].folder)
        if real is None or not self.may_write(real):
            return False
        there = next(folder for folder in (real, *real.parents) if os.path.lexists(folder))
        return there.is_dir() and os.access(there, os.W_OK | os.X_OK)

    # -- plugins -------------------------------------------------------------------------------------------

    def _plugins(self, source: str, path: str, read: Callable[[str, list[str]], None]) -> None:
        """Read the plugins of a place. Problems on the way to them get a container of their own."""
        problems: list[str] = []
        try:
            read(path, problems)
        except FileUnreadable as error:
            problems.append(error.message)
        if problems:
            uri = self.tree.uri(path)
            name = in_one_line(f"{source} plugins ({self.tree.shown(path)})")
            load = load_state(Contents(problems=problems))
            container = identity("plugin", source, uri)
            broken = PluginCustomization(
                id=container, uri=uri, name=name, enabled=False, load=load, children=[]
            )
            self._add(broken, [])

    def _plugin_folders(self, path: str, problems: list[str]) -> None:
        entries = [entry for entry in self.tree.list(path) or () if entry.name[0] != "."]
        problems += [entry.problem for entry in entries if entry.problem]
        folders = [entry.name for entry in entries if entry.is_folder]
        for place, name in enumerate(folders):
            if self.room <= 0 or place == _MAX_PLUGINS:
                problems.insert(0, f"{self.tree.shown(path)} has too many plugins: the rest is left out")
                return
            self._plugin(self.tree.below(join(path, name)), enabled=True)

    def _registered(self, path: str, _problems: list[str]) -> None:
        """Read the plugins that Claude Code has installed, switched on or off by its settings."""
        origin = Origin(self.tree, "", trusted=True, until=self.until)
        if (registry := read_json(origin, path)) is None:
            return
        try:
            settings, _ = read_json(origin, ".claude/settings.json") or ({}, "")
        except FileUnreadable:  # the problem is reported with its hooks
            settings = {}
        switches = members(settings.get("enabledPlugins"))
        home = self.tree.root
        for name, folder in _installed(registry[0], self.project):
            shown = f"~/{folder.relative_to(home)}" if folder.is_relative_to(home) else str(folder)
            tree = DiskTree(folder, prefix=f"{shown}/", seen=self.seen)
            self._plugin(tree, enabled=switches.get(name) is True)

    def _plugin(self, tree: DiskTree, *, enabled: bool) -> None:
        uri = tree.uri("")
        container = identity("plugin", uri)
        into = read_plugin(Origin(tree, container, self.trusted, self.until))
        if not (into.manifest or into.definitions or into.problems):
            return
        if not self.trusted and into.has_what_runs:
            into.problems.insert(0, _not_trusted("hooks and MCP servers"))
        fit(into, self.room)
        self._add(
            PluginCustomization(
                id=container,
                uri=uri,
                name=into.name or in_one_line(tree.folder.name),
                enabled=enabled,
                load=load_state(into),
                children=into.children,
            ),
            into.definitions,
        )

    def _add(
        self, container: DirectoryCustomization | PluginCustomization, definitions: list[Definition]
    ) -> None:
        self.containers[container.id] = container
        self.definitions[container.id] = definitions
        self.room -= len(encode(container))


def _installed(registry: dict[str, Any], project: str | None) -> Iterator[tuple[str, Path]]:
    """Yield the plugins that Claude Code has installed for the person, or for this project."""
    for name, entries in list(members(registry.get("plugins")).items())[:_MAX_PLUGINS]:
        chosen: Path | None = None
        for entry in cast("list[Any]", entries) if isinstance(entries, list) else [entries]:
            item = members(entry)
            path, of_project = item.get("installPath"), item.get("projectPath")
            if not isinstance(path, str) or not Path(path).is_absolute() or real_path(path) is None:
                continue
            if not isinstance(of_project, str):
                chosen = chosen or Path(path)
            elif project is not None and real_path(of_project) == project:
                chosen = Path(path)
        if chosen is not None:
            yield name, chosen


def _not_trusted(what: str) -> str:
    return f"The folder is not trusted: its {what} are listed and do not run. 'serai config trust' trusts it"
