"""Files that look new and are not: they were there before, and have another name now.

A file that git did not see is known again by its number (the *inode*), which it keeps when it is renamed.
File systems give the number of a deleted file to the next one, so it counts only for a file that was made
before. Nobody has the numbers of what was not looked at, or was elsewhere. But what was made or written
before, and is new here, has been moved, or copied with its times; unless it has the number of a file that was
recorded (`inodes`).
"""

from __future__ import annotations

import ctypes
import functools
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass

__all__ = ["BIRTH_IS_ITS_OWN", "Moment", "identity_of", "made_at"]

_SECOND = 1_000_000_000
_BEHIND = 20_000_000
"""The times of files may be behind the clock, in nanoseconds,"""
_COARSE = 2 * _SECOND
"""and more so where a file system has whole seconds only."""

BIRTH_IS_ITS_OWN = sys.platform == "linux"
"""Whether a file was made when it says so. Elsewhere programs hand that over to the file that they save."""

_HERE, _NO_LINKS, _BIRTH = -100, 0x100, 0x800
"""How `statx` of Linux is asked when a file was made."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When it was looked what there is, in nanoseconds. What an agent does comes later."""

    time: int

    def is_after(self, written: int) -> bool:
        """Whether a file was clearly written before.

        Args:
            written: When the file says that it was, in nanoseconds.
        """
        return written < self.time - (_BEHIND if written % _SECOND else _COARSE)


def identity_of(place: bytes) -> int | None:
    """The number that a file keeps when it is renamed; `None` when it is not there. Reads the disk."""
    try:
        return os.lstat(place).st_ino or None
    except OSError:
        return None


def made_at(place: bytes, found: os.stat_result) -> int | None:
    """When a file was made, in nanoseconds, if the file system tells. Reads the disk.

    Args:
        place: Where it is.
        found: What is known of it already.
    """
    made = getattr(found, "st_birthtime", None)
    if made is not None:
        return int(made * _SECOND)
    ask = _statx()
    answer = ctypes.create_string_buffer(256)
    if ask is None or ask(_HERE, place, _NO_LINKS, _BIRTH, answer) != 0:
        return None
    if not int.from_bytes(answer.raw[:4], sys.byteorder) & _BIRTH:
        return None
    seconds, rest = (int.from_bytes(answer.raw[at:end], sys.byteorder) for at, end in ((80, 88), (88, 92)))
    return seconds * _SECOND + rest


@functools.cache
def _statx() -> Callable[..., int] | None:
    """Python cannot ask Linux when a file was made; the C library can."""
    try:
        return ctypes.CDLL(None).statx if sys.platform == "linux" else None
    except (OSError, AttributeError):
        return None
