"""Patterns of credentials: what they are made of, and where in much text one may begin.

A pattern is a row of pieces. `finder.py` makes regular expressions of it. `Hints` makes other ones, which
tell quickly where none of the patterns can begin.

Why hints: an expression with many beginnings takes 20 to 40 ns for each character of a text. One that begins
with a single character takes a third of one, because a small loop in C passes over all others. So of each
pattern's text one character is chosen that is rare in what people and programs write, and where it stands,
what is around it is compared. Names such as `password` have letters only, and they count where a separator
and a value follow: these are looked for first. A hint is no match: it says where to look. 300 kB of prose
take 0.7 ms with hints and 23 ms without.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

__all__ = ["DECIDED", "VALUE", "Hints", "Pattern", "Piece", "Run", "ValueStart"]


class Run(NamedTuple):
    """As many characters of a class as there are, between two bounds."""

    chars: str
    """What stands between the brackets of the class."""
    low: int
    high: int | None = None


class ValueStart(NamedTuple):
    """The place where the secret begins: what stands before it is kept and need not be held back."""


VALUE = ValueStart()

Piece: TypeAlias = str | Run | ValueStart


class Pattern(NamedTuple):
    """A row of pieces. It begins with text, or with `VALUE` and text: then all of it is the secret."""

    pieces: tuple[Piece, ...]
    any_case: bool = False
    """Whether letters of the text pieces match in either case."""
    at_word: bool = True
    """Whether it begins only where a word begins."""

    @property
    def word(self) -> str:
        """The text that it begins with."""
        return next(piece for piece in self.pieces if isinstance(piece, str))

    def char(self, char: str) -> str:
        """The expression for a character of its text."""
        both = {char.lower(), char.upper()} if self.any_case else {char}
        return re.escape(char) if len(both) == 1 else f"[{''.join(sorted(both))}]"

    @property
    def tail(self) -> str:
        """The class of the run that the pattern ends with; empty when it ends with text."""
        last = self.pieces[-1]
        return last.chars if isinstance(last, Run) and last.high is None else ""


# -- hints -------------------------------------------------------------------------------------------------

DECIDED = 64
"""A hint looks at most so far ahead, so that the last characters of a text have to be looked at otherwise."""

_LEADS = "_-.:JIb"
"""The characters to look for. Few are enough for all patterns; of several, a pattern takes the first."""
_LEADS_OF_NAMES = "kwcp"
"""The same, for names of values: these are looked for only where values are."""
_SEPARATORS = frozenset(":=>")
_TOO_MANY = 32
"""With more than one hint in so many characters, all of the text is worth a look."""


class _Lead(NamedTuple):
    """All patterns with the same character to look for, and with the same needs."""

    char: str
    around: re.Pattern[str]
    """The character, and what stands before and after it. It takes no more than the character itself."""
    back: int
    """How far before the character a pattern may begin."""
    value: str
    """The expression for a separator and a value, for names: without one in the text, nothing begins."""


class Hints:
    """Tells where one of several patterns may begin."""

    def __init__(self, patterns: Sequence[Pattern]) -> None:
        groups: dict[tuple[str, bool, str], list[tuple[Pattern, int]]] = {}
        for pattern in patterns:
            value = _after_separator(pattern)
            word, leads = pattern.word, _LEADS_OF_NAMES if value else _LEADS
            place = next((word.index(c) for c in leads if c in word), 0)
            char = word[place]
            for each in sorted(_either_case(pattern, char)):
                groups.setdefault((each, place > 0, value), []).append((pattern, place))
        self._leads = [
            _Lead(
                char,
                re.compile(_around(char, members)),
                back=max(place for _, place in members),
                value=value,
            )
            for (char, _, value), members in groups.items()
        ]
        self._values = {
            value: [(c, re.compile(c + value)) for c in sorted(_SEPARATORS)]
            for _, _, value in groups
            if value
        }

    def windows(self, text: str, start: int, stop: int) -> list[tuple[int, int]]:
        """Where between two places a pattern may begin: ranges, in their order.

        Args:
            text: All of it. At least `DECIDED` characters follow after `stop`.
            start: The first place.
            stop: The one after the last.
        """
        reach = stop + DECIDED
        bound = (stop - start) // _TOO_MANY + 1
        found: list[tuple[int, int]] = []
        there = {"": True}
        for value, separated in self._values.items():
            there[value] = any(
                text.find(char, start, reach) >= 0 and after.search(text, start, reach)
                for char, after in separated
            )
        for lead in self._leads:
            if there[lead.value] and (place := text.find(lead.char, start, reach)) >= 0:
                for hint in lead.around.finditer(text, place, reach):
                    place = hint.start()
                    found.append((max(start, place - lead.back), min(stop, place + 1)))
                    if len(found) > bound:
                        return [(start, stop)]
        return _merged(found) if found else found


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for low, high in sorted(ranges):
        if low >= high:
            continue
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(high, merged[-1][1])
        else:
            merged.append((low, high))
    return merged


def _around(lead: str, members: Sequence[tuple[Pattern, int]]) -> str:
    """The expression for a character, with what stands before and after it in one of several patterns.

    What rules most out, for all of them at once, comes first.
    """
    c = re.escape(lead)
    by_rest: dict[str, dict[tuple[str, int], list[str]]] = {}
    for pattern, place in members:
        chars = [pattern.char(each) for each in pattern.word]
        rest = _expression(pattern, _after_word(pattern), DECIDED - len(pattern.word))
        ahead = "".join(chars[place + 1 :])
        by_rest.setdefault(rest, {}).setdefault((ahead, place), []).append("".join((*chars[:place], c)))
    alternatives = (
        f"(?:{'|'.join(_behind(words, place) + ahead for (ahead, place), words in words_of.items())}){rest}"
        for rest, words_of in by_rest.items()
    )
    return f"{c}{_last_before(members, c)}{_next(members)}(?={'|'.join(alternatives)})"


def _behind(words: Iterable[str], place: int) -> str:
    return f"(?<={'|'.join(dict.fromkeys(words))})" if place else ""


def _after_word(pattern: Pattern) -> tuple[Piece, ...]:
    word = next(n for n, piece in enumerate(pattern.pieces) if isinstance(piece, str))
    return pattern.pieces[word + 1 :]


def _next(members: Sequence[tuple[Pattern, int]]) -> str:
    """Of which kind the next characters are, whichever pattern it is."""
    classes: set[str] = set()
    counts: set[int] = set()
    for pattern, place in members:
        rest = pattern.word[place + 1 :]
        classes.update(_escaped(c) for char in rest for c in _either_case(pattern, char))
        match _after_word(pattern):
            case (Run(chars, low), *_) if low and not chars.startswith("^"):
                classes.add(chars)
                counts.add(len(rest) + low)
            case _:
                counts.add(len(rest))
    count = min(counts)
    return f"(?=[{''.join(sorted(classes))}]{{{count}}})" if count else ""


def _last_before(members: Sequence[tuple[Pattern, int]], lead: str) -> str:
    """What the character before must be whichever pattern it is."""
    if not all(place for _, place in members):
        return ""
    before = {c for pattern, place in members for c in _either_case(pattern, pattern.word[place - 1])}
    return f"(?<=[{''.join(map(_escaped, sorted(before)))}]{lead})"


def _escaped(char: str) -> str:
    return char if char.isalnum() else f"\\{char}"


def _either_case(pattern: Pattern, char: str) -> set[str]:
    return {char.lower(), char.upper()} if pattern.any_case else {char}


def _after_separator(pattern: Pattern) -> str:
    """What must follow after the first separator of a name and its value; empty for another pattern."""
    for n, piece in enumerate(pattern.pieces):
        if isinstance(piece, Run) and piece.low and _SEPARATORS.issuperset(piece.chars):
            more = Run(piece.chars, piece.low - 1, (piece.high or piece.low) - 1)
            return _expression(pattern, (more, *pattern.pieces[n + 1 :]), DECIDED)
    return ""


def _expression(pattern: Pattern, pieces: Iterable[Piece], room: int) -> str:
    """What the pieces ask of the next characters, as far as that can be said within the room."""
    expression = ""
    for piece in pieces:
        match piece:
            case ValueStart():
                continue
            case str():
                room -= len(piece)
                if room < 0:
                    break
                expression += "".join(map(pattern.char, piece))
            case Run(chars, low, high):
                if high is None or high > room:
                    return expression + (f"[{chars}]{{{low}}}" if low <= room else "")
                room -= high
                expression += f"[{chars}]{{{low},{high}}}+"
    return expression
