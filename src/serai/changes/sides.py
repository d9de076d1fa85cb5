"""Where it is kept what is recorded of a session: a private side for each place where its directory was.

A directory may be a link that leads elsewhere one day, and may become a repository of its own, or part of
another one. What was recorded in one place cannot be compared with what there is in another: all files in it
are others. It can be looked at, though (`elsewhere`), and is taken up again when the directory is back.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path

from serai.changes.mirror import prefix_of
from serai.changes.repository import Repository
from serai.changes.snapshots import LOG, place_of
from serai.errors import GitFailed

__all__ = ["Others", "note_top", "noted_side", "other_sides", "tracked_side"]

_GIT, _NOTED = "git", "noted"
"""What is kept in the private folder of a session: by these names for the first place where it is."""
_TOP = "top"
"""The file of a private side that has the root of its work tree."""


@dataclass(frozen=True, slots=True)
class Others:
    """The private sides for other places, as far as anything was recorded there."""

    tracked: tuple[Path, ...] = ()
    noted: tuple[Path, ...] = ()

    def __bool__(self) -> bool:
        """Whether there are any."""
        return bool(self.tracked or self.noted)


def tracked_side(folder: Path, repository: Repository) -> Path:
    """Where the private side is kept for a directory in a repository. Reads the disk."""
    first = folder / _GIT
    prefix = prefix_of(first)
    if prefix is None or (prefix == repository.prefix and _top_of(first) in {None, repository.top}):
        return first
    return _further(first, f"{repository.top}\0{repository.prefix}")


def noted_side(folder: Path, place: str) -> Path:
    """Where the notes are kept of a directory that is at a place. Reads the disk."""
    first = folder / _NOTED
    return first if place_of(first) in {None, place} else _further(first, place)


def _further(first: Path, place: str) -> Path:
    return first.with_name(f"{first.name}-{hashlib.sha256(os.fsencode(place)).hexdigest()[:12]}")


def other_sides(folder: Path, noted: Path, tracked: Path | None) -> Others:
    """The private sides of a session but those for the place where it is. Reads the disk."""
    sides = sorted({*folder.glob(f"{_GIT}*")} - {tracked})
    notes = sorted({*folder.glob(f"{_NOTED}*")} - {noted})
    return Others(
        tuple(side for side in sides if prefix_of(side) is not None),
        tuple(side for side in notes if (side / LOG).exists()),
    )


def note_top(side: Path, repository: Repository) -> None:
    """Have a private side say which work tree it is of.

    Raises:
        GitFailed: It cannot be written.
    """
    if _top_of(side) == repository.top:
        return
    try:
        (side / _TOP).write_bytes(os.fsencode(repository.top))
    except OSError as error:
        raise GitFailed(f"the private folder of the changes cannot be made: {error.strerror}") from None


def _top_of(side: Path) -> str | None:
    try:
        return os.fsdecode((side / _TOP).read_bytes())
    except OSError:
        return None
