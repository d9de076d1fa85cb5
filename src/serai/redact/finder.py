"""Patterns that can be matched on text that is not whole yet.

Python's `re` cannot say "this may still become a match". A pattern is compiled in two forms from one row of
pieces:

- *final*: the text is whole; what does not match now never will.
- *open*: more text may come. Beside whole matches it also finds a match that is under way, which is a row of
  pieces that has fitted so far and has reached the end of the text.

Runs are possessive, and a pattern gives up or decides after a bounded piece of text, so no input makes the
matcher go over the same text again and again.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from serai.redact.patterns import DECIDED, VALUE, Hints, Pattern, Run, ValueStart

__all__ = ["LOOK_BEHIND", "UNSEEN", "Found", "PatternFinder"]

LOOK_BEHIND = 4
"""How many characters before its beginning a pattern may look at."""

_ANCHOR = 4
"""How many of a pattern's first characters are looked for before the pattern itself is tried."""

UNSEEN = _ANCHOR - 1
"""How many characters at the end of a text may hide the beginning of a name."""


_RARE = "_-:.JIGkbcvwpghu"
"""Characters that are rare in prose. Most beginnings of patterns have one of them."""

_NEAR = 128
_BLOCK = 1024
"""Hints are looked for in so much text at first, and in more of it when there are none: after a match, little
has been looked at in vain."""
_FEW, _LARGE = 128, 256
"""In less text they do not pay: for who wants to know whether there is a match, and for who wants it."""


class Found(NamedTuple):
    """A match: whole, or under way up to the end of the text."""

    number: int
    """Which pattern, by its place in the list that the finder was made of."""
    start: int
    value: int | None
    """Where the secret begins; `None` when the match has not come that far."""
    end: int
    whole: bool


