"""One after another: changes to one place by this host wait for each other."""

from __future__ import annotations

import os
import threading
import unicodedata
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from typing import TypeAlias

from serai.machine.files.handles import Identity, identity
from serai.machine.files.lanes import is_brief, takes_long
from serai.machine.files.walk import Place

__all__ = ["alone_at"]

_Where: TypeAlias = tuple[Identity, str]

_PATIENCE = 0.2
"""So long a place is waited for among short work, in seconds. Beyond, someone does something long there."""

_guard = threading.Lock()


class _Turn:
    """A lock, and how many have it or wait for it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.wanted = 0


_turns: dict[_Where, _Turn] = {}


@contextmanager
def alone_at(*places: Place) -> Generator[None]:
    """Nobody else in this process changes these places meanwhile. Other programs may."""
    with ExitStack() as stack:
        for where in sorted({_where(place) for place in places}):  # in one order: no two wait crosswise
            stack.enter_context(_alone(where))
        yield


@contextmanager
def _alone(where: _Where) -> Generator[None]:
    with _guard:
        turn = _turns.setdefault(where, _Turn())
        turn.wanted += 1
    try:
        if not turn.lock.acquire(timeout=_PATIENCE if is_brief() else -1):
            takes_long()
        try:
            yield
        finally:
            turn.lock.release()
    finally:
        with _guard:
            turn.wanted -= 1
            if not turn.wanted:
                del _turns[where]


def _where(place: Place) -> _Where:
    # Names that one file system takes for the same must share a lock, whatever another one does with them.
    name = unicodedata.normalize("NFKC", place.name.casefold()).casefold()
    return identity(os.fstat(place.directory)), name
