"""Patterns of paths, as editors have them: `**`, `*`, `?`, `[a-z]`, `{a,b}`.

A pattern is about a path relative to a root, with `/` between names, and about all of it: `*.py` means files
in the root alone, `**/*.py` means them everywhere. `*` and `?` never cross a `/`, and names that begin with
a dot are names like others. `**` between slashes is any number of folders, also none: `src/**` means `src`
and all in it. Braces are taken apart first; what is not closed stands for itself. There is no escape
character.

Patterns come from clients, so none may keep the host busy. `*` and `**` take the nearest place where what
follows them fits and never look further: where that one leads nowhere, a later one would not either, since
what stands between two stars has a fixed length, and what stands between two `**` a fixed number of names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from serai.errors import InvalidParams

__all__ = ["LENGTH_LIMIT", "PATTERN_LIMIT", "PathFilter", "TooMuch", "expand", "translate"]

PATTERN_LIMIT = 1_000
"""So many patterns a list may have, after its braces were taken apart."""
LENGTH_LIMIT = 1_000
"""So many characters a pattern may have."""
TOTAL_LIMIT = 65_536
"""So many characters a list may have, after its braces were taken apart."""
DEPTH_LIMIT = 16
"""So deep braces may stand in each other."""

_NAME = "[^/]"
_FOLDERS = "(?:[^/]*/)*?"


class TooMuch(Exception):
    """A pattern's braces come to more than is taken. `PathFilter` makes it an `InvalidParams`."""


class PathFilter:
    """Which paths below a root are meant: those that an include fits, without those that an exclude does.

    No includes at all means everything. An exclude that fits a folder also takes away all that is in it.

    Args:
        includes: Patterns of what is meant.
        excludes: Patterns of what is not.

    Raises:
        InvalidParams: A pattern is too long, or there are too many of them.
    """

    def __init__(self, includes: Iterable[str] = (), excludes: Iterable[str] = ()) -> None:
        self.excludes = frozenset(excludes)
        includes = list(includes)
        whole, part = partial(translate, whole=True), partial(translate, whole=False)
        self._included = _compile(includes, whole, field="params.includes") if includes else None
        self._above = _compile(includes, _above, field="params.includes") if includes else None
        self._excluded = _compile(self.excludes, part, field="params.excludes")

    def passes(self, path: str) -> bool:
        """Whether a path, relative to the root, is meant."""
        path = f"{path}/"
        if self._included is not None and self._included.match(path) is None:
            return False
        return self._excluded is None or self._excluded.match(path) is None

    def may_hold(self, folder: str) -> bool:
        """Whether something in a folder could be meant, whatever is in it."""
        return (self._above is None or self._above.match(f"{folder}/") is not None) and not self.prunes(
            folder
        )

    def prunes(self, folder: str) -> bool:
        """Whether nothing in a folder can be meant, since it or a folder that it is in is excluded."""
        return self._excluded is not None and self._excluded.match(f"{folder}/") is not None


def expand(pattern: str) -> list[str]:
    """A pattern's braces taken apart: `a{b,c}` gives `ab` and `ac`. They may stand in each other.

    Raises:
        TooMuch: It comes to more than `PATTERN_LIMIT` patterns, or the braces stand too deep in each other.
    """
    return _variants(pattern, 0, len(pattern), _closings(pattern), DEPTH_LIMIT)


def translate(pattern: str, *, whole: bool) -> str:
    """The regular expression of a pattern without braces, for paths that end with a `/`.

    Args:
        pattern: The pattern.
        whole: Whether it must fit the whole path; otherwise it may also fit a folder that the path is in.
    """
    blocks: list[list[str]] = [[]]
    for name in pattern.split("/"):
        if name == "**":
            blocks.append([])
        elif name not in {"", "."}:
            blocks[-1].append(_name(name))
    if blocks == [[]]:
        return r"(?!)"  # nothing was asked for, so nothing fits
    first, *others = ("".join(block) for block in blocks)
    if not others:
        return first + (r"\Z" if whole else "")
    *middle, last = others
    floating = "".join(f"(?>{_FOLDERS}{block})" for block in middle if block)
    if not last:
        return first + floating
    return f"{first}{floating}{_FOLDERS}{last}" + (r"\Z" if whole else "")


