"""Output for people and for programs: tables, sizes, text without control characters, and JSON."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Sequence

from serai.ahp import wire
from serai.ahp.types import Markdown, StringOrMarkdown

# JSON lets these stand as they are. To a terminal some are commands, and others cannot be written at all.
_ESCAPED = re.compile("[\x7f-\x9f\ud800-\udfff]")


def json_text(value: object, *, indent: int | None = None) -> str:
    """A value of the protocol, or anything that msgspec can write, as JSON; without `indent` in one line.

    Infinite numbers, and what is no number, become `null`, as over the wire: JSON has none of them.
    """
    separators = (",", ":") if indent is None else None
    plain = wire.to_json(value)
    try:
        text = json.dumps(plain, ensure_ascii=False, indent=indent, separators=separators, allow_nan=False)
    except ValueError:
        plain = json.loads(json.dumps(plain), parse_constant=lambda _: None)
        text = json.dumps(plain, ensure_ascii=False, indent=indent, separators=separators)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: object) -> None:
    """Print a value. It is UTF-8, whatever the terminal's encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(json_text(value, indent=2).encode() + b"\n")
    sys.stdout.buffer.flush()


_NARROWEST = 12
"""Least width of a column that gives way, in characters."""


def table(
    rows: Sequence[Sequence[str]], *, gives_way: int, wraps: bool = False, width: int | None = None
) -> list[str]:
    """Rows as lines that fit a terminal.

    Args:
        rows: The cells; the first row is the head.
        gives_way: The column that is cut when it is too wide.
        wraps: Whether it goes on in the next line instead; then it is the last column.
        width: That of the terminal; by default it is asked.
    """
    width = shutil.get_terminal_size().columns if width is None else width
    cells = [[" ".join(clean(cell).split()) for cell in row] for row in rows]
    widths = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    others = sum(widths) - widths[gives_way] + 2 * (len(widths) - 1)
    widths[gives_way] = max(min(widths[gives_way], width - others), _NARROWEST)
    lines: list[str] = []
    for row in cells:
        more: list[str] = []
        if wraps:
            row[gives_way], *more = textwrap.wrap(row[gives_way], widths[gives_way]) or [""]
        shown = [_cut(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)]
        lines += ["  ".join(shown).rstrip(), *(" " * others + rest for rest in more)]
    return lines


def short_ids(ids: Sequence[str]) -> list[str]:
    """Ids as far as they have to be shown to tell them apart."""
    length = 8
    while length < max(map(len, ids)) and len({one[:length] for one in ids}) < len(ids):
        length += 1
    return [one[:length] for one in ids]


def _cut(word: str, width: int) -> str:
    return word if len(word) <= width else word[: width - 1] + "…"


# What a terminal would take as a command: all control characters but the tab and the end of a line.
# Marks that turn the direction of writing go too: with them one text looks like another, and they take along
# what stands behind them.
_TURNING = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_CONTROLS = {code: None for code in [*range(32), *range(127, 160), *_TURNING] if code not in {9, 10}}


def clean(text: str) -> str:
    """Text without control characters: what an agent says must not move the cursor or turn what is around."""
    return text.translate(_CONTROLS)


def about_size(count: float) -> str:
    """A number of bytes, for people."""
    for size, unit in ((1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def plain(text: StringOrMarkdown | None) -> str:
    """Text, or Markdown as it is written."""
    return text.markdown if isinstance(text, Markdown) else text or ""
