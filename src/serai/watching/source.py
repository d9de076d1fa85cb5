"""Where changes come from: what each system's way of telling them has in common."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Protocol, TypeAlias

from serai.ahp.types import ResourceChangeType

__all__ = ["LONGEST", "QUIET", "Event", "Source", "source_for"]

Event: TypeAlias = tuple[ResourceChangeType, str]
"""What happened, and the path. `updated` on the root also says that it is not known what changed below."""

QUIET = 0.02
"""So long nothing may happen before a batch is told, in seconds."""
LONGEST = 0.05
"""So long a batch is held back at most."""


class Source(Protocol):
    """Tells what changes in a folder. All but `stop` is called by one thread."""

    def open(self) -> None:
        """Begin to watch; what happens after it returns will be told. Raises a `ProtocolError`."""
        ...

    def read(self) -> list[Event]:
        """Wait for a batch, in the order in which things happened. Empty once `stop` was called."""
        ...

    def stop(self) -> None:
        """Let `open` and `read` return soon."""
        ...

    def close(self) -> None:
        """Give back what the system lent. Nothing is called afterwards."""
        ...


def source_for(root: str, *, recursive: bool, prunes: Callable[[str], bool]) -> Source:
    """The way that fits this system."""
    if sys.platform == "linux":
        from serai.watching.inotify import Inotify  # noqa: PLC0415 - only Linux has it

        return Inotify(root, recursive=recursive, prunes=prunes)
    from serai.watching.portable import Portable  # noqa: PLC0415 - Linux does not need it

    return Portable(root, recursive=recursive, prunes=prunes)