class PatternFinder:
    """Finds the first of several patterns. At one place, a pattern that stands earlier in the list wins."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        self._all_secret = [isinstance(pattern.pieces[0], ValueStart) for pattern in patterns]
        self._skim = _compile_anchors(patterns)
        self._glance = _compile_glance(patterns)
        self._hints = Hints(patterns)
        self._end = _compile_ends(patterns)
        self._open = _compile(patterns, final=False)
        self._final = _compile(patterns, final=True)
        self._groups = _groups(patterns)

    def find(self, text: str, start: int, *, final: bool) -> Found | None:
        """The first match that begins at `start` or after it.

        A name in the last `UNSEEN` characters is not reported yet: look at them again with more text.
        """
        expression = self._final if final else self._open
        edge = len(text) - DECIDED
        if edge - start > _LARGE:
            found = self._find_in_much(text, start, edge, expression)
            if found is not None:
                return found
            start = edge
        place = start
        while hint := self._glance.search(text, place):
            place = hint.start() + 1
            match, start = self._scan(text, max(start, place - _ANCHOR), place, expression)
            if match is not None:
                return self._found(match)
        return None if final else self._find_at_end(text, start)

    def is_quiet(self, text: str, start: int) -> bool:
        """Whether `find` would find nothing, told quickly. `False` is no promise that it would."""
        edge = len(text) - DECIDED
        if edge - start > _FEW:
            if self._scan_hinted(text, start, edge, self._open) is not None:
                return False
            start = edge
        if self._glance.search(text, start) is not None:
            return False
        return self._end.search(text, max(start, len(text) - UNSEEN)) is None

    def _find_in_much(self, text: str, start: int, stop: int, expression: re.Pattern[str]) -> Found | None:
        """The first match that begins between two places."""
        # Where there was one there is often another near, and hints pay in much text only.
        near, block = start + _NEAR, _BLOCK
        match, _ = self._scan(text, start, near, expression)
        if match is not None:
            return self._found(match)
        start = near
        while start < stop:
            end = min(start + block, stop)
            match = self._scan_hinted(text, start, end, expression)
            if match is not None:
                return self._found(match)
            start = end
            block *= 8
        return None

    def _scan_hinted(
        self, text: str, start: int, stop: int, expression: re.Pattern[str]
    ) -> re.Match[str] | None:
        """The first match that begins between two places, looked for only where there are hints of one."""
        for low, high in self._hints.windows(text, start, stop):
            match, _ = self._scan(text, low, high, expression)
            if match is not None:
                return match
        return None

    def _scan(
        self, text: str, start: int, stop: int, expression: re.Pattern[str]
    ) -> tuple[re.Match[str] | None, int]:
        """The first match that begins before `stop`, and after which place there may be others."""
        reach = stop + _ANCHOR - 1
        while anchor := self._skim.search(text, start, reach):
            start = anchor.start()
            match = expression.match(text, start)
            if match is not None:
                return match, start
            start += 1
        return None, start

    def _find_at_end(self, text: str, start: int) -> Found | None:
        """A secret that has begun at the end of the text, and is still shorter than an anchor."""
        place = max(start, len(text) - UNSEEN)
        while begun := self._end.search(text, place):
            match = self._open.match(text, begun.start())
            if match is not None and match.lastindex is not None:
                return self._found(match)
            place = begun.start() + 1
        return None

    def _found(self, match: re.Match[str]) -> Found:
        start = match.start()
        group = match.lastindex
        if group is None:  # under way, and no secret has begun
            return Found(-1, start, None, match.end(), whole=False)
        number, whole = self._groups[group - 1]
        value = start if self._all_secret[number] else match.start(group - whole)
        return Found(number, start, value, match.end(), whole)


# -- from pieces to regular expressions --------------------------------------------------------------------
# Each pattern has two empty groups: one where the secret begins, one at the end. `re` tells which group was
# the last one to match, and so which pattern it was and how far it came.


def _compile(patterns: Sequence[Pattern], *, final: bool) -> re.Pattern[str]:
    return _alternatives(
        (first, [_after_first(pattern, first, final=final) for pattern in group])
        for first, group in _by_first(patterns)
    )


def _compile_anchors(patterns: Sequence[Pattern]) -> re.Pattern[str]:
    return _alternatives(
        (first, list(dict.fromkeys("".join(p.char(c) for c in _anchor(p)[1:]) for p in group)))
        for first, group in _by_first(patterns)
    )


def _compile_glance(patterns: Sequence[Pattern]) -> re.Pattern[str]:
    """The same as for anchors, but each is found at the one of its characters that is the rarest in prose.

    Whatever begins with a common letter takes long: at each of them all that may follow is tried.
    """
    groups: dict[str, dict[str, None]] = {}
    for pattern in patterns:
        anchor = _anchor(pattern)
        place = next((anchor.index(c) for c in _RARE if c in anchor), 0)
        lead, chars = anchor[place], [pattern.char(c) for c in anchor]
        after = "".join(chars[place + 1 :])
        for char in sorted({lead.lower(), lead.upper()} if pattern.any_case else {lead}):
            before = "".join((*chars[:place], re.escape(char)))
            groups.setdefault(char, {})[after + (f"(?<={before}{after})" if place else "")] = None
    return _alternatives((char, list(rests)) for char, rests in sorted(groups.items()))


def _compile_ends(patterns: Sequence[Pattern]) -> re.Pattern[str]:
    """Where at the end of a text a secret may have begun that is still shorter than an anchor."""
    secrets = [pattern for pattern in patterns if isinstance(pattern.pieces[0], ValueStart)]
    expressions: list[tuple[str, list[str]]] = []
    for first, group in _by_first(secrets):
        where = _word_begins(first) if all(pattern.at_word for pattern in group) else ""
        rests = sorted({re.escape(_anchor(p)[1:n]) for p in group for n in range(1, len(_anchor(p)))})
        expressions.append((first, [rf"(?=(?:{'|'.join(rests)})\Z){where}"]))
    return _alternatives(expressions)


def _alternatives(branches: Iterable[tuple[str, list[str]]]) -> re.Pattern[str]:
    # Alternatives are gathered under their first character: `re` then skips all other characters in C.
    return re.compile("|".join(f"{re.escape(first)}(?:{'|'.join(rests)})" for first, rests in branches))


def _groups(patterns: Sequence[Pattern]) -> list[tuple[int, bool]]:
    """For each group of the expression: which pattern it belongs to, and whether it is the one at its end."""
    numbers = {id(p): n for n, p in enumerate(patterns)}
    order = [numbers[id(p)] for _, group in _by_first(patterns) for p in group]
    return [(number, whole) for number in order for whole in (False, True)]


def _by_first(patterns: Iterable[Pattern]) -> list[tuple[str, list[Pattern]]]:
    groups: dict[str, list[Pattern]] = {}
    for pattern in patterns:
        first = _anchor(pattern)[0]
        for char in sorted({first.lower(), first.upper()} if pattern.any_case else {first}):
            groups.setdefault(char, []).append(pattern)
    return sorted(groups.items())


def _anchor(pattern: Pattern) -> str:
    return pattern.word[:_ANCHOR]


def _after_first(pattern: Pattern, first: str, *, final: bool) -> str:
    """All of a pattern but its first character, which has matched already."""
    atoms: list[str | Run | ValueStart] = []
    for piece in pattern.pieces:
        atoms.extend(piece if isinstance(piece, str) else [piece])
    where = _word_begins(first) if pattern.at_word else ""
    if isinstance(atoms[0], ValueStart):  # its group stands one character late
        atoms[:2] = [VALUE]
    else:
        del atoms[0]
    return where + _rest(atoms, pattern, final=final)


def _word_begins(first: str) -> str:
    # A word also begins after an escape in JSON (`\n`), in a URL (`%3D`) or of a terminal (`ESC[31m`).
    c = re.escape(first)
    return rf"(?:(?<![A-Za-z0-9]{c})|(?<=\\[nrtbf]{c})|(?<=%[0-9A-F][0-9A-F]{c})|(?<=[0-9\[]m{c}))"


def _rest(atoms: Sequence[str | Run | ValueStart], pattern: Pattern, *, final: bool) -> str:
    expression = "()"
    if pattern.tail and not final:
        expression = r"(?:\Z|())"  # the run may go on
    for atom in reversed(atoms):
        expression = _before(atom, expression, pattern, final=final)
    return expression


def _before(atom: str | Run | ValueStart, rest: str, pattern: Pattern, *, final: bool) -> str:
    match atom:
        case ValueStart():
            return "()" + rest
        case Run(chars, low, high):
            run = f"[{chars}]{{{low},{'' if high is None else high}}}+"
            if final:
                return run + rest
            ended = rest if rest.startswith(r"(?:\Z|") else rf"(?:\Z|{rest})"
            return run + ended if low == 0 else rf"(?:{run}{ended}|[{chars}]{{0,{low - 1}}}\Z)"
        case str():
            char = pattern.char(atom)
            return char + rest if final else rf"(?:{char}{rest}|\Z)"
