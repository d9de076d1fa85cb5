"""Where a directory is, as the file system tells it: what it was opened as may be another one by now."""

from __future__ import annotations

import os
from pathlib import Path
from typing import NamedTuple

from serai.changes.closed import Identity, identity

__all__ = ["Spot", "Whereabouts", "may_be_tracked", "whereabouts"]


class Spot(NamedTuple):
    """A folder by its path and by what it is: another one may come to the same path."""

    path: str
    identity: Identity | None
    """For as long as the machine runs; file systems may be numbered anew when it starts."""


class Whereabouts(NamedTuple):
    """Where a directory is."""

    place: Spot
    """The directory itself, without any link."""
    root: Spot | None
    """The nearest folder above, or itself, that looks like the root of a work tree; with what says so."""


def whereabouts(directory: str) -> Whereabouts:
    """Where a directory is. Looks only for what every work tree has; reads the disk."""
    place = os.path.realpath(directory)
    root = None
    for folder in (Path(place), *Path(place).parents):
        found = identity(str(folder / ".git"))
        if found is not None:
            root = Spot(str(folder), found)
            break
    return Whereabouts(Spot(place, identity(place)), root)


def may_be_tracked(directory: str) -> bool:
    """Whether a directory may be in a repository. Only looks for what every work tree has; reads the disk."""
    return whereabouts(directory).root is not None
