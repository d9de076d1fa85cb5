"""Patterns of credentials that can be matched on text that is not whole yet.

Python's `re` cannot say "this may still become a match". So a pattern is a row of pieces, of which two forms
are compiled: *final*, for a text that is whole; and *open*, which also finds a match that is under way, whose
pieces have fitted so far and have reached the end of the text.

Runs are possessive, and a pattern gives up or decides after a bounded piece of text, so no input makes the
matcher go over the same text again and again. In much text, what cannot begin a pattern is passed over first,
by expressions that begin with one rare character each: of these, C code looks at a character in a third of a
nanosecond, and at all possible beginnings in 20.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

LOOK_BEHIND = 4
"""How many characters before its beginning a pattern may look at."""
_ANCHOR = 4
"""How many of a pattern's first characters are looked for before the pattern itself is tried."""
UNSEEN = _ANCHOR - 1
"""How many characters at the end of a text may hide the beginning of a name."""

_RARE = "_-:.JIGkbcvwpghu"
"""Characters that are rare in prose. Most beginnings of patterns have one of them."""
_RAREST = "_-.:JIb"
"""Those of them to look for in much text. All patterns have one in their text, but for a few names."""
_DECIDED = 64
"""So many characters are enough to tell that a pattern cannot begin where they do."""
_FEW, _BLOCK = 128, 4096
"""In less text than a few characters that does not pay; in more it is done block by block."""


class Run(NamedTuple):
    """As many characters of a class as there are, between two bounds."""

    chars: str
    """What stands between the brackets of the class."""
    low: int
    high: int | None = None


class _ValueStart(NamedTuple):
    """The place where the secret begins: what stands before it is kept and need not be held back."""


VALUE = _ValueStart()

_Piece: TypeAlias = str | Run | _ValueStart


class Pattern(NamedTuple):
    """A row of pieces. It begins with text, or with `VALUE` and text: then all of it is the secret."""

    pieces: tuple[_Piece, ...]
    any_case: bool = False
    """Whether letters of the text pieces match in either case."""
    at_word: bool = True
    """Whether it begins only where a word begins."""

    @property
    def word(self) -> str:
        """The text that it begins with."""
        return next(piece for piece in self.pieces if isinstance(piece, str))

    @property
    def tail(self) -> str:
        """The class of the run that the pattern ends with; empty when it ends with text."""
        last = self.pieces[-1]
        return last.chars if isinstance(last, Run) and last.high is None else ""

    def cases(self, char: str) -> list[str]:
        """What a character of its text may be."""
        return sorted({char.lower(), char.upper()}) if self.any_case else [char]

    def chars(self, text: str) -> list[str]:
        """The expressions for the characters of its text."""
        cases = map(self.cases, text)
        return [re.escape(case[0]) if len(case) == 1 else f"[{''.join(case)}]" for case in cases]


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
    """Finds the first of several patterns. At one place, a pattern that stands earlier in the list wins.

    Args:
        patterns: What to look for.
        separators: One of them has to follow, in patterns that begin with a plain word and no sign.
        value: The expression for what has to follow after that.
    """

    def __init__(self, patterns: Sequence[Pattern], separators: str, value: str) -> None:
        self._all_secret = [isinstance(pattern.pieces[0], _ValueStart) for pattern in patterns]
        self._glance = _alternatives(_by_rarest(patterns, _RARE, _ANCHOR).items())
        needs = {separator: [value] for separator in separators}
        signed = (pattern for pattern in patterns if not set(_RAREST).isdisjoint(pattern.word))
        for char, rests in _by_rarest(signed, _RAREST).items():
            needs.setdefault(char, []).extend(rests)
        self._needs = [(char, _alternatives([(char, rests)])) for char, rests in needs.items()]
        self._end = _compile_ends(patterns)
        self._open = _compile(patterns, final=False)
        self._final = _compile(patterns, final=True)
        self._groups = _groups(patterns)

    def find(self, text: str, start: int, *, final: bool) -> Found | None:
        """The first match that begins at `start` or after it.

        A name in the last `UNSEEN` characters is not reported yet: look at them again with more text.
        """
        expression = self._final if final else self._open
        for block, stop in self._blocks(text, start):
            start = place = block
            while hint := self._glance.search(text, place, stop + 2 * UNSEEN):
                place = hint.start() + 1
                for begin in range(max(start, place - _ANCHOR), place):
                    match = expression.match(text, begin)
                    if match and (match.lastindex or match.end() - begin > UNSEEN):
                        return self._found(match)
                start = place
        return None if final else self._find_at_end(text, start)

    def is_quiet(self, text: str, start: int) -> bool:
        """Whether `find` would find nothing, told quickly. `False` is no promise that it would."""
        if len(text) - start > _FEW + _DECIDED:
            *suspicious, (start, _) = self._blocks(text, start)
            if suspicious:
                return False
        return self._glance.search(text, start) is None and (
            self._end.search(text, max(start, len(text) - UNSEEN)) is None
        )

    def _blocks(self, text: str, start: int) -> Iterator[tuple[int, int]]:
        """Where in a text a pattern may begin: ranges, in their order."""
        edge = len(text) - _DECIDED
        while edge - start > _FEW:
            stop = min(start + _BLOCK, edge)
            reach = stop + _DECIDED
            if any(text.find(c, start, reach) >= 0 and n.search(text, start, reach) for c, n in self._needs):
                yield start, stop
            start = stop
        yield start, len(text)

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


