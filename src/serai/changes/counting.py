"""How many lines an edit adds and removes, for content that git does not know. Pure."""

from __future__ import annotations

from collections import Counter
from difflib import SequenceMatcher

__all__ = ["count_lines", "is_binary"]

_LOOKED_AT = 8000
"""git looks at as many bytes to tell text from what is none."""

_EXACT = 1_000_000
"""Up to so many pairs of lines the longest common part is looked for."""


def is_binary(data: bytes) -> bool:
    """Whether content is no text: it has a zero byte near its beginning."""
    return b"\0" in data[:_LOOKED_AT]


def count_lines(before: bytes, after: bytes) -> tuple[int, int]:
    """How many lines were added and removed.

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
