"""Finds the leads in a text: the characters that stand before a secret, such as `password=`.

A text that comes in pieces is searched again from `LONGEST_LEAD` characters before its end, so that leads
which were incomplete are found. `shape_stage` looks for the secret itself.

In long text, parts that cannot begin a shape are skipped first, by expressions that begin with one rare
character each: C code compares a character with these in a third of a nanosecond, and with all possible
beginnings in 20.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from serai.redact.shapes import ASSIGNED, SEPARATORS, SHAPES, Shape

LOOK_BEHIND = 4
"""Most characters before its beginning that a shape looks at."""
LONGEST_LEAD = 80
"""Longest lead of a shape, in characters. No lead has a line break."""
_ANCHOR = 4
"""Number of a shape's first characters that are searched for before the whole shape is tried."""
UNSEEN = _ANCHOR - 1
"""Number of characters at the end of a text that may be the beginning of a shape."""

_RARE = "_-:.JIGkbcvwpghu"
"""Characters that are rare in prose. Most beginnings of shapes contain one of them."""
_RAREST = "_-.:JIb"
"""The rare characters to search for in long text. All beginnings but a few names contain one."""
_DECIDED = 64
"""Number of characters that decide whether a shape can begin at the first of them."""
_FEW, _BLOCK = 128, 4096
"""Shortest text for that search, and the size of its blocks, in characters."""


class Lead(NamedTuple):
    """The characters before a possible secret."""

    shape: Shape
    start: int
    value: int
    """Position where the candidate begins."""


def find(text: str, start: int, done: int = 0) -> Lead | None:
    """Find the first lead that begins at `start` or later, and ends after `done`."""
    for block, stop in _blocks(text, start):
        start = place = block
        while hint := _GLANCE.search(text, place, stop + 2 * UNSEEN):
            place = hint.start() + 1
            for begin in range(max(start, place - _ANCHOR), place):
                lead = _LEADS.match(text, begin)
                if lead and lead.lastindex and lead.end() > done:
                    return Lead(_SHAPES[lead.lastindex - 1], begin, lead.end())
            start = place
    return None


def is_quiet(text: str, start: int) -> bool:
    """Tell quickly that no lead begins after `start`, except perhaps in the last `UNSEEN` characters."""
    *suspicious, (start, _) = _blocks(text, start)
    return not suspicious and _GLANCE.search(text, start) is None


def _blocks(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a text in which a shape may begin, in their order."""
    edge, first = len(text) - _DECIDED, start
    needs: list[tuple[str, re.Pattern[str]]] = []
    if edge - start > _FEW:
        needs = [need for need in _NEEDS if text.find(need[0], start) >= 0]
    while edge - start > _FEW:
        stop = min(start + _BLOCK, edge)
        reach = stop + _DECIDED
        if any(text.find(c, start, reach) >= 0 and n.search(text, start, reach) for c, n in needs):
            yield start, stop
        elif start == first:
            # A text that begins without shapes has often none at all, and one search of all of it is faster.
            needs = [(c, n) for c, n in needs if n.search(text, start)]
        start = stop
    yield start, len(text)


def _by_rarest(rare: str, words: Iterable[tuple[str, bool]]) -> dict[str, list[str]]:
    """Make expressions for words, which may be in any case, each anchored at its rarest character.

    An expression that begins with a common letter is slow: at each of them all continuations are tried.
    """
    groups: dict[str, list[str]] = {}
    for word, any_case in words:
        place = next((word.index(c) for c in rare if c in word), 0)
        flag = "i" * any_case
        after = f"(?{flag}:{re.escape(word[place + 1 :])})"
        behind = f"(?<=(?{flag}:{re.escape(word)}))" if place else ""
        for char in {word[place].lower(), word[place].upper()} if any_case else {word[place]}:
            groups.setdefault(char, []).append(after + behind)
    return {char: list(dict.fromkeys(rests)) for char, rests in sorted(groups.items())}


def _alternatives(branches: Iterable[tuple[str, list[str]]]) -> re.Pattern[str]:
    # Alternatives are gathered under their first character: `re` then skips all other characters in C.
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in branches))


def _needs() -> list[tuple[str, re.Pattern[str]]]:
    """Return rare characters, each with the expression for its surroundings: to search long text for."""
    groups = _by_rarest(_RAREST, (word for word in _WORDS if not set(_RAREST).isdisjoint(word[0])))
    for separator in SEPARATORS:  # a name, or its beginning, may be a plain word
        groups.setdefault(separator, []).append(ASSIGNED)
    return [(char, _alternatives([(char, rests)])) for char, rests in groups.items()]


# A word also begins after an escape in JSON (`\\n`), in a URL (`%3D`) or of a terminal (`ESC[31m`).
_WORD_BEGINS = r"(?:(?<![A-Za-z0-9])|(?<=\\[nrtbf])|(?<=%[0-9A-F][0-9A-F])|(?<=[0-9\[]m))"
_SHAPES = sorted(SHAPES, key=lambda shape: not shape.at_word)
_LEADS = re.compile(
    f"{_WORD_BEGINS}(?:{'|'.join(shape.lead for shape in _SHAPES if shape.at_word)})|"
    + "|".join(shape.lead for shape in _SHAPES if not shape.at_word)
)
"""All leads in one expression. An empty group at the end identifies each shape: at its beginning it would be
slower."""
_WORDS = [(word, shape.any_case) for shape in SHAPES for word in shape.words]
_GLANCE = _alternatives(_by_rarest(_RARE, ((word[:_ANCHOR], any_case) for word, any_case in _WORDS)).items())
_NEEDS = _needs()
