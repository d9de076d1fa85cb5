"""What the systems' ways of telling changes have in common, and what keeps a watch from being made."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
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
        """What happens from now on in the folder will be told."""

    def told(self, events: Sequence[WatchEvent]) -> None:
        """A batch, in the order in which things happened."""

    def over(self, error: ProtocolError | None) -> None:
        """Nothing more will be told. The last call."""


def watch_folder(
    root: str, *, recursive: bool, prunes: Callable[[str], bool], sink: Sink
) -> Callable[[], None]:
    """Watch a folder in the way that fits this system.

    Args:
        root: The folder, without links in its path.
        recursive: Whether what is in its folders is meant too.
        prunes: Which folders below, relative to the root, are left out with all that is in them.
        sink: Who is told.

    Returns:
        What ends it soon: any thread may call it, also again.
    """
    if sys.platform == "linux":
        from serai.machine.watch.inotify import watch_folder as watch  # noqa: PLC0415 - only Linux has it
    else:
        from serai.machine.watch.portable import watch_folder as watch  # noqa: PLC0415 - the others
    return watch(root, recursive=recursive, prunes=prunes, sink=sink)


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
