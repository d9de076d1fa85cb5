"""How macOS and Windows tell what changes: through watchfiles.

watchfiles gives a set: what happened to one path is known, its order is not. So where both is said of a
path, that it came and that it went, the disk decides.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Literal

from watchfiles import Change
from watchfiles._rust_notify import RustNotify, WatchfilesRustInternalError

from serai.ahp.types import ResourceChangeType
from serai.machine.watch.failures import not_found, watch_failed
from serai.machine.watch.folders import Identity
from serai.machine.watch.source import LONGEST, QUIET, Event

__all__ = ["Portable", "in_order"]

_ADDED, _UPDATED, _DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED


class Portable:
    """A `Reader` on any system that watchfiles knows.

    Args:
        root: The folder, without links in its path.
        recursive: Whether what is in its folders is meant too.
        prunes: Which folders below, relative to the root, nobody wants to hear of.
    """

    def __init__(self, root: str, *, recursive: bool, prunes: Callable[[str], bool]) -> None:
        self._root = root
        self._recursive = recursive
        self._prunes = prunes
        self._start = len(root.rstrip(os.sep)) + 1
        self._stop = threading.Event()
        self._notify: RustNotify | None = None

    def open(self) -> Identity:
        """Begin to watch. Gives what is watched.

        Raises:
            ProtocolError: There is no such folder, or the system does not watch it.
        """
        try:
            self._notify = RustNotify(
                [self._root],
                debug=False,
                force_polling=False,
                poll_delay_ms=300,
                recursive=self._recursive,
                ignore_permission_denied=True,
            )
        except FileNotFoundError:
            raise not_found(self._root) from None
        except (OSError, WatchfilesRustInternalError) as error:
            raise watch_failed(self._root, str(error)) from error
        # watchfiles goes by the path. So it is asked afterwards whether that has led elsewhere.
        if os.path.realpath(self._root) != self._root:
            raise not_found(self._root)
        info = os.stat(self._root)  # noqa: PTH116 - a str
        return info.st_dev, info.st_ino

    def read(self) -> list[Event]:
        """Wait for changes, and then until it is quiet. Empty once `stop` was called.

        Raises:
            ProtocolError: The system does not watch any further.
        """
        while True:
            try:
                found = self._take()
            except WatchfilesRustInternalError:  # a name that it cannot read, for instance: it never recovers
                self.close()
                self.open()
                return [Event(_UPDATED, self._root)]
            if found == "stop":
                return []
            if not isinstance(found, str) and (events := in_order(found, self._listed)):
                return events

    def _take(self) -> set[tuple[int, str]] | Literal["signal", "stop", "timeout"]:
        if self._notify is None:
            raise RuntimeError("it was not opened")
        return self._notify.watch(round(LONGEST * 1e3), round(QUIET * 1e3), 0, self._stop)

    def stop(self) -> None:
        """Let `read` return within `QUIET`. Any thread may call it."""
        self._stop.set()

    def close(self) -> None:
        """Give back what the system lent."""
        if self._notify is not None:
            self._notify.close()
            self._notify = None

    def _listed(self, path: str) -> Iterator[str]:
        """All that is in a folder that has just come: the system tells the folder alone."""
        if not self._recursive or self._prunes(path[self._start :]) or not os.path.isdir(path):  # noqa: PTH112 - a str
            return
        for folder, folders, files in os.walk(path):
            folders[:] = [name for name in folders if not self._prunes(f"{folder}/{name}"[self._start :])]
            for name in (*folders, *files):
                yield f"{folder}{os.sep}{name}"


def in_order(found: set[tuple[int, str]], listed: Callable[[str], Iterator[str]]) -> list[Event]:
    """What a set of changes means, given what is on the disk now. Folders come before what is in them."""
    kinds: defaultdict[str, set[int]] = defaultdict(set)
    for kind, path in found:
        kinds[path].add(kind)
    events: list[Event] = []
    for path in sorted(kinds):
        here = kinds[path]
        if not os.path.lexists(path):
            # Without a word of its own it went with the folder that it was in.
            if Change.deleted in here:
                events += [Event(_ADDED, path)] * (Change.added in here)
                events.append(Event(_DELETED, path))
            continue
        if Change.deleted in here:
            events.append(Event(_DELETED, path))
            events.append(Event(_ADDED, path))
        elif Change.added in here:
            events.append(Event(_ADDED, path))
        else:
            events.append(Event(_UPDATED, path))
            continue
        if not os.path.islink(path):  # noqa: PTH114 - a str
            events += (Event(_ADDED, below) for below in listed(path))
    return events
