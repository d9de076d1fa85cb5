"""What a change is. Pure."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from serai.errors import SeraiError

__all__ = ["LINK_MODE", "UNSEEN", "Change", "ChangeKind", "Changes", "Outcome", "Side", "printable", "told"]

LINK_MODE = 0o120000
"""Git's mode of a symbolic link."""


class ChangeKind(StrEnum):
    """What happened to a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class Side:
    """A file as it was, or as it is.

    Its path is relative to the working directory, and text as `os.fsdecode` makes it: a name of any bytes
    comes back the same.
    """

    path: str
    content: str
    """The id of its git blob."""
    mode: int = 0o100644


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
    """True where a merge left the file for a person to decide."""

    @property
    def kind(self) -> ChangeKind:
        """What happened to the file."""
        if self.before is None:
            return ChangeKind.ADDED
        if self.after is None:
            return ChangeKind.DELETED
        return ChangeKind.MODIFIED if self.before.path == self.after.path else ChangeKind.RENAMED

    @property
    def path(self) -> str:
        """Where the file is, or where it was."""
        side = self.after or self.before
        return side.path if side else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths that the change is about: two when the file was renamed."""
        return tuple(dict.fromkeys(side.path for side in (self.before, self.after) if side))


@dataclass(frozen=True, slots=True)
class Changes:
    """What changed, sorted by path."""

    changes: tuple[Change, ...] = ()
    left_out: tuple[str, ...] = ()
    """Files that are too large or unreadable, and so not recorded."""
    settled: bool = False
    """True when it stays so, whatever becomes of the files: both sides are recorded."""
    lacks: str | None = None
    """What was not seen, in a sentence: more may have changed."""


UNSEEN = "the end of this turn was not seen: these are the changes that were seen before it"
"""Note on a turn that was running when the host was killed."""

Outcome: TypeAlias = Changes | SeraiError
"""What changed, or why that is not known."""


def printable(path: str) -> str:
    """A path as text for people: what cannot be shown is escaped."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )


def told(left_out: Iterable[str]) -> str | None:
    """A sentence about the files that were left out; `None` when none was."""
    names = [printable(path) for path in left_out]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"Left out, too large or unreadable: {', '.join(names[:3])}{more}" if names else None
