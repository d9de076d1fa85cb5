"""Bytes from file to file, a piece at a time: memory does not grow with the file."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator

__all__ = ["PIECE", "copy_range", "pieces", "write_all"]

PIECE = 256 * 1024

_BY_KERNEL = 64 * 1024 * 1024
_UNABLE = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.ENOTSUP})


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write all of it where the file stands, or at its end when it was opened for that."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def pieces(descriptor: int, start: int, end: int, size: int = PIECE) -> Iterator[bytes]:
    """What is in a file between two offsets. All but the last have that size; a file may end early."""
    while start < end:
        wanted = min(size, end - start)
        piece = os.pread(descriptor, wanted, start)
        while (
            piece
            and len(piece) < wanted
            and (more := os.pread(descriptor, wanted - len(piece), start + len(piece)))
        ):
            piece += more
        if not piece:
            return
        yield piece
        start += len(piece)


def copy_range(source: int, destination: int, start: int, end: int, at: int) -> None:
    """Copy what is between two offsets to an offset of another file. Holes stay holes.

    The destination is as long afterwards as if all had been written, unless the source ended early.
    """
    end = min(end, os.fstat(source).st_size)
    if start >= end:
        return
    shift = at - start
    for first, last in _filled(source, start, end):
        _copy_filled(source, destination, first, last, first + shift)
    if os.fstat(destination).st_size < end + shift:
        os.ftruncate(destination, end + shift)


def _filled(descriptor: int, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The parts of a file between two offsets that hold data."""
    while start < end:
        try:
            first = os.lseek(descriptor, start, os.SEEK_DATA)
            last = os.lseek(descriptor, first, os.SEEK_HOLE)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # nothing but a hole up to the end
            first, last = start, end  # this file system does not tell
        if first >= end:
            return
        yield first, min(last, end)
        start = last


def _copy_filled(source: int, destination: int, start: int, end: int, at: int) -> None:
    by_kernel = getattr(os, "copy_file_range", None)
    while start < end and by_kernel is not None:
        try:
            copied = by_kernel(source, destination, min(end - start, _BY_KERNEL), start, at)
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
            break
        if copied == 0:
            break
        start, at = start + copied, at + copied
    for piece in pieces(source, start, end):
        rest = memoryview(piece)
        while rest:
            written = os.pwrite(destination, rest, at)
            rest, at = rest[written:], at + written
