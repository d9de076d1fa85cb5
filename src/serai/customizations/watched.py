"""Which folders to watch, so that a change to a customisation is seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from serai.customizations.places import PLACES, PLUGINS, PluginLayout, Where
from serai.customizations.trees import DiskTree


@dataclass(frozen=True, slots=True)
class Watched:
    """What to watch. All of these folders exist at the time of asking, and no path has links in it.

    Attributes:
        deep: Folders in which everything counts, each with a `/` at its end.
        flat: Folders of which only some names count: a home is full of files that are none of ours.
    """

    deep: frozenset[str] = frozenset()
    flat: Mapping[str, frozenset[str]] = field(default_factory=dict[str, frozenset[str]])

    @property
    def roots(self) -> list[str]:
        """The folders that no other one contains."""
        roots: list[str] = []
        for path in sorted({*self.flat, *(folder.rstrip("/") or "/" for folder in self.deep)}):
            if not any(f"{path}/".startswith(f"{root.rstrip('/')}/") for root in roots):
                roots.append(path)
        return roots

    def concerns(self, path: str) -> bool:
        """Whether a change at a path may change what is discovered."""
        folder, _, name = path.rpartition("/")
        return name in self.flat.get(folder or "/", ()) or f"{path}/".startswith(tuple(self.deep))

    def prunes(self, folder: str) -> bool:
        """Whether nothing in a folder is to be heard of: it is none of these, and on the way to none."""
        below = f"{folder}/"
        is_on_the_way = any(f"{path}/".startswith(below) for path in (*self.flat, *self.deep))
        return not is_on_the_way and not self.concerns(folder)


def watched(directory: Path | None, home: Path, settings: Path | None = None) -> Watched:
    """What to watch for a working directory, a home and the folder of the person's `serai.toml`.

    For a place that is not there yet, it is the folders above it: ask again after a change, since more may be
    there to watch. A place that a link leads to is watched where it really is; one that leads out of the
    working directory is not. The folder of the settings is not watched itself: it may be the host's own,
    where each write would wake it. So a place in it counts once it is there.
    """
    deep: set[str] = set()
    flat: dict[str, set[str]] = {}
    for root, where in ((directory, Where.DIRECTORY), (home, Where.HOME), (settings, Where.SETTINGS)):
        if root is None:
            continue
        tree = DiskTree(root, confined=where is Where.DIRECTORY)
        for path, is_deep in _places(where):
            parts = path.split("/")
            for depth in range(len(parts) + 1):  # all that it stands in may come, go, or be made a link
                real = tree.real("/".join(parts[:depth]))
                if real is None or not real.is_dir():
                    continue
                if depth < len(parts):
                    if where is not Where.SETTINGS:
                        flat.setdefault(str(real), set()).add(parts[depth])
                elif is_deep:
                    deep.add(f"{str(real).rstrip('/')}/")
    return Watched(frozenset(deep), {path: frozenset(names) for path, names in flat.items()})


def _places(where: Where) -> list[tuple[str, bool]]:
    """The paths of the table, and whether all below them counts."""
    paths = [
        (f"{place.folder}/{place.pattern}".lstrip("/"), False) if place.is_one_file else (place.folder, True)
        for place in PLACES
        if place.where.has(where)
    ]
    paths += [
        (plugin.path, plugin.layout is PluginLayout.FOLDERS) for plugin in PLUGINS if plugin.where.has(where)
    ]
    return paths
