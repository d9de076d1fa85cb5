"""Finding customisations in a working directory and in a person's home."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from serai.ahp.types import (
    Customization,
    CustomizationType,
    DirectoryCustomization,
    PluginCustomization,
)
from serai.ahp.wire import encode
from serai.customizations.containers import (
    MAX_SECONDS,
    MAX_SHOWN,
    Contents,
    Origin,
    fit,
    identity,
    in_one_line,
    kept_apart,
    load_state,
)
from serai.customizations.definitions import Definition
from serai.customizations.documents import read_document
from serai.customizations.found import Found
from serai.customizations.manifests import read_hooks, read_json, read_servers, read_servers_of_project
from serai.customizations.places import PLACES, PLUGINS, Format, Place, PluginLayout, PluginPlace, Where
from serai.customizations.plugins import has_what_runs, read_plugin
from serai.customizations.trees import DiskTree, real_path
from serai.customizations.walking import join, matching
from serai.errors import FileUnreadable

__all__ = ["discover"]

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
) -> Found:
    """Find and read the customisations of a working directory and of a home.

    It reads the disk and may take a while: call it in a thread. It never raises for what it finds: what is
    broken is told in its container's load state, and the rest is read.

    Args:
        directory: The working directory, when there is one. No link out of it is followed.
        home: The person's home, which is trusted. Links in it are followed.
        trusted: Whether the working directory is trusted. If not, all of it is listed, its hooks and MCP
            servers are off and locked, and no definition from it is runnable.
        may_write: Whether clients may write to a folder, apart from whether the disk allows it. It is asked
            with the folder's real path.
    """
    finding = _Finding(may_write)
    if directory is not None:
        finding.look(DiskTree(directory), Where.DIRECTORY, trusted=trusted, project=None)
    finding.look(
        DiskTree(home, prefix="~/", confined=False),
        Where.HOME,
        trusted=True,
        project=None if directory is None else os.path.realpath(directory),
    )
    return finding.found()


class _Finding:
    def __init__(self, may_write: Callable[[Path], bool]) -> None:
        self._may_write = may_write
        self._containers: dict[str, Customization] = {}
        self._definitions: dict[str, list[Definition]] = {}
        self._locked: set[str] = set()
        self._room = MAX_SHOWN
        self._project: str | None = None
        self._until = 0.0

    def found(self) -> Found:
        definitions = (item for items in self._definitions.values() for item in items)
        return Found(list(self._containers.values()), tuple(definitions), frozenset(self._locked))

    def look(self, tree: DiskTree, where: Where, *, trusted: bool, project: str | None) -> None:
        self._room, self._project = MAX_SHOWN, project
        self._until = time.thread_time() + MAX_SECONDS
        groups: dict[tuple[str, str, CustomizationType], list[Place]] = {}
        for place in PLACES:
            if place.where in {where, Where.BOTH}:
                groups.setdefault((place.source, place.folder, place.contents), []).append(place)
        for (source, folder, contents), places in groups.items():
            self._folder(tree, source, folder, contents, places, trusted=trusted)
        for row in PLUGINS:
            if row.where in {where, Where.BOTH}:
                self._plugins(tree, row, trusted=trusted, project=project)

    # -- folders -------------------------------------------------------------------------------------------

    def _folder(
        self,
        tree: DiskTree,
        source: str,
        folder: str,
        contents: CustomizationType,
        places: list[Place],
        *,
        trusted: bool,
    ) -> None:
        uri = tree.uri(folder)
        container = identity("directory", source, uri, contents)
        origin = Origin(tree, container, source, trusted, until=self._until)
        into = Contents()
        exists = False
        for place in places:
            exists |= _read_place(origin, place, self._project, into)
        writable = self._is_writable(tree, places)
        offered = writable and any(place.offered for place in places)
        if not (exists or offered or into.children or into.problems):
            return
        off = not trusted and contents in _RUNS
        if off and into.children:
            into.warnings.insert(0, _not_trusted(_RUNS[contents]))
        if off:
            self._locked.add(container)
        fit(into, self._room)
        self._add(
            DirectoryCustomization(
                id=container,
                uri=uri,
                name=in_one_line(f"{source} {_PLURALS[contents]} ({tree.shown(folder)})"),
                enabled=not off,
                load=load_state(into),
                children=into.children,
                contents=contents.value,
                writable=writable,
            ),
            into.definitions,
        )

    def _is_writable(self, tree: DiskTree, places: list[Place]) -> bool:
        if all(place.is_one_file for place in places):
            return False
        real = tree.real(places[0].folder)
        if real is None or not self._may_write(real):
            return False
        there = next(folder for folder in (real, *real.parents) if os.path.lexists(folder))
        return there.is_dir() and os.access(there, os.W_OK | os.X_OK)

    # -- plugins -------------------------------------------------------------------------------------------

    def _plugins(self, tree: DiskTree, row: PluginPlace, *, trusted: bool, project: str | None) -> None:
        match row.layout:
            case PluginLayout.FOLDERS:
                self._plugin_folders(tree, row, trusted=trusted)
            case PluginLayout.ITSELF:
                if _is_readable(tree, row.path):
                    self._plugin(tree, row.source, trusted=trusted, enabled=False)
            case PluginLayout.REGISTRY:
                self._registered(tree, row, project)

    def _plugin_folders(self, tree: DiskTree, row: PluginPlace, *, trusted: bool) -> None:
        try:
            listing = tree.list(row.path)
        except FileUnreadable as error:
            self._broken_place(tree, row, [error.message])
            return
        entries = [entry for entry in listing.entries if entry.name[0] != "."] if listing else []
        folders = [entry.name for entry in entries if entry.is_folder]
        problems = [entry.problem for entry in entries if entry.problem]
        for name in folders[:_MAX_PLUGINS]:
            if self._room <= 0:
                problems.insert(0, f"{tree.shown(row.path)} has too many plugins: the rest is left out")
                break
            self._plugin(tree.below(join(row.path, name)), row.source, trusted=trusted, enabled=True)
        if len(folders) > _MAX_PLUGINS:
            problems.append(
                f"{tree.shown(row.path)} has more than {_MAX_PLUGINS} plugins: the rest is left out"
            )
        if problems:
            self._broken_place(tree, row, problems)

    def _registered(self, tree: DiskTree, row: PluginPlace, project: str | None) -> None:
        origin = Origin(tree, "", row.source, trusted=True, until=self._until)
        try:
            registry = read_json(origin, row.path)
        except FileUnreadable as error:
            self._broken_place(tree, row, [error.message])
            return
        if registry is None:
            return
        switches = _switches(origin)
        for name, folder in _installed(registry[0], project):
            shown = f"~/{folder.relative_to(tree.root)}" if folder.is_relative_to(tree.root) else str(folder)
            plugin = DiskTree(folder, prefix=f"{shown}/")
            self._plugin(plugin, row.source, trusted=True, enabled=switches.get(name) is True)

    def _broken_place(self, tree: DiskTree, row: PluginPlace, problems: list[str]) -> None:
        """Plugins that were not read have no container of their own to tell it, so the place gets one."""
        uri = tree.uri(row.path)
        container = identity("plugin", row.source, uri)
        load = load_state(Contents(problems=problems))
        plugin = PluginCustomization(
            id=container,
            uri=uri,
            name=in_one_line(f"{row.source} plugins ({tree.shown(row.path)})"),
            enabled=False,
            load=load,
            children=[],
        )
        self._add(plugin, [])

    def _plugin(self, tree: DiskTree, source: str, *, trusted: bool, enabled: bool) -> None:
        uri = tree.uri("")
        container = identity("plugin", uri)
        name = in_one_line(tree.root.name)
        into = read_plugin(Origin(tree, container, source, trusted, plugin=name, until=self._until))
        if not (into.manifest or into.children or into.problems):
            return
        if not trusted and has_what_runs(into):
            into.warnings.insert(0, _not_trusted("hooks and MCP servers"))
        fit(into, self._room)
        self._add(
            PluginCustomization(
                id=container,
                uri=uri,
                name=into.name or name,
                enabled=enabled,
                load=load_state(into),
                children=into.children,
            ),
            into.definitions,
        )

    def _add(
        self, container: DirectoryCustomization | PluginCustomization, definitions: list[Definition]
    ) -> None:
        """Add a container. A home that is also the working directory counts as home: it comes later."""
        self._containers[container.id] = container
        self._room -= len(encode(container))
        self._definitions[container.id] = definitions
        if container.enabled:
            self._locked.discard(container.id)


def _read_place(origin: Origin, place: Place, project: str | None, into: Contents) -> bool:
    """Read the files of a row. Returns whether its folder is there, when the row is about a folder."""
    found = matching(origin.tree, place.folder, place.pattern)
    into.problems += found.problems
    for path in found.files:
        with kept_apart(origin, path, into):
            _read_file(origin, path, place, project, into)
    return found.exists


def _read_file(origin: Origin, path: str, place: Place, project: str | None, into: Contents) -> None:
    match place.format:
        case Format.HOOKS:
            read_hooks(origin, path, into)
        case Format.SERVERS if place.of_projects:
            read_servers_of_project(origin, path, place.key, project, into)
        case Format.SERVERS:
            read_servers(origin, path, place.key, into)
        case Format.MARKDOWN | Format.TOML:
            read_document(
                origin,
                path,
                place.folder,
                place.contents,
                into,
                always=place.always,
                whole_name=place.is_one_file,
            )


def _installed(registry: dict[str, Any], project: str | None) -> Iterator[tuple[str, Path]]:
    """The plugins that Claude Code has installed for the person, or for this project."""
    for name, entries in list(_object(registry.get("plugins")).items())[:_MAX_PLUGINS]:
        chosen: Path | None = None
        for entry in cast("list[Any]", entries) if isinstance(entries, list) else [entries]:
            item = _object(entry)
            path, of_project = item.get("installPath"), item.get("projectPath")
            if not isinstance(path, str) or not Path(path).is_absolute() or real_path(path) is None:
                continue
            if not isinstance(of_project, str):
                chosen = chosen or Path(path)
            elif project is not None and real_path(of_project) == project:
                chosen = Path(path)
        if chosen is not None:
            yield name, chosen


def _switches(origin: Origin) -> dict[str, Any]:
    """Which plugins Claude Code has switched on. Broken settings are told of where their hooks are."""
    try:
        settings = read_json(origin, ".claude/settings.json")
    except FileUnreadable:
        return {}
    return _object(settings[0].get("enabledPlugins")) if settings else {}


def _object(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _is_readable(tree: DiskTree, path: str) -> bool:
    try:
        return tree.read(path) is not None
    except FileUnreadable:
        return True


def _not_trusted(what: str) -> str:
    return f"The folder is not trusted: its {what} are listed and do not run. 'serai config trust' trusts it"
