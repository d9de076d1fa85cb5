"""Changes of files, common to all systems: events, their receiver, errors, and paths that are polled."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import NamedTuple, Protocol

from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError

QUIET = 0.02
"""Seconds without a change after which a batch is sent."""
LONGEST = 0.05
"""Longest time that a batch is held back, in seconds."""


class WatchEvent(NamedTuple):
    """A change of a path. `updated` on the root also means that anything below may have changed."""

    kind: ResourceChangeType
    path: str
    whole: bool = False
    """True for a folder that was moved away: what was in it is not reported one by one."""


class Sink(Protocol):
    """A receiver of the changes of a folder. It is called on a thread."""

    def opened(self) -> None:
        """Note that the folder is watched from now on."""

    def changed(self, events: Sequence[WatchEvent]) -> None:
        """Take a batch of changes, in the order in which they happened."""

    def ended(self, error: ProtocolError | None) -> None:
        """Note that nothing more comes. This is the last call."""


def watch_limit(path: str, setting: str, otherwise: str) -> ProtocolError:
    """Return the error for a limit of the system that is reached (-32603, `watch_limit`)."""
    return _failure(
        "watch_limit",
        f"{path} cannot be watched: the system's limit {setting} is reached",
        f"Raise it (sysctl -w {setting}=...), or {otherwise}",
    )


def watch_failed(path: str, reason: str) -> ProtocolError:
    """Return the error for any other reason not to watch a path (-32603, `watch_failed`)."""
    return _failure("watch_failed", f"{path} cannot be watched: {reason}", "Watch another folder")


def _failure(code: str, message: str, remedy: str) -> ProtocolError:
    error = ProtocolError(message, data={"code": code, "remedy": remedy})
    error.remedy = remedy
    return error


class SeenPaths:
    """Notes about paths, to find out later whether something there has changed.

    They are for a few files in folders that are full of others: a watch on a home would be woken by all of
    them. All methods read the disk.
    """

    def __init__(self, *paths: str) -> None:
        self._marks: dict[str, tuple[int, ...] | None] = {}
        for path in paths:
            self.note(path)

    def note(self, path: str) -> None:
        """Note the state of a path, unless it is noted already. Call this before the path is read."""
        if path not in self._marks:
            self._marks[path] = _mark(path)

    def are_unchanged(self) -> bool:
        """Tell whether all paths are as they were."""
        return all(_mark(path) == mark for path, mark in self._marks.items())


def _mark(path: str) -> tuple[int, ...] | None:
    """Return what identifies the state of a file or folder; `None` when it does not exist."""
    try:
        info = os.stat(path)  # noqa: PTH116 - hundreds of them, once a second
    except (OSError, ValueError):
        return None
    return info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns
