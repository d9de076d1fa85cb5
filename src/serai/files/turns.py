"""One after another: changes to one place by this host wait for each other."""

from __future__ import annotations

import os
import threading
import unicodedata
from collections.abc import Generator
from contextlib import ExitStack, contextmanager

from serai.files.handles import identity
from serai.files.walk import Place

__all__ = ["alone_at"]

# A fixed number of locks: two places may share one and wait for each other now and then, and none is ever
# forgotten.
_LOCKS = tuple(threading.Lock() for _ in range(256))


@contextmanager
def alone_at(*places: Place) -> Generator[None]:
    """Nobody else in this process changes these places meanwhile. Other programs may."""
    with ExitStack() as stack:
        for number in sorted(
            {_number(place) for place in places}
        ):  # in one order, so that no two wait crosswise
            stack.enter_context(_LOCKS[number])
        yield


def _number(place: Place) -> int:
    # Names that one file system takes for the same must share a lock, whatever another one does with them.
    name = unicodedata.normalize("NFKC", place.name.casefold()).casefold()
    return hash((identity(os.fstat(place.directory)), name)) % len(_LOCKS)
