"""Watches on macOS: through watchfiles, with a thread for each folder.

watchfiles gives a set: what happened to a path is known, but not in which order. So where a path was both
added and deleted, the disk decides.
"""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator

from watchfiles import Change, watch

from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError
from serai.machine.files.refusals import not_found
from serai.machine.watch.events import LONGEST, QUIET, Sink, WatchEvent, watch_failed

_ADDED, _UPDATED, _DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED

_POLL = 100
"""Milliseconds after which watchfiles gives an empty set: the first one says that it watches."""


def watch_folder(
    root: str, *, recursive: bool, prunes: Callable[[str], bool], sink: Sink
) -> Callable[[], None]:
    """Watch a folder, as `inotify.watch_folder` does."""
    stop = threading.Event()

    def run() -> None:
        error: ProtocolError | None = None
        try:
            _watch(root, recursive, prunes, sink, stop)
        except ProtocolError as failed:
            error = failed
        except FileNotFoundError:
            error = not_found(root)
        except Exception as failed:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            error = watch_failed(root, repr(failed))
        sink.ended(error)

    threading.Thread(target=run, name=f"watch {root}", daemon=True).start()
    return stop.set


def _watch(
    root: str, recursive: bool, prunes: Callable[[str], bool], sink: Sink, stop: threading.Event
) -> None:
    start = len(root.rstrip(os.sep)) + 1
    is_open = False

    def leaves_out(path: str) -> bool:
        return not recursive or prunes(path[start:])

    for found in watch(
        root,
        watch_filter=None,
        debounce=round(LONGEST * 1e3),
        step=round(QUIET * 1e3),
        stop_event=stop,
        rust_timeout=_POLL,
        yield_on_timeout=True,
        recursive=recursive,
        raise_interrupt=False,
        ignore_permission_denied=True,
    ):
        if not is_open:
            is_open = True
            # watchfiles opens the path by name. So afterwards it is checked whether the path leads elsewhere.
            if os.path.realpath(root) != root:
                raise not_found(root)
            sink.opened()
        if events := in_order(found, lambda path: _listed(path, leaves_out)):
            sink.changed(events)


def _listed(path: str, prunes: Callable[[str], bool]) -> Iterator[str]:
    """Yield all that is in a new folder: the system reports the folder alone."""
    if prunes(path) or not os.path.isdir(path):  # noqa: PTH112 - a str
        return
    for folder, folders, files in os.walk(path):
        folders[:] = [name for name in folders if not prunes(f"{folder}/{name}")]
        for name in (*folders, *files):
            yield f"{folder}{os.sep}{name}"


def in_order(found: set[tuple[Change, str]], listed: Callable[[str], Iterator[str]]) -> list[WatchEvent]:
    """Return the events that a set of changes means, given what is on the disk now, folders first."""
    kinds: defaultdict[str, set[int]] = defaultdict(set)
    for kind, path in found:
        kinds[path].add(kind)
    events: list[WatchEvent] = []
    for path in sorted(kinds):
        here = kinds[path]
        if not os.path.lexists(path):
            # Without an event of its own it went with its folder.
            if Change.deleted in here:
                events += [WatchEvent(_ADDED, path)] * (Change.added in here)
                events.append(WatchEvent(_DELETED, path))
            continue
        if Change.deleted in here:
            events.append(WatchEvent(_DELETED, path))
            events.append(WatchEvent(_ADDED, path))
        elif Change.added in here:
            events.append(WatchEvent(_ADDED, path))
        else:
            events.append(WatchEvent(_UPDATED, path))
            continue
        if not os.path.islink(path):  # noqa: PTH114 - a str
            events += (WatchEvent(_ADDED, below) for below in listed(path))
    return events
