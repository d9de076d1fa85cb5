"""Finds where in a text a credential may begin: what stands before its secret, whole.

A text that comes in pieces is looked at again from `LONGEST_LEAD` characters before its end, so nothing is
missed that was not whole yet. What looks for the secret itself is in `shape_stage`.

In much text, what cannot begin a shape is passed over first, by expressions that begin with one rare
character each: of these, C code looks at a character in a third of a nanosecond, and at all possible
beginnings in 20.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from serai.redact.shapes import ASSIGNED, SEPARATORS, SHAPES, Shape

LOOK_BEHIND = 4
"""How many characters before its beginning a shape may look at."""
LONGEST_LEAD = 80
"""No shape has more characters before its secret, and none has a line's end among them."""
_ANCHOR = 4
"""How many of a shape's first characters are looked for before the shape itself is tried."""
UNSEEN = _ANCHOR - 1
"""How many characters at the end of a text may hide the beginning of a shape."""

_RARE = "_-:.JIGkbcvwpghu"
"""Characters that are rare in prose. Most beginnings of shapes have one of them."""
_RAREST = "_-.:JIb"
"""Those of them to look for in much text. All beginnings have one, but for a few names."""
_DECIDED = 64
"""So many characters are enough to tell that a shape cannot begin where they do."""
_FEW, _BLOCK = 128, 4096
"""In less text than a few characters that does not pay; in more it is done block by block."""


class Lead(NamedTuple):
    """What stands before a secret, if it is one."""

    shape: Shape
    start: int
    value: int
    """Where the candidate begins."""


def find(text: str, start: int, done: int = 0) -> Lead | None:
    """The first lead that begins at `start` or after it, and ends after `done`."""
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
    """Whether no lead begins after `start`, told quickly: one may in the last `UNSEEN` characters."""
    *suspicious, (start, _) = _blocks(text, start)
    return not suspicious and _GLANCE.search(text, start) is None


def _blocks(text: str, start: int) -> Iterator[tuple[int, int]]:
    """Where in a text a shape may begin: ranges, in their order."""
    edge = len(text) - _DECIDED
    needs: list[tuple[str, re.Pattern[str]]] = []
    if edge - start > _FEW:
        needs = [(c, n) for c, n in _NEEDS if text.find(c, start) >= 0 and n.search(text, start)]
    while edge - start > _FEW:
        stop = min(start + _BLOCK, edge)
        reach = stop + _DECIDED
        if any(text.find(c, start, reach) >= 0 and n.search(text, start, reach) for c, n in needs):
            yield start, stop
        start = stop
    yield start, len(text)


def _by_rarest(rare: str, words: Iterable[tuple[str, bool]]) -> dict[str, list[str]]:
    """Expressions for words, which may be in any case, each found at the rarest of its characters.

    Whatever begins with a common letter takes long: at each of them all that may follow is tried.
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
    """Rare characters, each with the expression for what stands around it: to look for in much text."""
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
"""Each shape has an empty group at its end, by which it is known: at its beginning `re` would take longer."""
_WORDS = [(word, shape.any_case) for shape in SHAPES for word in shape.words]
_GLANCE = _alternatives(_by_rarest(_RARE, ((word[:_ANCHOR], any_case) for word, any_case in _WORDS)).items())
_NEEDS = _needs()
