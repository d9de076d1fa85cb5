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
from collections.abc import Iterable

from serai.errors import InvalidParams

__all__ = ["LENGTH_LIMIT", "PATTERN_LIMIT", "PathFilter"]

PATTERN_LIMIT = 1_000
"""Most patterns in a list, after its braces were taken apart."""
LENGTH_LIMIT = 1_000
"""Most characters of a pattern."""
TOTAL_LIMIT = 65_536
"""Most characters of a list, after its braces were taken apart."""
BRACE_LIMIT = 32
"""Most braces that a pattern opens."""

_NAME = "[^/]"
_FOLDERS = "(?:[^/]*/)*?"
_BRACES = re.compile(r"\{([^{}]*)\}")
_TOKEN = re.compile(r"(?P<star>\*)|\[(?P<no>[!^]?+)(?P<set>.[^]]*)\]|.", re.DOTALL)
_RANGE = re.compile(r"(\\?.)\\-(\\?.)", re.DOTALL)


class PathFilter:
    """Which paths below a root are meant: those that an include fits, without those that an exclude does.

    No includes at all means everything. An exclude that fits a folder also takes away all that is in it.

    Raises:
        InvalidParams: A pattern is too long, or there are too many of them.
    """

    def __init__(self, includes: Iterable[str] = (), excludes: Iterable[str] = ()) -> None:
        self.excludes = frozenset(excludes)
        self._included = _compile(includes, whole=True, field="params.includes")
        self._excluded = _compile(self.excludes, whole=False, field="params.excludes")

    def passes(self, path: str) -> bool:
        """Whether a path, relative to the root, is meant."""
        included = self._included is None or self._included.match(f"{path}/") is not None
        return included and not self.prunes(path)

    def prunes(self, folder: str) -> bool:
        """Whether nothing in a folder can be meant, since it or a folder that it is in is excluded."""
        return self._excluded is not None and self._excluded.match(f"{folder}/") is not None


def _compile(patterns: Iterable[str], *, whole: bool, field: str) -> re.Pattern[str] | None:
    single: set[str] = set()
    for pattern in patterns:
        if len(pattern) > LENGTH_LIMIT:
            raise InvalidParams(f"a pattern has more than {LENGTH_LIMIT:,} characters", field=field)
        if pattern.count("{") > BRACE_LIMIT:
            raise InvalidParams(f"a pattern has more than {BRACE_LIMIT} braces", field=field)
        single |= _variants(pattern)
        if len(single) > PATTERN_LIMIT or sum(map(len, single)) > TOTAL_LIMIT:
            raise InvalidParams("these are too many patterns", field=field)
    if not single:
        return None
    return re.compile("|".join(_translated(pattern, whole=whole) for pattern in sorted(single)), re.DOTALL)


def _variants(pattern: str) -> set[str]:
    """A pattern's braces taken apart, the innermost first: `a{b,c}` gives `ab` and `ac`.

    Stops beyond the limit of patterns, with too many of them.
    """
    variants = {pattern}
    while len(variants) <= PATTERN_LIMIT and any(map(_BRACES.search, variants)):
        variants = {
            f"{one[: found.start()]}{choice}{one[found.end() :]}" if found else one
            for one in variants
            for found in [_BRACES.search(one)]
            for choice in (found[1].split(",") if found else [""])
        }
    return variants


def _translated(pattern: str, *, whole: bool) -> str:
    """The regular expression of a pattern without braces, for paths that end with a `/`.

    With `whole` it must fit the whole path; otherwise it may also fit a folder that the path is in.
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
    end = r"\Z" if whole else ""
    if not others:
        return first + end
    *middle, last = others
    floating = "".join(f"(?>{_FOLDERS}{block})" for block in middle if block)
    return f"{first}{floating}{_FOLDERS}{last}{end}" if last else first + floating


def _name(pattern: str) -> str:
    """One name of a path, up to the slash after it."""
    pieces = [""]  # before, between and after the stars; each part of them fits one character
    for token in _TOKEN.finditer(pattern):
        if token["star"]:
            pieces.append("")
        elif token["set"]:
            pieces[-1] += _class(token["set"], negated=bool(token["no"]))
        else:
            pieces[-1] += _NAME if token[0] == "?" else re.escape(token[0])
    first, *others = pieces
    if not others:
        return f"{first}/"
    *middle, last = others
    between = "".join(f"(?>{_NAME}*?{piece})" for piece in middle if piece)
    return f"(?>{first}{between}{_NAME}*{last}/)"


def _class(text: str, *, negated: bool) -> str:
    """A class of characters. A slash is never meant, not even by a range that it lies in."""
    inside = _RANGE.sub(_range, re.escape(text))
    if negated:
        return f"[^/{inside}]"
    return f"(?!/)[{inside}]" if inside else r"(?!)"


def _range(found: re.Match[str]) -> str:
    low, high = found.groups()
    return f"{low}-{high}" if low[-1] <= high[-1] else ""
