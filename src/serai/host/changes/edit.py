"""A block that may change files, as whoever runs it knows it."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

__all__ = ["Edit"]


class Edit:
    """What may be done to some files within a block."""

    def __init__(self, begin: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self.is_off = False
        """Whether it turned out that nothing is done: what others do to the files is their own."""
        self.begin = begin
        """To be called if it begins only now: what there is now was there before."""
