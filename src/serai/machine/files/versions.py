"""Which version of a file one has seen: its etag."""

from __future__ import annotations

import os

__all__ = ["etag"]


def etag(info: os.stat_result) -> str:
    """A token that changes when a file does: its inode, size, and times of change to the nanosecond.

    The change time is the kernel's own and cannot be set back. Two changes within one tick of its clock that
    leave the size as it was cannot be told apart.
    """
    return f"{info.st_ino:x}-{info.st_size:x}-{info.st_mtime_ns:x}-{info.st_ctime_ns:x}"
