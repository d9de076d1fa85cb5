"""Patterns of paths, as editors have them: `**`, `*`, `?`, `[a-z]`, `{a,b}`.

A pattern matches a whole path relative to a root, with `/` between names: `*.py` matches files in the root
alone, `**/*.py` matches them everywhere. `*` and `?` never match a `/`, and names that begin with a dot are
names like others. `**` between slashes matches any number of folders, also none: `src/**` matches `src` and
all in it. Braces are expanded first; one that is not closed stands for itself. There is no escape character.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from typing import TypeAlias

from serai.errors import InvalidParams

PATTERN_LIMIT = 1_000
"""Most patterns in a list, after its braces were expanded."""
LENGTH_LIMIT = 1_000
"""Longest pattern, in characters."""
TOTAL_LIMIT = 65_536
"""Most characters in a list, after its braces were expanded."""

_NOTHING = re.compile("(?!)")
_BRACES = re.compile(r"\{([^{}]*)\}")

_Names: TypeAlias = list[re.Pattern[str] | None]
"""Patterns for the names of a path; `None` stands for `**`."""


class PathFilter:
    """A choice of paths below a root: those that an include matches, without those that an exclude matches.

    Without includes, all paths are chosen. An exclude that matches a folder also excludes all that is in it.

    Raises:
        InvalidParams: A pattern is too long, or there are too many of them.
    """

    def __init__(self, includes: Iterable[str] = (), excludes: Iterable[str] = ()) -> None:
        self._included = _compile(includes, "params.includes")
        self._excluded = _compile(excludes, "params.excludes") or []

    def passes(self, path: str) -> bool:
        """Tell whether a path, relative to the root, is chosen."""
        names = path.split("/")
        included = self._included is None or any(_fits(one, names) for one in self._included)
        return included and not self.prunes(path)

    def prunes(self, folder: str) -> bool:
        """Tell whether a folder, or one above it, is excluded."""
        names = folder.split("/")
        return any(_fits(one, names, above=True) for one in self._excluded)


def _compile(patterns: Iterable[str], field: str) -> list[_Names] | None:
    single: set[str] = set()
    for pattern in patterns:
        if len(pattern) > LENGTH_LIMIT:
            raise InvalidParams(f"a pattern has more than {LENGTH_LIMIT:,} characters", field=field)
        single |= _variants(pattern)
        if len(single) > PATTERN_LIMIT or sum(map(len, single)) > TOTAL_LIMIT:
            raise InvalidParams("there are too many patterns", field=field)
    split = [[name for name in pattern.split("/") if name not in {"", "."}] for pattern in sorted(single)]
    compiled = [[None if name == "**" else _name(name) for name in names] for names in split if names]
    return compiled if single else None


def _variants(pattern: str) -> set[str]:
    """Expand the braces of a pattern, the innermost first: `a{b,c}` gives `ab` and `ac`.

    Beyond the limit of patterns this stops, with too many of them.
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
    """Tell whether a pattern matches a path; with `above`, or a folder above it.

    Patterns come from clients, so none may keep the host busy: only the last `**` is ever given more names,
    since the part between two has a fixed number of them, and the nearest place is as good as a later one.
    """
    at = here = 0
    resume, taken = -1, 0  # the place after the last `**`, and how far that reaches
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
