"""The tables of `docs/capabilities.md`: what each kind of agent can do."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_PAGE = Path(__file__).parents[2] / "docs" / "capabilities.md"


@cache
def table(heading: str) -> dict[str, dict[str, str]]:
    """By kind of agent and then by row, how it is there."""
    part = _PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows = [
        [cell.strip(" `") for cell in line.strip("|").split("|")] for line in part.splitlines() if "|" in line
    ]
    (_, *kinds), _, *body = rows
    return {kind: {row[0]: row[n] for row in body} for n, kind in enumerate(kinds, 1)}


def said(heading: str, kind: str, *words: str) -> set[str]:
    """The rows that have one of some words in the column of a kind."""
    return {row for row, cell in table(heading)[kind].items() if cell in words}
