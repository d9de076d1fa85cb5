"""What a change is. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

from serai.errors import SeraiError

__all__ = [
    "LINK_MODE",
    "UNSEEN",
    "Change",
    "ChangeKind",
    "Changes",
    "LeftOut",
    "LeftOutReason",
    "Limits",
    "Outcome",
    "Side",
    "kind_of",
    "shown",
    "told",
]

LINK_MODE = 0o120000
"""The mode of a symbolic link, in git's words."""


class ChangeKind(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class Side:
    """A file as it was, or as it is.

    Paths are relative to the working directory. They are text as `os.fsdecode` makes it, so that a name of
    any bytes comes back the same.
    """

    path: str
    content: str
    """The id of its content: of a git blob, or the digest of what was kept."""
    mode: int = 0o100644
    permissions: int | None = field(default=None, compare=False)
    """Who might read, write and execute it, where that is known. git has no word for it."""

    def for_its_owner(self) -> Side:
        """The same, for nobody but its owner: nobody knows who was to read it."""
        return replace(self, permissions=0o700 if self.mode & 0o111 else 0o600)


@dataclass(frozen=True, slots=True)
class Change:
    """One file that changed. Without `before` it is new; without `after` it is gone."""

    before: Side | None
    after: Side | None
    added: int | None = None
    """How many lines were added; `None` for what is not text."""
    removed: int | None = None
    binary: bool = False
    conflicted: bool = False
    """A merge left this file for a person to decide."""

    @property
    def kind(self) -> ChangeKind:
        """What happened to the file."""
        return kind_of(self.before, self.after)

    @property
    def path(self) -> str:
        """Where the file is, or where it was."""
        side = self.after or self.before
        return side.path if side else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """All the paths that it is about: two when the file was renamed."""
        return tuple(dict.fromkeys(side.path for side in (self.before, self.after) if side))


def kind_of(before: Side | None, after: Side | None) -> ChangeKind:
    """What happened between two sides."""
    if before is None:
        return ChangeKind.ADDED
    if after is None:
        return ChangeKind.DELETED
    return ChangeKind.MODIFIED if before.path == after.path else ChangeKind.RENAMED


class LeftOutReason(StrEnum):
    """Why a file is not looked at."""

    TOO_LARGE = "too large"
    TOO_MUCH = "more than is kept"
    NESTED = "a repository of its own"
    SPECIAL = "not a file"
    UNREADABLE = "unreadable"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A file that may have changed and is not looked at."""

    path: str
    reason: LeftOutReason
    size: int = 0


@dataclass(frozen=True, slots=True)
class Limits:
    """How much is looked at. What is beyond is named in the result."""

    file_bytes: int = 50 << 20
    """The largest file."""
    new_files: int = 20_000
    """The most files that git does not know yet."""
    new_bytes: int = 500 << 20
    """The most bytes in them; for a folder without git, in all that is kept."""


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed, and what was left out. Both are sorted by path."""

    changes: tuple[Change, ...] = ()
    left_out: tuple[LeftOut, ...] = field(default=())
    settled: bool = False
    """Whether it stays so, whatever becomes of the files: it is over, and its content is kept."""
    lacks: str | None = None
    """What was not seen, in a sentence: it may be more that changed."""
    start: str | None = None
    """The tree that it began with, if that stays the same: content from before is read as it was there."""
    end: str | None = None
    """The same for the tree that it ended with."""
    is_elsewhere: bool = False
    """Whether it happened while the directory was in another place: nothing can be done about it here."""

    def only_to_be_seen(self) -> Changes:
        """The same, from another place, where it stays as it is."""
        return replace(self, settled=True, is_elsewhere=True)


UNSEEN = "the end of this turn was not seen: these are the changes that were seen before it"
"""What is said of a turn that the host was stopped in, for instance."""

Outcome: TypeAlias = Changes | SeraiError
"""What changed, or why that is not known."""


def shown(path: str) -> str:
    """A path as text for people: what cannot be shown is escaped."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )


def told(left_out: Iterable[LeftOut]) -> str | None:
    """A sentence about what was left out; `None` when nothing was."""
    groups: dict[LeftOutReason, list[str]] = {}
    for one in left_out:
        groups.setdefault(one.reason, []).append(shown(one.path))
    parts: list[str] = []
    for reason, names in groups.items():
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        parts.append(f"{', '.join(names[:3])}{more} ({reason})")
    return f"Left out: {'; '.join(parts)}" if parts else None
