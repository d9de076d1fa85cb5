"""Where a directory is, as the file system tells it: what it was opened as may be another one by now."""

from __future__ import annotations

import hashlib
import os
import stat
from pathlib import Path
from typing import NamedTuple

from serai.changes.moved import made_at

__all__ = ["Spot", "Whereabouts", "may_be_tracked", "whereabouts"]


class Spot(NamedTuple):
    """A folder by its path and by what is there: another one may come to the same path.

    All of it stays when the machine starts again, other than the number of a device.
    """

    path: str
    number: int | None
    """Which one it is; `None` when nothing is there. File systems give the number of a deleted one anew."""
    made: int | None
    """When it was made, in nanoseconds, if the file system tells. A file that leads elsewhere (`.git` may be
    one) is another one when it is written."""


class Whereabouts(NamedTuple):
    """Where a directory is."""

    place: Spot
    """The directory itself, without any link."""
    root: Spot | None
    """The nearest folder above, or itself, that looks like the root of a work tree; with what says so."""

    def digest(self, *, has_git: bool) -> str:
        """Stands for where it is, and in which repository, if that matters."""
        known = (self.place, self.root if has_git else None)
        return hashlib.sha256(repr(known).encode("utf-8", "surrogateescape")).hexdigest()


def whereabouts(directory: str) -> Whereabouts:
    """Where a directory is. Looks only for what every work tree has; reads the disk."""
    place = os.path.realpath(directory)
    spots = (_spot(str(folder), folder / ".git") for folder in (Path(place), *Path(place).parents))
    return Whereabouts(_spot(place, Path(place)), next((spot for spot in spots if spot.number), None))


def _spot(path: str, there: Path) -> Spot:
    try:
        found = there.lstat()
    except (OSError, ValueError):
        return Spot(path, None, None)
    made = found.st_mtime_ns if stat.S_ISREG(found.st_mode) else made_at(os.fsencode(there), found)
    return Spot(path, found.st_ino, made)


def may_be_tracked(directory: str) -> bool:
    """Whether a directory may be in a repository. Only looks for what every work tree has; reads the disk."""
    return whereabouts(directory).root is not None
