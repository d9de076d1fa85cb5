"""What the systems' ways of telling changes have in common, and what keeps a watch from being made."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError

QUIET = 0.02
"""Time in seconds without a change after which a batch is told."""
LONGEST = 0.05
"""Longest time in seconds that a batch is held back."""


class WatchEvent(NamedTuple):
    """A change of a path. `updated` on the root also says that it is not known what changed below."""

    kind: ResourceChangeType
    path: str
    whole: bool = False
    """It is a folder that was moved away: of what was in it nothing is told but this."""


class Sink(Protocol):
    """Gets the changes of a folder, on a thread."""

    def opened(self) -> None:
        """The folder is watched from now on."""

    def changed(self, events: Sequence[WatchEvent]) -> None:
        """A batch of changes, in the order in which they happened."""

    def ended(self, error: ProtocolError | None) -> None:
        """Nothing more comes. The last call."""


def watch_limit(path: str, setting: str, otherwise: str) -> ProtocolError:
    """A limit of the system is reached (-32603, `watch_limit`)."""
    return _failure(
        "watch_limit",
        f"{path} cannot be watched: the system's limit {setting} is reached",
        f"Raise it (sysctl -w {setting}=...), or {otherwise}",
    )


def watch_failed(path: str, reason: str) -> ProtocolError:
    """The system does not watch this path for another reason (-32603, `watch_failed`)."""
    return _failure("watch_failed", f"{path} cannot be watched: {reason}", "Watch another folder")


def _failure(code: str, message: str, remedy: str) -> ProtocolError:
    error = ProtocolError(message, data={"code": code, "remedy": remedy})
    error.remedy = remedy
    return error


class SeenPaths:
    """Paths as they were when they were looked at, to find out later whether something has changed.

    For a few files in folders that are full of others: a watch on a home would be woken by all of them.
    All methods read the disk.
    """

    def __init__(self, *paths: str) -> None:
        self._marks: dict[str, tuple[int, ...] | None] = {}
        for path in paths:
            self.note(path)

    def note(self, path: str) -> None:
        """Note what is at a path, unless it is noted already. To be called before the path is read."""
        if path not in self._marks:
            self._marks[path] = _mark(path)

    def are_unchanged(self) -> bool:
        """Tell whether all of it is as it was."""
        return all(_mark(path) == mark for path, mark in self._marks.items())


def _mark(path: str) -> tuple[int, ...] | None:
    """Return what tells a file or folder from another one, or from a later state; `None` without any."""
    try:
        info = os.stat(path)  # noqa: PTH116 - hundreds of them, once a second
    except (OSError, ValueError):
        return None
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns
