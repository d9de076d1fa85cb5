"""What patterns of credentials are made of.

A pattern is a row of pieces. `finder.py` makes regular expressions of it; `hints.py` makes other ones, which
tell quickly where none of the patterns can begin.
"""

from __future__ import annotations

import re
from typing import NamedTuple, TypeAlias

__all__ = ["VALUE", "Pattern", "Piece", "Run", "Value"]


class Run(NamedTuple):
    """As many characters of a class as there are, between two bounds."""

    chars: str
    """What stands between the brackets of the class."""
    low: int
    high: int | None = None


class Value(NamedTuple):
    """The place where the secret begins: what stands before it is kept and need not be held back."""


VALUE = Value()

Piece: TypeAlias = str | Run | Value


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
