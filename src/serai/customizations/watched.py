"""Which folders to watch, so that a change to a customisation is seen."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from serai.customizations.places import PLACES, PLUGINS, PluginLayout, Where
from serai.customizations.trees import DiskTree

__all__ = ["Watched", "watched"]


class Watched(NamedTuple):
    """A folder to watch.

    With `recursive`, all in it counts. Otherwise only what it holds itself, and of that only `names`: a home
    is full of files that change and are none of ours.
    """

    path: Path
    recursive: bool
    names: frozenset[str]

    def concerns(self, changed: Path) -> bool:
        """Whether a change at a path may change what is discovered."""
        if self.recursive:
            return changed == self.path or self.path in changed.parents
        return changed.parent == self.path and changed.name in self.names


def watched(directory: Path | None, home: Path) -> list[Watched]:
    """The folders to watch for a working directory and a home. All of them exist at the time of asking.

    For a place that is not there yet, they are the folders above it: ask again after a change, since more may
    be there to watch. A place that a link leads to is watched where it really is; one that leads out of the
    working directory is not.
    """
    recursive: set[Path] = set()
    flat: dict[Path, set[str]] = {}
    for root, where, confined in ((directory, Where.DIRECTORY, True), (home, Where.HOME, False)):
        if root is None:
            continue
        tree = DiskTree(root, confined=confined)
        for path, deep in _places(where):
            _watch(tree, path, deep=deep, recursive=recursive, flat=flat)
    deep_ones = [Watched(path, recursive=True, names=frozenset()) for path in sorted(recursive)]
    flat_ones = [
        Watched(path, recursive=False, names=frozenset(names))
        for path, names in sorted(flat.items())
        if not any(path == folder or folder in path.parents for folder in recursive)
    ]
    return [*deep_ones, *flat_ones]


def _places(where: Where) -> list[tuple[str, bool]]:
    """The paths of the table, and whether all below them counts."""
    paths = [
        (f"{place.folder}/{place.pattern}".lstrip("/"), False) if place.is_one_file else (place.folder, True)
        for place in PLACES
        if place.where in {where, Where.BOTH}
    ]
    paths += [
        (plugin.path, plugin.layout is PluginLayout.FOLDERS)
        for plugin in PLUGINS
        if plugin.where in {where, Where.BOTH}
    ]
    return paths


def _watch(
    tree: DiskTree, path: str, *, deep: bool, recursive: set[Path], flat: dict[Path, set[str]]
) -> None:
    """Watch a path, and all that it stands in: a folder may come, go, or be made a link."""
    parts = path.split("/")
    for depth in range(len(parts) + 1):
        here = "/".join(parts[:depth])
        real = tree.real(here)
        if real is None or not real.is_dir():
            continue
        if depth < len(parts):
            flat.setdefault(real, set()).add(parts[depth])
        elif deep:
            recursive.add(real)
