"""Where changes come from: what each system's way of telling them has in common."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError
from serai.machine.watch.failures import watch_failed
from serai.machine.watch.folders import Identity

__all__ = ["LONGEST", "QUIET", "Event", "InThread", "Reader", "Sink", "Source", "source_for"]

QUIET = 0.02
"""So long nothing may happen before a batch is told, in seconds."""
LONGEST = 0.05
"""So long a batch is held back at most."""


class Event(NamedTuple):
    """What happened to a path. `updated` on the root also says that it is not known what changed below."""

    kind: ResourceChangeType
    path: str
    whole: bool = False
    """It is a folder that was moved away: of what was in it nothing is told but this."""


class Sink(Protocol):
    """Who is told of changes. A source's thread calls it."""

    def opened(self, identity: Identity) -> None:
        """What happens from now on in this folder will be told."""
        ...

    def told(self, events: Sequence[Event]) -> None:
        """A batch, in the order in which things happened."""
        ...

    def over(self, error: ProtocolError | None) -> None:
        """Nothing more will be told, and what the system lent is given back. The last call, and the only."""
        ...


class Source(Protocol):
    """Tells what changes in a folder."""

    def start(self, sink: Sink) -> None:
        """Begin to watch, and return at once."""
        ...

    def stop(self) -> None:
        """End soon, also when it has not begun. Any thread may call it; doing it again does nothing."""
        ...

    def join(self) -> None:
        """Wait for the thread, if nobody else needs it. To be called when it has said that it has ended."""
        ...


class Reader(Protocol):
    """A way of telling changes that waits for them. All but `stop` is called by one thread."""

    def open(self) -> Identity:
        """Begin to watch; what happens in this folder after it returns will be told.

        Raises:
            ProtocolError: It cannot be watched.
        """
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


class InThread:
    """A `Source` that has a thread for a reader.

    Args:
        reader: What waits for changes.
        root: The folder that it watches.
    """

    def __init__(self, reader: Reader, root: str) -> None:
        self._reader = reader
        self._root = root
        self._thread: threading.Thread | None = None

    def start(self, sink: Sink) -> None:
        """See `Source`."""
        self._thread = threading.Thread(
            target=self._run, args=(sink,), name=f"watch {self._root}", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """See `Source`."""
        self._reader.stop()

    def join(self) -> None:
        """See `Source`."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, sink: Sink) -> None:
        error: ProtocolError | None = None
        try:
            sink.opened(self._reader.open())
            while events := self._reader.read():
                sink.told(events)
        except ProtocolError as failed:
            error = failed
        except Exception as failed:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            error = watch_failed(self._root, repr(failed))
        finally:
            self._reader.close()
            sink.over(error)


def source_for(root: str, *, recursive: bool, prunes: Callable[[str], bool]) -> Source:
    """The way that fits this system."""
    if sys.platform == "linux":
        from serai.machine.watch.hub import HubSource  # noqa: PLC0415 - only Linux has it

        return HubSource(root, recursive=recursive, prunes=prunes)
    from serai.machine.watch.portable import Portable  # noqa: PLC0415 - Linux does not need it

    return InThread(Portable(root, recursive=recursive, prunes=prunes), root)
