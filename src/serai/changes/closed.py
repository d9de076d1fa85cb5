"""The host's own folder, which may be in a working directory: nothing in it is a change, or is touched.

It is recognised by what it is, not only by its name: a folder has an identity, whatever way leads to it. git
knows names alone, so it is told them.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TypeAlias

__all__ = ["Closed", "Identity", "identity"]

Identity: TypeAlias = tuple[int, int]
"""Tells a file or folder from all others of this machine."""

_MAX_LINKS = 40
"""So many links are followed on one way, as the kernel does."""


class Closed:
    """A folder with all that is in it, and the links that lead to it. All methods read the disk.

    Args:
        folder: Its path, absolute, as whoever chose it named it. It need not be there yet.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = os.fspath(folder)

    def identities(self) -> frozenset[Identity]:
        """What may be neither entered, nor replaced, nor taken away."""
        found = (identity(place) for place in _places(self._folder))
        return frozenset(one for one in found if one is not None)

    def names_below(self, directory: str) -> tuple[str, ...]:
        """The paths, from a directory, of the folder and of the links that lead to it, if they are there."""
        found = (_path_from(directory, place) for place in _places(self._folder))
        return tuple(sorted({path for path in found if path is not None}))

    def surrounds(self, directory: str) -> bool:
        """Whether a directory is the folder, or in it."""
        own = identity(os.path.realpath(self._folder))
        return own is not None and any(identity(place) == own for place in _upwards(directory))

    def among(self, directory: str, paths: Iterable[str]) -> frozenset[str]:
        """Which paths from a directory are the folder or in it, or a link that leads to it."""
        own = self.identities()
        known: dict[str, bool] = {"": False}

        def is_closed(path: str) -> bool:
            if path not in known:
                known[path] = is_closed(path.rpartition("/")[0]) or identity(f"{directory}/{path}") in own
            return known[path]

        return frozenset(path for path in paths if is_closed(path))


def identity(place: str | int) -> Identity | None:
    """What is at a place, or behind a handle; a link is not followed. `None` when nothing is there."""
    try:
        found = os.fstat(place) if isinstance(place, int) else os.lstat(place)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _places(path: str) -> Iterator[str]:
    """Where the links on a way are, and where it ends; each by a path without links."""
    names = path.split("/")[::-1]
    here, links = "", 0
    while names:
        name = names.pop()
        if name == "..":
            here = here.rpartition("/")[0]
        if name in {"", ".", ".."}:
            continue
        place = f"{here}/{name}"
        target = _target(place) if links < _MAX_LINKS else None
        if target is None:
            here = place
            continue
        yield place
        links += 1
        here = "" if target.startswith("/") else here
        names += target.split("/")[::-1]
    yield here or "/"


def _target(place: str) -> str | None:
    try:
        return os.readlink(place)  # noqa: PTH115 - text, not a Path
    except OSError:
        return None


def _upwards(directory: str) -> Iterator[str]:
    place = os.path.realpath(directory)
    while True:
        yield place
        above = os.path.dirname(place)  # noqa: PTH120 - text, not a Path
        if above == place:
            return
        place = above


def _path_from(directory: str, place: str) -> str | None:
    """The path from a directory to a place without links; `None` when that is not below it."""
    start = identity(os.path.realpath(directory))
    names: list[str] = []
    while place != "/" and place:
        place, _, name = place.rpartition("/")
        names.insert(0, name)
        if start is not None and identity(place or "/") == start:
            return "/".join(names)
    return None
