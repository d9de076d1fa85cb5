"""Patterns of paths, as editors have them: `**`, `*`, `?`, `[a-z]`, `{a,b}`.

A pattern is about a path relative to a root, with `/` between names, and about all of it: `*.py` means files
in the root alone, `**/*.py` means them everywhere. `*` and `?` never cross a `/`, and names that begin with
a dot are names like others. `**` between slashes is any number of folders, also none: `src/**` means `src`
and all in it. Braces are taken apart first; what is not closed stands for itself. There is no escape
character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from typing import TypeAlias

from serai.errors import InvalidParams

PATTERN_LIMIT = 1_000
"""Most patterns in a list, after its braces were taken apart."""
LENGTH_LIMIT = 1_000
"""Most characters of a pattern."""
TOTAL_LIMIT = 65_536
"""Most characters of a list, after its braces were taken apart."""

_NOTHING = re.compile("(?!)")
_BRACES = re.compile(r"\{([^{}]*)\}")

_Names: TypeAlias = list[re.Pattern[str] | None]
"""What fits each name of a path; `None` stands for `**`."""


class PathFilter:
    """Which paths below a root are meant: those that an include fits, without those that an exclude does.

    No includes at all means everything. An exclude that fits a folder also takes away all that is in it.

    Raises:
        InvalidParams: A pattern is too long, or there are too many of them.
    """

    def __init__(self, includes: Iterable[str] = (), excludes: Iterable[str] = ()) -> None:
        self._included = _compile(includes, "params.includes")
        self._excluded = _compile(excludes, "params.excludes") or []

    def passes(self, path: str) -> bool:
        """Whether a path, relative to the root, is meant."""
        names = path.split("/")
        included = self._included is None or any(_fits(one, names) for one in self._included)
        return included and not self.prunes(path)

    def prunes(self, folder: str) -> bool:
        """Whether nothing in a folder can be meant, since it or a folder that it is in is excluded."""
        names = folder.split("/")
        return any(_fits(one, names, above=True) for one in self._excluded)


def _compile(patterns: Iterable[str], field: str) -> list[_Names] | None:
    single: set[str] = set()
    for pattern in patterns:
        if len(pattern) > LENGTH_LIMIT:
            raise InvalidParams(f"a pattern has more than {LENGTH_LIMIT:,} characters", field=field)
        single |= _variants(pattern)
        if len(single) > PATTERN_LIMIT or sum(map(len, single)) > TOTAL_LIMIT:
            raise InvalidParams("these are too many patterns", field=field)
    split = [[name for name in pattern.split("/") if name not in {"", "."}] for pattern in sorted(single)]
    compiled = [[None if name == "**" else _name(name) for name in names] for names in split if names]
    return compiled if single else None


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


def _name(pattern: str) -> re.Pattern[str]:
    return re.compile(translate(pattern.replace("[^", "[!")))


def _fits(pattern: _Names, names: Sequence[str], *, above: bool = False) -> bool:
    """Whether a pattern fits a path; with `above`, or a folder that it is in.

    Patterns come from clients, so none may keep the host busy: only the last `**` is ever given more names,
    since what stands between two has a fixed number of them, and the nearest place is as good as a later one.
    """
    at = here = 0
    resume, taken = -1, 0  # behind the last `**`, and up to where it reaches
    while at < len(pattern) or not (here == len(names) or (above and here)):
        name = pattern[at] if at < len(pattern) else _NOTHING
        if name is None:
            at, resume, taken = at + 1, at + 1, here
        elif here < len(names) and name.match(names[here]):
            at, here = at + 1, here + 1
        elif resume < 0 or taken == len(names):
            return False
        else:
            taken += 1
            at, here = resume, taken
    return True
