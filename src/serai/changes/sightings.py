"""Which file it was that a note saw: one that is recorded, was made since, or was moved there.

A file is known by its number (the *inode*) and the time when it was made, for numbers are given again. What
is at a noted path and is older than a note that saw something else there was elsewhere at that time: nobody
has what it was, and a discard must not take it for an agent's.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeAlias

import msgspec

from serai.changes.moved import BIRTH_IS_ITS_OWN, Moment, made_at

__all__ = ["Sighting", "Sightings", "sighted"]

_OLDER = "it is older than the edit: it may have been moved here"
_UNKNOWN = "it is not known whether it was there before"

_Identity: TypeAlias = tuple[int, int | None]


class Sighting(msgspec.Struct, frozen=True, omit_defaults=True):
    """What the file system says of a file. Times are in nanoseconds."""

    number: int
    written: int
    made: int | None = None
    """When it was made, where the file system tells that."""

    @property
    def identity(self) -> _Identity:
        """What the file is known by, whatever its name and its content."""
        return self.number, self.made


def sighted(place: bytes) -> Sighting | None:
    """What is at a place; `None` when nothing is. A link is not followed. Reads the disk."""
    try:
        found = os.lstat(place)
    except OSError:
        return None
    return Sighting(found.st_ino, found.st_mtime_ns, made_at(place, found))


@dataclass(frozen=True, slots=True)
class _Last:
    """What the last note of a path saw."""

    at: int | None
    """When that was, if it is recorded."""
    identity: _Identity | None
    other_at: int | None = None
    """When a note last saw something else there."""


class Sightings:
    """What the notes of a turn, or of a session, have seen at each path, in their order. Pure."""

    def __init__(self) -> None:
        self._recorded: dict[_Identity, set[str]] = {}
        """The files whose content was recorded at first, with the paths that they had."""
        self._made: set[_Identity] = set()
        """Those that were made since."""
        self._last: dict[str, _Last] = {}
        self._moved: set[str] = set()
        """Where a file was seen that was neither. What came in its place may have been made of it."""

    def note(self, path: str, at: int | None, seen: Sighting | None, *, is_recorded: bool) -> None:
        """Take up what a note saw.

        Args:
            path: Where.
            at: When, if it is known.
            seen: What was there; `None` for no file.
            is_recorded: Whether its content is what a discard brings back, if it is the first at that path.
        """
        last = self._last.get(path)
        identity = seen.identity if seen is not None else None
        if seen is None:
            self._moved.discard(path)
        elif last is not None:
            self._judge(path, seen)
        elif is_recorded:
            self._recorded.setdefault(seen.identity, set()).add(path)
        self._last[path] = _Last(at, identity, _other_at(last, identity))

    def _judge(self, path: str, seen: Sighting) -> None:
        match self._is_older(path, seen):
            case True:
                self._moved.add(path)
            case False:
                self._made.add(seen.identity)
            case None:
                pass

    def doubt(self, path: str, seen: Sighting, *, is_new: bool) -> str | None:
        """Why a file must not be replaced or deleted; `None` when it is recorded, or was made since.

        Args:
            path: Where it is.
            seen: What it is.
            is_new: Whether nothing was there before. What cannot be told is then a doubt as well.
        """
        if path in self._moved:
            return _OLDER
        is_older = self._is_older(path, seen)
        if is_older is None:
            return _UNKNOWN if is_new else None
        return _OLDER if is_older else None

    def names(self, seen: Sighting) -> frozenset[str]:
        """The paths where a file was recorded at first; none for one that was made since."""
        return frozenset(self._recorded.get(seen.identity, ()))

    def _is_older(self, path: str, seen: Sighting) -> bool | None:
        """Whether a file that is not ours was elsewhere when a note saw something else there, if known."""
        if seen.identity in self._made or seen.identity in self._recorded:
            return False
        at = _other_at(self._last.get(path), seen.identity)
        if at is None:
            return None
        moment = Moment(at)
        made = seen.made if BIRTH_IS_ITS_OWN else None
        return moment.is_after(seen.written) or (made is not None and moment.is_after(made))


def _other_at(last: _Last | None, identity: _Identity | None) -> int | None:
    """When a note last saw something else than a file."""
    if last is None:
        return None
    return last.other_at if identity == last.identity else last.at
