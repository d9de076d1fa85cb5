"""Watches on Linux: one inotify instance, and one thread, for all folders.

Why not watchfiles here: on Linux it holds the interpreter's lock while it walks a tree, follows links out of
it, does not tell files that are made in a new folder before it looks, is stopped for good by one name that
is not UTF-8, and either hides that the system's limit is reached or fails at the first folder that it may
not read (figures: docs/benchmarks.md).

The system gives a person few instances (128 by default) and many watches, so all folders share one, which
stays. No link is followed: folders are opened from handle to handle.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import queue
import select
import struct
import threading
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from functools import cache
from typing import Final, NamedTuple

from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError
from serai.machine.files.refusals import not_found
from serai.machine.safe_paths import MAX_DEPTH, PathRefused, open_below
from serai.machine.watch.events import LONGEST, QUIET, Sink, WatchEvent, watch_failed, watch_limit

_ADDED, _UPDATED, _DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED

# <sys/inotify.h>
_MODIFY: Final = 0x2
_ATTRIB: Final = 0x4
_MOVED_FROM: Final = 0x40
_MOVED_TO: Final = 0x80
_CREATE: Final = 0x100
_DELETE: Final = 0x200
_DELETE_SELF: Final = 0x400
_MOVE_SELF: Final = 0x800
_UNMOUNT: Final = 0x2000
_Q_OVERFLOW: Final = 0x4000
_IGNORED: Final = 0x8000
_ONLYDIR: Final = 0x1000000
_EXCL_UNLINK: Final = 0x4000000
_ISDIR: Final = 0x40000000

_NEW: Final = _CREATE | _MOVED_TO
_GONE: Final = _DELETE | _MOVED_FROM | _DELETE_SELF | _MOVE_SELF | _UNMOUNT
_ALL: Final = _MODIFY | _ATTRIB | _NEW | _GONE & ~_UNMOUNT | _ONLYDIR | _EXCL_UNLINK

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_SKIPPED = frozenset({errno.EACCES, errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.EPERM})
"""Errors of a folder that is gone by now, is a link, or cannot be read."""

_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_BUFFER = 65_536


class InotifyEvent(NamedTuple):
    """An event of the system. Without a name it is about the watched folder itself."""

    watch: int
    mask: int
    name: str


class Inotify:
    """An inotify instance. All calls belong to one thread; they let other threads run.

    Raises:
        ProtocolError: The system gives no instance.
    """

    def __init__(self) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._inotify = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._inotify < 0:
            number = ctypes.get_errno()
            if number == errno.EMFILE:
                otherwise = "end other programs that watch files: only one is needed here"
                raise watch_limit("a folder", "fs.inotify.max_user_instances", otherwise)
            raise watch_failed("a folder", os.strerror(number))

    def add(self, path: str, handle: int) -> int | None:
        """Watch an open folder; `path` is its name in errors.

        Returns:
            The number of the watch, the same one for the same folder; `None` when it is gone or cannot be
            read.

        Raises:
            ProtocolError: The system allows no more watches.
        """
        # A path could lead elsewhere by now; a handle cannot. The system takes it in this form.
        watch = self._libc.inotify_add_watch(self._inotify, b"/proc/self/fd/%d" % handle, _ALL)
        if watch >= 0:
            return watch
        number = ctypes.get_errno()
        if number == errno.ENOSPC:
            otherwise = "exclude folders such as **/node_modules/**"
            raise watch_limit(path, "fs.inotify.max_user_watches", otherwise)
        if number not in _SKIPPED:
            raise watch_failed(path, os.strerror(number))
        return None

    def remove(self, watch: int) -> None:
        """Remove a watch, if there is one."""
        self._libc.inotify_rm_watch(self._inotify, watch)

    def wait(self, wake: int, seconds: float | None) -> bool:
        """Wait until there are events or another descriptor is readable. Returns whether there are events."""
        poll = select.poll()
        poll.register(self._inotify, select.POLLIN)
        poll.register(wake, select.POLLIN)
        # Rounded up, so that no remainder is left that is too short to wait for.
        ready = poll.poll(None if seconds is None else int(seconds * 1e3) + 1 if seconds else 0)
        return any(descriptor == self._inotify for descriptor, _ in ready)

    def read(self) -> list[InotifyEvent]:
        """Read the events that fit into one read; none when there are none."""
        try:
            data = os.read(self._inotify, _BUFFER)
        except BlockingIOError:
            return []
        events: list[InotifyEvent] = []
        at = 0
        while at < len(data):
            watch, mask, _cookie, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            events.append(InotifyEvent(watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))))
            at += length
        return events

    def close(self) -> None:
        """Close the instance."""
        os.close(self._inotify)


def watch_folder(
    root: str, *, recursive: bool, prunes: Callable[[str], bool], sink: Sink
) -> Callable[[], None]:
    """Watch a folder.

    Args:
        root: The folder, without links in its path.
        recursive: Whether what is in its folders is meant too.
        prunes: Tells which folders below, relative to the root, are left out with all that is in them.
        sink: Receives the changes.

    Returns:
        A function that ends the watch soon. Any thread may call it, also again.
    """
    tree = _WatchedTree(root, recursive, prunes, sink)
    try:
        hub = _hub()
    except ProtocolError as error:
        sink.ended(error)
        return lambda: None
    hub.request(tree, wanted=True)
    return lambda: hub.request(tree, wanted=False)


@dataclass(eq=False, slots=True)
class _WatchedTree:
    """A root with the folders in it that have a watch."""

    root: str
    recursive: bool
    prunes: Callable[[str], bool]
    sink: Sink
    paths: dict[int, str] = field(default_factory=dict[int, str])
    """Watched folders, by the numbers of their watches."""
    events: list[WatchEvent] = field(default_factory=list[WatchEvent])
    """Events that were not sent yet."""

    def enters(self, path: str) -> bool:
        """Tell whether a folder below is to be watched, too."""
        return self.recursive and not self.prunes(path[len(self.root.rstrip("/")) + 1 :])


class _Hub:
    """The inotify instance and its thread, with the trees that they watch."""

    def __init__(self) -> None:
        self._inotify = Inotify()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._requests: queue.SimpleQueue[tuple[_WatchedTree, bool]] = queue.SimpleQueue()
        self._trees: dict[_WatchedTree, None] = {}
        self._listeners: dict[int, list[_WatchedTree]] = {}
        """Trees that listen to each watch."""
        self._first_at = self._last_at = 0.0
        """Times of the first and the last event that were not sent yet; the first is 0 without any."""
        threading.Thread(target=self._run, name="watch folders", daemon=True).start()

    def request(self, tree: _WatchedTree, *, wanted: bool) -> None:
        """Ask the thread to watch a tree, or to drop it. Any thread may call this."""
        self._requests.put((tree, wanted))
        os.eventfd_write(self._wake, 1)

    # -- the thread ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        while True:
            try:
                if self._inotify.wait(self._wake, self._time_until_due()):
                    self._read_events()
                self._take_requests()
                self._send_if_due()
            except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
                for tree in list(self._trees):
                    self._drop(tree, watch_failed(tree.root, repr(error)))

    def _take_requests(self) -> None:
        with contextlib.suppress(BlockingIOError):
            os.eventfd_read(self._wake)
        while not self._requests.empty():
            tree, wanted = self._requests.get()
            if wanted:
                self._trees[tree] = None
                with self._failing(tree):
                    self._enter_root(tree)
                    tree.sink.opened()
            elif tree in self._trees:
                self._drop(tree, None)

    def _drop(self, tree: _WatchedTree, error: ProtocolError | None) -> None:
        """Stop watching a tree."""
        del self._trees[tree]
        for watch in list(tree.paths):
            self._leave(tree, watch)
        tree.sink.ended(error)

    @contextlib.contextmanager
    def _failing(self, tree: _WatchedTree) -> Generator[None]:
        """End a tree that cannot be watched any further, without harm to the others."""
        try:
            yield
        except ProtocolError as error:
            self._drop(tree, error)
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            self._drop(tree, watch_failed(tree.root, repr(error)))

    # -- folders -------------------------------------------------------------------------------------------

    def _enter_root(self, tree: _WatchedTree) -> None:
        try:
            handle = open_below("/", tree.root, os.O_DIRECTORY, links=False)
        except (FileNotFoundError, NotADirectoryError, PathRefused):
            raise not_found(tree.root) from None
        except OSError as error:
            raise watch_failed(tree.root, error.strerror or "it may not be read") from None
        try:
            self._enter(tree, tree.root, handle)
            if not tree.paths:
                raise watch_failed(tree.root, "it may not be read")
        finally:
            os.close(handle)

    def _enter(
        self, tree: _WatchedTree, path: str, handle: int, *, is_new: bool = False, depth: int = 0
    ) -> None:
        """Watch an open folder and, where that is wanted, those in it.

        It is listed after its watch is set, so nothing is missed between the two; some events come twice.
        With `is_new`, all entries that are found count as added.
        """
        watch = self._inotify.add(path, handle)
        if watch is None or watch in tree.paths:
            return
        tree.paths[watch] = path
        self._listeners.setdefault(watch, []).append(tree)
        if not tree.recursive or depth > MAX_DEPTH:
            return
        for name in self._folders_in(tree, path, handle, is_new=is_new):
            try:
                below = os.open(name, _FOLDER, dir_fd=handle)
            except OSError as error:
                if error.errno not in _SKIPPED:
                    raise
                continue
            try:
                self._enter(tree, f"{path.rstrip('/')}/{name}", below, is_new=is_new, depth=depth + 1)
            finally:
                os.close(below)

    @staticmethod
    def _folders_in(tree: _WatchedTree, path: str, handle: int, *, is_new: bool) -> list[str]:
        """Return the names of the folders in a folder that are to be watched."""
        folders: list[str] = []
        try:
            with os.scandir(handle) as entries:
                for entry in entries:
                    below = f"{path.rstrip('/')}/{entry.name}"
                    if is_new:
                        tree.events.append(WatchEvent(_ADDED, below))
                    if entry.is_dir(follow_symlinks=False) and tree.enters(below):
                        folders.append(entry.name)
        except OSError:  # it is gone already, or may not be listed
            return []
        return folders

    def _leave(self, tree: _WatchedTree, watch: int) -> None:
        """Stop watching a folder for a tree; a watch without listeners is removed."""
        del tree.paths[watch]
        others = self._listeners[watch]
        others.remove(tree)
        if not others:
            del self._listeners[watch]
            self._inotify.remove(watch)

    # -- events --------------------------------------------------------------------------------------------

    def _read_events(self) -> None:
        for event in self._inotify.read():
            if event.mask & _Q_OVERFLOW:
                self._restart()
                return
            if event.mask & _IGNORED:
                for tree in self._listeners.pop(event.watch, ()):
                    tree.paths.pop(event.watch, None)
                continue
            for tree in tuple(self._listeners.get(event.watch, ())):
                with self._failing(tree):
                    self._interpret(tree, event)
                if tree.events:
                    self._note_time()

    def _interpret(self, tree: _WatchedTree, event: InotifyEvent) -> None:
        mask, folder = event.mask, tree.paths[event.watch]
        if not event.name:
            if folder == tree.root:
                tree.events.append(WatchEvent(_DELETED if mask & _GONE else _UPDATED, folder))
            return
        path = f"{folder.rstrip('/')}/{event.name}"
        if mask & _NEW:
            tree.events.append(WatchEvent(_ADDED, path))
            if mask & _ISDIR and tree.enters(path):
                self._enter_new(tree, path)
        elif mask & _GONE:
            is_moved = bool(mask & _MOVED_FROM and mask & _ISDIR)
            tree.events.append(WatchEvent(_DELETED, path, whole=is_moved))
            if is_moved:  # what happens in it no longer matters
                for watch in [at for at, each in tree.paths.items() if f"{each}/".startswith(f"{path}/")]:
                    self._leave(tree, watch)
        else:
            tree.events.append(WatchEvent(_UPDATED, path))

    def _enter_new(self, tree: _WatchedTree, path: str) -> None:
        try:
            handle = open_below("/", path, os.O_DIRECTORY, links=False)
        except OSError as error:
            if not isinstance(error, PathRefused) and error.errno not in _SKIPPED:
                raise
            return
        try:
            self._enter(tree, path, handle, is_new=True)
        finally:
            os.close(handle)

    def _restart(self) -> None:
        """Watch from scratch after the system has dropped events, and report a change of everything."""
        before, self._inotify = self._inotify, Inotify()
        before.close()
        self._listeners.clear()
        for tree in list(self._trees):
            tree.paths.clear()
            with self._failing(tree):
                self._enter_root(tree)
                tree.events.append(WatchEvent(_UPDATED, tree.root))
        self._note_time()

    # -- batches -------------------------------------------------------------------------------------------

    def _note_time(self) -> None:
        self._last_at = time.monotonic()
        self._first_at = self._first_at or self._last_at

    def _time_until_due(self) -> float | None:
        """Return the seconds until a batch is due; `None` when there are no events."""
        due = min(self._first_at + LONGEST, self._last_at + QUIET)
        return max(0.0, due - time.monotonic()) if self._first_at else None

    def _send_if_due(self) -> None:
        if self._time_until_due() != 0:
            return
        self._first_at = 0.0
        for tree in list(self._trees):
            events, tree.events = tree.events, []
            if events:
                with self._failing(tree):
                    tree.sink.changed(events)


@cache
def _hub() -> _Hub:
    """Return the hub of this process."""
    return _Hub()
