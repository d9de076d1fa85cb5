"""Opening folders one name at a time, and through no link.

So what is watched is what is at a path, whatever someone puts in its way meanwhile.
"""

from __future__ import annotations

import errno
import os
from typing import TypeAlias

__all__ = ["Folders", "Identity", "identity_of"]

Identity: TypeAlias = tuple[int, int]
"""Device and inode: what a folder is, whatever it is called."""

_FOLDER = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TO_WALK = _FOLDER | getattr(os, "O_PATH", os.O_RDONLY)
_TO_LIST = _FOLDER | os.O_RDONLY

# It is gone, is a link now, or may not be read.
_PASSED_OVER = frozenset({errno.EACCES, errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.EPERM})


def identity_of(handle: int) -> Identity:
    """What an open folder is."""
    info = os.fstat(handle)
    return info.st_dev, info.st_ino


class Folders:
    """Opens folders, one after the other. The one above the last stays open: the next is often beside it."""

    def __init__(self) -> None:
        self._above: tuple[str, int] | None = None

    def open(self, path: str) -> int | None:
        """A handle of a folder, to be listed. The caller closes it.

        Args:
            path: An absolute path without links in it.

        Returns:
            `None` when the folder is gone, there is a link on the way, or it may not be read.

        Raises:
            OSError: It cannot be opened for another reason.
        """
        above, _, name = path.rstrip("/").rpartition("/")
        try:
            return os.open(name or "/", _TO_LIST, dir_fd=self._walk_to(above) if name else None)
        except OSError as error:
            if error.errno not in _PASSED_OVER:
                raise
            return None

    def _walk_to(self, path: str) -> int:
        if self._above is not None and self._above[0] == path:
            return self._above[1]
        self.close()
        handle = os.open("/", _TO_WALK)
        for name in path.split("/"):
            if not name:
                continue
            try:
                below = os.open(name, _TO_WALK, dir_fd=handle)
            finally:
                os.close(handle)
            handle = below
        self._above = path, handle
        return handle

    def close(self) -> None:
        """Let go of what is still open. More can be opened afterwards."""
        if self._above is not None:
            os.close(self._above[1])
            self._above = None