def _by_rarest(patterns: Iterable[Pattern], rare: str, size: int | None = None) -> dict[str, list[str]]:
    """Expressions for the first text of patterns, each found at the rarest of its characters.

    Whatever begins with a common letter takes long: at each of them all that may follow is tried.
    """
    groups: dict[str, list[str]] = {}
    for pattern in patterns:
        word = pattern.word[:size]
        place = next((word.index(c) for c in rare if c in word), 0)
        chars = pattern.chars(word)
        after = "".join(chars[place + 1 :])
        for char in pattern.cases(word[place]):
            before = "".join((*chars[:place], re.escape(char)))
            groups.setdefault(char, []).append(after + (f"(?<={before}{after})" if place else ""))
    return {char: list(dict.fromkeys(rests)) for char, rests in sorted(groups.items())}


def _compile_ends(patterns: Sequence[Pattern]) -> re.Pattern[str]:
    """Where at the end of a text a secret may have begun that is still shorter than an anchor."""
    secrets = [pattern for pattern in patterns if isinstance(pattern.pieces[0], _ValueStart)]
    expressions: list[tuple[str, list[str]]] = []
    for first, group in _by_first(secrets):
        where = _word_begins(first) if all(pattern.at_word for pattern in group) else ""
        rests = sorted({re.escape(p.word[1:n]) for p in group for n in range(1, min(_ANCHOR, len(p.word)))})
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
        for char in pattern.cases(pattern.word[0]):
            groups.setdefault(char, []).append(pattern)
    return sorted(groups.items())


def _after_first(pattern: Pattern, first: str, *, final: bool) -> str:
    """All of a pattern but its first character, which has matched already."""
    atoms: list[_Piece] = []
    for piece in pattern.pieces:
        atoms.extend(pattern.chars(piece) if isinstance(piece, str) else [piece])
    del atoms[1 if isinstance(atoms[0], _ValueStart) else 0]  # the secret's group stands one character late
    expression = r"(?:\Z|())" if pattern.tail and not final else "()"  # the run may go on
    for atom in reversed(atoms):
        expression = _before(atom, expression, final=final)
    return (_word_begins(first) if pattern.at_word else "") + expression


def _word_begins(first: str) -> str:
    # A word also begins after an escape in JSON (`\n`), in a URL (`%3D`) or of a terminal (`ESC[31m`).
    c = re.escape(first)
    return rf"(?:(?<![A-Za-z0-9]{c})|(?<=\\[nrtbf]{c})|(?<=%[0-9A-F][0-9A-F]{c})|(?<=[0-9\[]m{c}))"


def _before(atom: _Piece, rest: str, *, final: bool) -> str:
    match atom:
        case _ValueStart():
            return "()" + rest
        case Run(chars, low, high):
            run = f"[{chars}]{{{low},{'' if high is None else high}}}+"
            if final:
                return run + rest
            ended = rest if rest.startswith(r"(?:\Z|") else rf"(?:\Z|{rest})"
            return run + ended if low == 0 else rf"(?:{run}{ended}|[{chars}]{{0,{low - 1}}}\Z)"
        case str():
            return atom + rest if final else rf"(?:{atom}{rest}|\Z)"
