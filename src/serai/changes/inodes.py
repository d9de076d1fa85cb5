"""The numbers (*inodes*) that recorded files had at a base: by them they are known under any other name.

The private index has them. git never changes an index, but puts another in its place, so that a second name
for it is all that it takes to keep one. That is done for the latest bases, and for the first, which is that
of the session. A fork has those of the session that it is from as well.

Where they are not kept, an index that is older tells of files that were there before it; and so does the
person's own, of files that nobody had touched when the base was made, or that are committed. Of files that
it had not, or otherwise, the margin of a base has the numbers, in any case.
"""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from serai.changes.mirror import Mirror
from serai.changes.moved import Moment
from serai.changes.writing import share
from serai.errors import GitFailed, GitTimedOut

__all__ = ["keep_inodes", "kept_inodes", "other_inodes", "short", "take_inodes"]

_KEPT, _TAKEN = "index-", "taken-index-"
"""What is kept here, and what another session has kept."""
MOST, _FEWEST, _MOST_BYTES = 32, 4, 32 << 20
"""So many are kept, as long as they are not larger than that together; but a few in any case."""
MOST_NAMES = 512
"""One index may have many names: as long as nothing changes, it stays the same. It has no more than these."""

_ENTRY = re.compile(
    rb"\d+ (?P<content>[0-9a-f]+) \d\t(?P<path>[^\0]+)\0  ctime: (?P<second>\d+):(?P<rest>\d+)\n"
    rb"  mtime: [^\n]*\n  dev: \d+\tino: (?P<inode>\d+)\n  uid: [^\n]*\n  size: [^\n]*\n"
)
"""How git tells what it knows of a file."""
_SECOND = 1_000_000_000


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
        _drop_older(_kept_in(mirror.folder, _KEPT))


def take_inodes(mirror: Mirror, folder: Path) -> None:
    """Keep what another private side of the same place has kept, too. Writes to the disk.

    Args:
        mirror: The private side.
        folder: The other one.
    """
    with suppress(OSError):
        for name in (_TAKEN, _KEPT):
            for place in _kept_in(folder, name):
                share(place, mirror.folder / f"{_TAKEN}{place.name.removeprefix(name)}")
        _drop_older(_kept_in(mirror.folder, _TAKEN))


def _kept_in(folder: Path, name: str) -> list[Path]:
    return sorted(folder.glob(f"{name}[0-9]*[0-9]"))  # their numbers are of the same length


def _drop_older(kept: list[Path]) -> None:
    """Drop all but the first and the latest. What has several names counts once."""
    known: set[int] = set()
    size = 0
    for count, place in enumerate((*kept[:1], *kept[:0:-1]), 1):
        found = place.stat()
        if found.st_ino not in known:
            is_more = len(known) >= MOST or size + found.st_size > _MOST_BYTES
            if is_more and len(known) > _FEWEST:
                place.unlink()
                continue
            known.add(found.st_ino)
            size += found.st_size
        if count > MOST_NAMES:
            place.unlink()


async def kept_inodes(mirror: Mirror, moment: Moment) -> frozenset[int] | None:
    """The numbers of the files in the directory that a base has, in short; `None` when they are not known.

    Args:
        mirror: The private side.
        moment: When the margin of the base was made.

    Raises:
        GitTimedOut: git takes too long.
    """
    for name in (_KEPT, _TAKEN):
        index = mirror.folder / f"{name}{moment.time}"
        if os.path.exists(index):  # noqa: ASYNC240, PTH110 - one look at a file of our own
            entries = await _entries(mirror, index)
            return None if entries is None else frozenset(int(entry["inode"]) for entry in entries)
    return None


async def other_inodes(
    mirror: Mirror,
    moment: Moment,
    made: Mapping[int, int],
    places: Collection[str],
    contents: Collection[str],
) -> frozenset[int]:
    """Which files were recorded all the same, as other indexes tell; by their numbers, in short.

    These are files that were in a place that the base has before it was made, and, in the person's index,
    files with content that comes back.

    Args:
        mirror: The private side.
        moment: When the margin of the base was made.
        made: The files that are asked for: when each was made, in nanoseconds, by its number, in short. An
            index may be old, and the number another file's by now.
        places: Paths of files that the base has, from the root of the work tree.
        contents: The contents that come back.

    Raises:
        GitTimedOut: git takes too long.
    """
    own = Path(mirror.repository.git_dir, "index")
    earlier = [
        (int(place.name.removeprefix(name)), place)
        for name in ((_KEPT, _TAKEN) if places else ())
        for place in _kept_in(mirror.folder, name)
    ]
    latest = max((found for found in earlier if found[0] < moment.time), default=None)
    known: set[int] = set()
    for index in (own, latest[1]) if latest else (own,):
        for entry in await _entries(mirror, index) or ():
            inode = int(entry["inode"])
            if inode not in made:
                continue
            changed = int(entry["second"]) * _SECOND + int(entry["rest"])
            was_there = os.fsdecode(entry["path"]) in places and moment.is_after(changed)
            comes_back = index == own and entry["content"].decode() in contents
            if changed >= made[inode] and (was_there or comes_back):
                known.add(inode)
    return frozenset(known)


async def _entries(mirror: Mirror, index: Path) -> Iterator[re.Match[bytes]] | None:
    """What an index has of the files in the directory; `None` when part of it is gone."""
    try:
        answer = await mirror.run(
            *("ls-files", "--debug", "--stage", "-z", *mirror.scope),
            doing="see which files there were",
            environment=mirror.environment(index),
        )
    except GitTimedOut:
        raise
    except GitFailed:
        return None
    return _ENTRY.finditer(answer.output)
