"""Noticing that other files are ignored than before.

New files that were seen once are in the private index, and git does not ask about those again. So whenever a
list of ignored files changes that is on the way to one of them, the index has to be made anew. Such a list
may be above the working directory, or be ignored itself, so that git names it nowhere. Its times tell.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

__all__ = ["IgnoreLists"]

_SLACK = 50_000_000
"""The times of files may be behind the clock, in nanoseconds."""


class IgnoreLists:
    """The `.gitignore` files on the way to some files. All methods read the disk.

    Args:
        top: The root of the work tree.
    """

    def __init__(self, top: str) -> None:
        self._top = top
        self._seen: dict[str, object] = {}

    def watch(self, paths: Iterable[str], looked_at: int) -> None:
        """Have an eye on the lists on the way to these files.

        Args:
            paths: The files, by their paths from the root.
            looked_at: When git began to look for them, in nanoseconds. A list that changed since may be
                another than git read, and counts as changed.
        """
        seen = dict(self._seen)
        for path in paths:
            folder = path
            while folder:
                folder = folder.rpartition("/")[0]
                if folder in seen:
                    break
                stamp = self._stamp(folder)
                seen[folder] = object() if stamp and stamp[-1] >= looked_at - _SLACK else stamp
        self._seen = seen

    def have_changed(self) -> bool:
        """Whether one of the lists is another than it was."""
        return any(self._stamp(folder) != stamp for folder, stamp in self._seen.items())

    def forget(self) -> None:
        """Begin anew, with no file."""
        self._seen = {}

    def _stamp(self, folder: str) -> tuple[int, ...] | None:
        try:
            found = os.lstat(f"{self._top}/{folder}/.gitignore")
        except OSError:
            return None
        return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
