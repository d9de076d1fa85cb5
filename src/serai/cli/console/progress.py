"""Progress of what takes longer than a second: one line on standard error, where a person looks at it."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import cycle

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
