"""Changes: the differences of two trees, and the number of lines that differ in two texts. Pure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher, unified_diff
from enum import StrEnum
from typing import TypeAlias

from serai.errors import SeraiError

GITLINK = 0o160000
"""Git's mode of a submodule."""

DIFF_TREE = (
    *("diff-tree", "-r", "--raw", "--numstat", "-z", "--no-abbrev", "-M50%", "-l1000"),
    *("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color"),
)
"""Git command whose output `parse` reads."""

_EXACT = 1_000_000
"""Most pairs of lines for an exact comparison."""
_SHOWN = 64 * 1024
"""Largest size of both texts whose difference is shown, in bytes."""
LINK_MODE = 0o120000
"""Git's mode of a symbolic link."""


class ChangeKind(StrEnum):
    """Kind of a change of a file."""

    ADDED = "added"
    MODIFIED = "modified"
    DELETED = "deleted"
    RENAMED = "renamed"


@dataclass(frozen=True, slots=True)
class Side:
    """A file before or after a change.

    Its path is relative to the working directory, and text as `os.fsdecode` makes it: a name of any bytes
    comes back the same.
    """

    path: str
    content: str
    """Id of the git blob."""
    mode: int = 0o100644


@dataclass(frozen=True, slots=True)
class Change:
    """A changed file. Without `before` it is new; without `after` it is gone."""

    before: Side | None
    after: Side | None
    added: int | None = None
    """Number of added lines; `None` for what is not text."""
    removed: int | None = None
    binary: bool = False
    conflicted: bool = False
    """True when a merge left the file for a person to decide."""

    @property
    def kind(self) -> ChangeKind:
        """Kind of the change."""
        if self.before is None:
            return ChangeKind.ADDED
        if self.after is None:
            return ChangeKind.DELETED
        return ChangeKind.MODIFIED if self.before.path == self.after.path else ChangeKind.RENAMED

    @property
    def path(self) -> str:
        """Path of the file, or its last one."""
        side = self.after or self.before
        return side.path if side else ""

    @property
    def paths(self) -> tuple[str, ...]:
        """All paths of the change: two when the file was renamed."""
        return tuple(dict.fromkeys(side.path for side in (self.before, self.after) if side))


@dataclass(frozen=True, slots=True)
class Changes:
    """The changes of a changeset, sorted by path."""

    changes: tuple[Change, ...] = ()
    left_out: tuple[str, ...] = ()
    """Files that were not recorded, since they are too large or unreadable."""
    settled: bool = False
    """True when both sides are recorded, so that later changes of the files do not matter."""
    lacks: str | None = None
    """A sentence about changes that were not seen; `None` when all were."""


Outcome: TypeAlias = Changes | SeraiError
"""The changes, or the reason why they are not known."""


def printable(path: str) -> str:
    """Return a path as text for people: what cannot be shown is escaped."""
    text = os.fsencode(path).decode("utf-8", "replace")
    return "".join(
        letter if letter.isprintable() else letter.encode("unicode_escape").decode() for letter in text
    )


def left_out_note(left_out: Iterable[str]) -> str | None:
    """Return a sentence about the files that were left out; `None` when none was."""
    names = [printable(path) for path in left_out]
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return f"Left out, too large or unreadable: {', '.join(names[:3])}{more}" if names else None


# -- trees and texts ----------------------------------------------------------------------------------------


def parse(output: bytes) -> tuple[Change, ...]:
    """Parse the output of `DIFF_TREE`: all raw records, then all counts. Submodules are left out."""
    words = iter(output.split(b"\0")[:-1])
    sides: dict[str, tuple[Side | None, Side | None]] = {}
    counts: dict[str, tuple[int | None, int | None]] = {}
    for word in words:
        if word.startswith(b":"):
            before, after = _raw(word, words)
            last = after or before
            if last is not None and GITLINK not in {side.mode for side in (before, after) if side}:
                sides[last.path] = (before, after)
        else:
            path, added, removed = _counted(word, words)
            counts[path] = (added, removed)
    changes = [
        Change(before, after, *counts.get(path, (None, None)), binary=counts.get(path) == (None, None))
        for path, (before, after) in sides.items()
    ]
    return tuple(sorted(changes, key=lambda change: os.fsencode(change.path)))


def _raw(header: bytes, words: Iterator[bytes]) -> tuple[Side | None, Side | None]:
    before_mode, after_mode, before_blob, after_blob, letter = header[1:].decode().split(" ")
    path = os.fsdecode(next(words))
    new_path = os.fsdecode(next(words)) if letter[0] in "RC" else path
    return _side(path, before_mode, before_blob), _side(new_path, after_mode, after_blob)


def _side(path: str, mode: str, blob: str) -> Side | None:
    return Side(path, blob, int(mode, 8)) if int(mode, 8) else None


def _counted(word: bytes, words: Iterator[bytes]) -> tuple[str, int | None, int | None]:
    added, removed, name = word.split(b"\t", 2)
    if not name:  # a rename: both names follow
        next(words)
        name = next(words)
    is_binary = added == b"-"
    return os.fsdecode(name), None if is_binary else int(added), None if is_binary else int(removed)


def unified(before: bytes, after: bytes) -> str | None:
    """Return the difference of two texts as `diff -u` shows it; `None` for long texts and other data.

    A last line without a line feed is shown like the others.
    """
    try:
        old, new = (data.decode().split("\n") for data in (before, after))
    except UnicodeDecodeError:
        return None
    if len(old) * len(new) > _EXACT or len(before) + len(after) > _SHOWN:
        return None
    _, _, *lines = [*unified_diff(_ended(old), _ended(new), lineterm="")] or ("", "")
    return "\n".join(lines)


def _ended(lines: list[str]) -> list[str]:
    return lines[:-1] if not lines[-1] else lines


def count_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """Count the added and removed lines, for content that git does not know.

    The count is exact as far as that takes only a moment; in longer texts, lines that only moved are not
    counted.
    """
    old, new = _lines(before), _lines(after)
    if len(old) * len(new) <= _EXACT:
        same = sum(
            block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        )
    else:
        same = (Counter(old) & Counter(new)).total()
    return len(new) - same, len(old) - same


def _lines(data: bytes) -> list[bytes]:
    """Split into lines as git does: only a line feed ends one, and a last line without it is another line."""
    *whole, rest = data.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, rest] if rest else lines
