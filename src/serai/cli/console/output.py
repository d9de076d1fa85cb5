"""Output for people and programs: tables, sizes, progress, text without control characters, and JSON."""

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

# JSON allows these characters, but a terminal takes some as commands, and others cannot be encoded.
_ESCAPED = re.compile("[\x7f-\x9f\ud800-\udfff]")


def json_text(value: object, *, indent: int | None = None) -> str:
    """Return a value of the protocol, or any that msgspec writes, as JSON; without `indent` on one line."""
    separators = (",", ":") if indent is None else None
    text = json.dumps(wire.to_json(value), ensure_ascii=False, indent=indent, separators=separators)
    return _ESCAPED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def print_json(value: object) -> None:
    """Print a value as JSON in UTF-8, whatever the terminal's encoding is."""
    sys.stdout.flush()
    sys.stdout.buffer.write(json_text(value, indent=2).encode() + b"\n")
    sys.stdout.buffer.flush()


_NARROWEST = 12
"""Least width of a column that gives way, in characters."""


def table(
    rows: Sequence[Sequence[str]], *, gives_way: int, wraps: bool = False, width: int | None = None
) -> list[str]:
    """Return rows as lines that fit a terminal.

    Args:
        rows: The cells; the first row is the head.
        gives_way: The column that is cut when the table is too wide.
        wraps: True to wrap that column instead, which is then the last one.
        width: The width of the terminal; by default it is asked.
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
    """Shorten ids as far as they stay different."""
    length = 8
    while length < max(map(len, ids)) and len({one[:length] for one in ids}) < len(ids):
        length += 1
    return [one[:length] for one in ids]


def cut(text: str, width: int) -> str:
    """Cut text that is longer than a width."""
    return text if len(text) <= width else f"{text[: width - 1]}…"


# All control characters but the tab and the end of a line, since a terminal takes them as commands; and marks
# that turn the direction of writing, since they make one text look like another.
_TURNING = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_CONTROLS = {code: None for code in [*range(32), *range(127, 160), *_TURNING] if code not in {9, 10}}


def clean(text: str) -> str:
    """Remove control characters: an agent's text must not move the cursor or turn the text around it."""
    return text.translate(_CONTROLS)


def about_size(count: float) -> str:
    """Return a number of bytes for people."""
    for size, unit in ((1e6, "MB"), (1e3, "kB")):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f} bytes"


def plain(text: StringOrMarkdown | None) -> str:
    """Return text, or Markdown as it is written."""
    return text.markdown if isinstance(text, Markdown) else text or ""


# -- progress ----------------------------------------------------------------------------------------------

_AFTER = 1.0
"""Seconds before anything is shown: quick work needs no bar."""
_EVERY = 0.1
_WIDTH = 30


@contextmanager
def progress(what: str, done: Callable[[], float] | None = None) -> Generator[None]:
    """Show progress for the length of a block, in a line that is removed afterwards.

    Args:
        what: A name for the work.
        done: Returns the part that is done, from 0 to 1. It is called on a thread. Without it, a sign turns.
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
    """Return a progress bar."""
    part = min(max(part, 0.0), 1.0)
    full = int(part * _WIDTH)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {part:4.0%}"
