"""Markdown on a terminal, piece by piece: styles instead of marks, and lines that break between words.

Nothing here reads or prints. The input has no control characters (see `output.clean`), so all escape
sequences in the result come from here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TypeAlias

Styled: TypeAlias = list[tuple[str, str]]
"""Characters, each with its style: the parameters of SGR, such as `1;31`."""

BOLD, DIM, ITALIC, RED, GREEN, CYAN = "1", "2", "3", "31", "32", "36"

_LONGEST = 2000
"""Most characters of a line that wait for its end: marks further apart do not belong together."""

_FENCE = re.compile(r"\s*(```+|~~~+)")
_HEADING = re.compile(r" {0,3}(#{1,6})\s+")
_ITEM = re.compile(r"(\s*)([-*+]|\d{1,9}[.)])\s+(?=\S)")
_QUOTE = re.compile(r" {0,3}>\s?")
# Bounded, since the partner of a mark is searched in all the text that follows.
_SPAN = re.compile(
    r"(?P<ticks>`+)(?P<code>[^`].{0,500}?)(?P=ticks)(?!`)"
    r"|(?P<two>\*\*|(?<!\w)__)(?=\S)(?P<bold>.{1,500}?)(?<=\S)(?P=two)(?!\w)"
    r"|(?<![\w*])\*(?=[^\s*])(?P<italic>.{1,500}?)(?<=[^\s*])\*(?![\w*])"
    r"|(?<!\w)_(?=[^\s_])(?P<lean>.{1,500}?)(?<=[^\s_])_(?!\w)"
)


def diff_style(line: str) -> str:
    """Return the style of a line, which may be a diff line that is indented by two columns."""
    return {"  +": GREEN, "  -": RED, "  @": CYAN}.get(line[:3], "")


def _joined(*styles: str) -> str:
    return ";".join(filter(None, styles))


def plain_text(text: str, style: str = "") -> Styled:
    """Return text in one style."""
    return [(char, style) for char in text]


def _spans(text: str, style: str = "") -> Styled:
    """Return a piece of a paragraph with its marks as styles."""
    found: Styled = []
    end = 0
    for span in _SPAN.finditer(text):
        found += plain_text(text[end : span.start()], style)
        end = span.end()
        if span["code"] is not None:
            found += plain_text(span["code"], _joined(style, CYAN))
        elif span["bold"] is not None:
            found += _spans(span["bold"], _joined(style, BOLD))
        else:
            found += _spans(span["italic"] or span["lean"], _joined(style, ITALIC))
    return found + plain_text(text[end:], style)


def wrap(text: Styled, width: int, hang: Styled, measure: Callable[[str], int]) -> Iterator[str]:
    """Break a line into rows, between words, or inside a word that is too long for a row.

    Args:
        text: The line.
        width: The number of columns.
        hang: The beginning of the second and all later rows.
        measure: Returns the columns of a character.
    """
    hang = hang if len(hang) < width // 2 else []
    row: Styled = []
    used = 0
    gap = 0  # where the row can be broken: after its last space
    for char, style in text:
        size = measure(char)
        if row and used + size > width and char != " ":
            rest = row[gap:] if gap else []
            yield _written(row[: gap or None])
            row = [*hang, *rest]
            used, gap = sum(measure(one) for one, _ in row), 0
        row.append((char, style))
        used += size
        if char == " " and len(row) > len(hang) and any(one != " " for one, _ in row):
            gap = len(row)
    yield _written(row)


def _written(row: Styled) -> str:
    while row and row[-1][0] == " ":
        row = row[:-1]
    shown = ""
    for style, run in groupby(row, key=lambda one: one[1]):
        text = "".join(char for char, _ in run)
        shown += f"\x1b[{style}m{text}\x1b[0m" if style else text
    return shown


class LineStream:
    """Turns pieces of text into rows: finished rows, and rows that may still change.

    Args:
        width: Returns the number of columns.
        measure: Returns the columns of a character.
        has_styles: True to turn marks into styles. Else Markdown stays as it is written.
    """

    def __init__(self, width: Callable[[], int], measure: Callable[[str], int], *, has_styles: bool) -> None:
        self._width = width
        self._measure = measure
        self._has_styles = has_styles
        self._line = ""
        self._dim = False
        self._fence = ""

    def feed(self, text: str, *, dim: bool = False) -> list[str]:
        """Add a piece. Returns the rows that it has finished."""
        rows = self.end() if dim != self._dim else []
        self._dim = dim
        *lines, self._line = (self._line + text).split("\n")
        for line in lines:
            rows += self._rows(line, is_whole=True)
        while len(self._line) > _LONGEST:
            cut = self._line.rfind(" ", 1, _LONGEST) + 1 or _LONGEST
            rows += self._rows(self._line[:cut], is_whole=True)
            self._line = self._line[cut:]
        return rows

    def rest(self) -> list[str]:
        """Return the rows of the unfinished line."""
        return list(self._rows(self._line, is_whole=False)) if self._line else []

    def end(self, *, is_all: bool = False) -> list[str]:
        """End the unfinished line, and with `is_all` a block of code, too. Returns its rows."""
        rows = list(self._rows(self._line, is_whole=True)) if self._line else []
        self._line = ""
        if is_all:
            self._fence = ""
        return rows

    def plain(self, text: str, style: str = "") -> list[str]:
        """Return lines without marks as rows, with later rows below the first word."""
        rows: list[str] = []
        for line in text.split("\n"):
            hang = plain_text(" " * (len(line) - len(line.lstrip(" "))))
            rows += wrap(self._styled(line, style), self._width(), hang, self._measure)
        return rows

    def _styled(self, text: str, style: str) -> Styled:
        return plain_text(text.expandtabs(4), style if self._has_styles else "")

    def _rows(self, line: str, *, is_whole: bool) -> Iterator[str]:
        text, hang = self._read(line.expandtabs(4), is_whole=is_whole)
        return wrap(text, self._width(), hang, self._measure)

    def _read(self, line: str, *, is_whole: bool) -> tuple[Styled, Styled]:
        """Return a line with its styles, and the beginning of its later rows."""
        if self._dim or not self._has_styles:
            return self._styled(line, DIM if self._dim else ""), []
        found = _FENCE.match(line)
        fence = found[1] if found else ""
        if self._fence or fence:
            is_edge = bool(fence) and fence.startswith(self._fence)
            if is_edge and is_whole:
                self._fence = "" if self._fence else fence
            return plain_text(line, DIM if is_edge else CYAN), []
        if heading := _HEADING.match(line):
            return _spans(line[heading.end() :], BOLD), []
        if item := _ITEM.match(line):
            mark = f"{item[1]}{'•' if item[2] in '-*+' else item[2]} "
            return [*plain_text(mark), *_spans(line[item.end() :])], plain_text(" " * len(mark))
        if quote := _QUOTE.match(line):
            bar = plain_text("│ ", DIM)
            return [*bar, *_spans(line[quote.end() :], ITALIC)], bar
        return _spans(line), []