def _above(pattern: str) -> str:
    """The regular expression of the folders that something may be in which a pattern without braces fits."""
    names = [name for name in pattern.split("/") if name not in {"", "."}]
    floats = "**" in names
    heads = names[: names.index("**")] if floats else names[:-1]
    if not floats and not heads:
        return r"(?!)"
    expression = ".*" if floats else r"\Z"
    for name in reversed(heads):
        expression = rf"(?:\Z|{_name(name)}{expression})"
    return expression


def _compile(
    patterns: Iterable[str], translated: Callable[[str], str], *, field: str
) -> re.Pattern[str] | None:
    single: list[str] = []
    for pattern in patterns:
        if len(pattern) > LENGTH_LIMIT:
            raise InvalidParams(f"a pattern has more than {LENGTH_LIMIT:,} characters", field=field)
        try:
            single += expand(pattern)
        except TooMuch as error:
            raise InvalidParams(str(error), field=field) from None
        if len(single) > PATTERN_LIMIT or sum(map(len, single)) > TOTAL_LIMIT:
            raise InvalidParams("these are too many patterns", field=field)
    if not single:
        return None
    return re.compile("|".join(translated(pattern) for pattern in dict.fromkeys(single)), re.DOTALL)


def _closings(pattern: str) -> dict[int, int]:
    """Where each brace closes; those that do not close are not in it."""
    closings: dict[int, int] = {}
    opened: list[int] = []
    for at, character in enumerate(pattern):
        if character == "{":
            opened.append(at)
        elif character == "}" and opened:
            closings[opened.pop()] = at
    return closings


def _variants(pattern: str, begin: int, end: int, closings: dict[int, int], depth: int) -> list[str]:
    """What a stretch of a pattern comes to."""
    if depth == 0:
        raise TooMuch("braces stand too deep in each other")
    variants = [""]
    literal = at = begin
    while at < end:
        closing = closings.get(at)
        if closing is None:
            at += 1
            continue
        before = pattern[literal:at]
        choices = [
            choice
            for left, right in _choices(pattern, at + 1, closing, closings)
            for choice in _variants(pattern, left, right, closings, depth - 1)
        ]
        if len(variants) * len(choices) > PATTERN_LIMIT:
            raise TooMuch(f"the braces of a pattern come to more than {PATTERN_LIMIT:,} patterns")
        variants = [f"{variant}{before}{choice}" for variant in variants for choice in choices]
        literal = at = closing + 1
    rest = pattern[literal:end]
    return [f"{variant}{rest}" for variant in variants]


def _choices(pattern: str, begin: int, end: int, closings: dict[int, int]) -> Iterator[tuple[int, int]]:
    """The stretches between the commas of one pair of braces."""
    left = at = begin
    while at < end:
        if pattern[at] == ",":
            yield left, at
            left = at + 1
        at = closings.get(at, at) + 1
    yield left, end


def _name(pattern: str) -> str:
    """One name of a path, up to the slash after it."""
    first, *others = _between_stars(pattern)
    if not others:
        return f"{first}/"
    *middle, last = others
    between = "".join(f"(?>{_NAME}*?{piece})" for piece in middle if piece)
    return f"(?>{first}{between}{_NAME}*{last}/)"


def _between_stars(pattern: str) -> list[str]:
    """What stands before, between and after the stars of a name. Each part of it fits one character."""
    pieces = [""]
    at = 0
    while at < len(pattern):
        if pattern[at] == "*":
            pieces.append("")
        elif pattern[at] == "?":
            pieces[-1] += _NAME
        elif pattern[at] == "[" and (end := _class_end(pattern, at)) > 0:
            pieces[-1] += _class(pattern[at + 1 : end])
            at = end
        else:
            pieces[-1] += re.escape(pattern[at])
        at += 1
    return pieces


def _class_end(pattern: str, begin: int) -> int:
    """Where a class of characters closes. A bracket that comes first in it belongs to it."""
    first = begin + 1
    if pattern[first : first + 1] in {"!", "^"}:
        first += 1
    return pattern.find("]", first + 1)


def _class(text: str) -> str:
    negated = text[0] in "!^"
    text = text[negated:]
    parts: list[str] = []
    at = 0
    while at < len(text):
        if text[at + 1 : at + 2] == "-" and at + 2 < len(text):
            low, high = text[at], text[at + 2]
            if low <= high:
                parts.append(f"{re.escape(low)}-{re.escape(high)}")
            at += 3
        else:
            parts.append(re.escape(text[at]))
            at += 1
    # A slash is never meant, not even by a range that it lies in.
    if negated:
        return f"[^/{''.join(parts)}]"
    return f"(?!/)[{''.join(parts)}]" if parts else r"(?!)"
