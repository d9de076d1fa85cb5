"""The numbers (*inodes*) that recorded files had at a base: by them they are known under any other name.

The private index has them. git never changes an index, but puts another in its place, so that a second name
for it is all that it takes to keep one. That is done for the latest bases, and for the first, which is that
of the session; where it is not, nothing is known.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress

from serai.changes.mirror import Mirror
from serai.changes.moved import Moment
from serai.changes.writing import share
from serai.errors import GitFailed, GitTimedOut

__all__ = ["keep_inodes", "kept_inodes", "short"]

_KEPT = "index-"
MOST, _FEWEST, _MOST_BYTES = 32, 4, 32 << 20
"""So many are kept, as long as they are not larger than that together; but a few in any case."""

_ENTRY = re.compile(
    rb"[^\0]+\0  ctime: [^\n]*\n  mtime: [^\n]*\n  dev: \d+\tino: (\d+)\n  uid: [^\n]*\n  size: [^\n]*\n"
)
"""How git tells what it knows of a file."""


def short(inode: int) -> int:
    """As much of a number as an index has."""
    return inode & 0xFFFFFFFF


def keep_inodes(mirror: Mirror, at: int) -> None:
    """Keep the numbers that files have now, as the private index has them. Writes to the disk.

    Args:
        mirror: The private side.
        at: What they are to be known by: when the margin of the base was made.
    """
    with suppress(OSError):  # then they are not known
        share(mirror.index, mirror.folder / f"{_KEPT}{at}")
        kept = sorted(mirror.folder.glob(f"{_KEPT}[0-9]*"))  # their numbers are of the same length
        size = sum(place.stat().st_size for place in kept)
        while len(kept) > _FEWEST + 1 and (len(kept) > MOST or size > _MOST_BYTES):
            oldest = kept.pop(1)
            size -= oldest.stat().st_size
            oldest.unlink()


async def kept_inodes(mirror: Mirror, moment: Moment) -> frozenset[int] | None:
    """The numbers of the files in the directory that a base has, in short; `None` when they are not known.

    Args:
        mirror: The private side.
        moment: When the margin of the base was made.
    """
    index = mirror.folder / f"{_KEPT}{moment.time}"
    if not os.path.exists(index):  # noqa: ASYNC240, PTH110 - one look at a file of our own
        return None
    try:
        answer = await mirror.run(
            *("ls-files", "--debug", "-z", *mirror.scope),
            doing="see which files there were",
            environment=mirror.environment(index),
        )
    except GitTimedOut:
        raise
    except GitFailed:
        return None  # part of it is gone
    return frozenset(map(int, _ENTRY.findall(answer.output)))
