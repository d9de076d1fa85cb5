"""Output for people and for programs: tables, sizes, progress, text without control characters, and JSON."""

from __future__ import annotations

import json
import re
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from itertools import cycle

from serai.ahp import wire
from serai.ahp.types import Markdown, StringOrMarkdown

# JSON lets these stand as they are. To a terminal some are commands, and others cannot be written at all.
_ESCAPED = re.compile("[\x7f-\x9f\ud800-\udfff]")


def json_text(value: object, *, indent: int | None = None) -> str:
    """A value of the protocol, or anything that msgspec can write, as JSON; without `indent` in one line."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(wire.to_json(value), ensure_ascii=False, indent=indent, separators=separators)
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
        shown = [cut(cell, size).ljust(size) for cell, size in zip(row, widths, strict=True)]
        lines += ["  ".join(shown).rstrip(), *(" " * others + rest for rest in more)]
    return lines


def short_ids(ids: Sequence[str]) -> list[str]:
    """Ids as far as they have to be shown to tell them apart."""
    length = 8
    while length < max(map(len, ids)) and len({one[:length] for one in ids}) < len(ids):
        length += 1
    return [one[:length] for one in ids]


def cut(text: str, width: int) -> str:
    """Text, cut when it is wider."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


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


# -- progress ----------------------------------------------------------------------------------------------

_AFTER = 1.0
"""Seconds before anything is shown: what is quick needs no bar."""
_EVERY = 0.1
_WIDTH = 30


@contextmanager
def progress(what: str, done: Callable[[], float] | None = None) -> Generator[None]:
    """Show that something goes on, for the length of a block; the line is gone afterwards.

    Args:
        what: What goes on.
        done: Tells how much of it is done, from 0 to 1, and is called on a thread. Without, something turns.
    """
    if not sys.stderr.isatty():
        yield
        return
    over = threading.Event()
    drawing = threading.Thread(target=_draw, args=(what, done, over), daemon=True)
    drawing.start()
    try:
        yield
    finally:
        over.set()
        drawing.join()


def _draw(what: str, done: Callable[[], float] | None, over: threading.Event) -> None:
    wait = _AFTER
    for sign in cycle("|/-\\"):
        if over.wait(wait):
            break
        wait = _EVERY
        sys.stderr.write(f"\r{what} {sign if done is None else bar(done())}\x1b[K")
        sys.stderr.flush()
    if wait == _EVERY:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()


def bar(part: float) -> str:
    """How much is done, as a bar."""
    part = min(max(part, 0.0), 1.0)
    full = int(part * _WIDTH)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {part:4.0%}"
