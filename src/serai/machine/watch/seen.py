"""Paths as they were when they were looked at, to find out later whether something has changed.

For a few files in folders that are full of others: a watch on a home would be woken by all of them.
"""

from __future__ import annotations

import os


class SeenPaths:
    """What there was at some paths. All methods read the disk."""

    def __init__(self, *paths: str) -> None:
        self._marks: dict[str, tuple[int, ...] | None] = {}
        for path in paths:
            self.note(path)

    def note(self, path: str) -> None:
        """Note what is at a path, if it is not noted yet: to be done before it is read."""
        if path not in self._marks:
            self._marks[path] = _mark(path)

    def are_unchanged(self) -> bool:
        """Whether all of it is as it was."""
        return all(_mark(path) == mark for path, mark in self._marks.items())


def _mark(path: str) -> tuple[int, ...] | None:
    """What tells a file or a folder from another one, or from a later state; `None` when there is none."""
    try:
        info = os.stat(path)  # noqa: PTH116 - hundreds of them, once a second
    except (OSError, ValueError):
        return None
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns
