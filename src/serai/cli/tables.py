"""Lists for people."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

from serai.cli.terminal import clean

__all__ = ["rows_of", "short_ids"]

_NARROWEST = 12


def rows_of(rows: Sequence[Sequence[str]], *, gives_way: int, width: int | None = None) -> list[str]:
    """Rows as lines that fit a terminal.

    Args:
        rows: The cells; the first row is the head.
        gives_way: The column that is cut when it is too wide.
        width: That of the terminal; by default it is asked.
    """
    width = shutil.get_terminal_size().columns if width is None else width
    cells = [[" ".join(clean(cell).split()) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    others = sum(widths) - widths[gives_way] + 2 * (len(widths) - 1)
    widths[gives_way] = max(min(widths[gives_way], width - others), _NARROWEST)
    return [
        "  ".join(_cut(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def short_ids(ids: Sequence[str]) -> list[str]:
    """Ids as far as they have to be shown to tell them apart."""
    length = 8
    while length < max(map(len, ids)) and len({one[:length] for one in ids}) < len(ids):
        length += 1
    return [one[:length] for one in ids]


def _cut(word: str, width: int) -> str:
    return word if len(word) <= width else word[: width - 1] + "…"
