"""What differs between two trees, and how many lines between two texts. Pure."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from difflib import SequenceMatcher

from serai.changes.records import Change, Side

__all__ = ["DIFF_TREE", "GITLINK", "count_lines", "parse"]

GITLINK = 0o160000
"""Git's mode of a submodule."""

DIFF_TREE = (
    *("diff-tree", "-r", "--raw", "--numstat", "-z", "--no-abbrev", "-M50%", "-l1000"),
    *("--no-ext-diff", "--no-textconv", "--ignore-submodules=all", "--no-color"),
)
"""The command whose output `parse` reads."""

_EXACT = 1_000_000
"""Most pairs of lines among which the longest common part is looked for."""


def parse(output: bytes) -> tuple[Change, ...]:
    """Read what `DIFF_TREE` prints: all raw records, then all counts. Submodules are left out."""
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


def count_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines were added and removed, for content that git does not know.

    Lines that are the same at both ends do not count. Between them the count is exact, as far as that takes
    no longer than a moment; beyond, lines that only moved are not counted.
    """
    old, new = _lines(before), _lines(after)
    shorter = min(len(old), len(new))
    start = 0
    while start < shorter and old[start] == new[start]:
        start += 1
    end = 0
    while end < shorter - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if len(old) * len(new) <= _EXACT:
        same = sum(
            block.size for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks()
        )
    else:
        same = (Counter(old) & Counter(new)).total()
    return len(new) - same, len(old) - same


def _lines(data: bytes) -> list[bytes]:
    """The lines, as git has them: only a line feed ends one, and a last line without it is another line."""
    *whole, rest = data.split(b"\n")
    lines = [line + b"\n" for line in whole]
    return [*lines, rest] if rest else lines
