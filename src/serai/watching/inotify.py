"""How Linux tells what changes: inotify, one watch for each folder.

Why not watchfiles here: on Linux it holds the interpreter's lock while it walks a tree, follows links out of
it, does not tell files that are made in a new folder before it looks, is stopped for good by one name that
is not UTF-8, and either hides that the system's limit is reached or fails at the first folder that it may
not read.

All methods but `stop` belong to one thread. Calls into the C library let other threads run.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
import time
from collections.abc import Callable, Iterator
from typing import Final

from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError
from serai.watching.failures import limit_reached, not_found, watch_failed
from serai.watching.source import LONGEST, QUIET, Event

__all__ = ["Inotify"]

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
_DONT_FOLLOW: Final = 0x2000000
_EXCL_UNLINK: Final = 0x4000000
_ISDIR: Final = 0x40000000

_ALL: Final = (
    _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
    | _ONLYDIR | _DONT_FOLLOW | _EXCL_UNLINK
)  # fmt: skip

# A folder that is gone by now, is a link now, or may not be read.
_PASSED_OVER = frozenset({errno.EACCES, errno.ELOOP, errno.ENOENT, errno.ENOTDIR, errno.EPERM})

_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_BUFFER = 65_536


class _Folder:
    """A folder that is watched, and those in it that are."""

    __slots__ = ("inner", "name", "outer", "path", "watch")

    def __init__(self, watch: int, path: str, name: str, outer: _Folder | None) -> None:
        self.watch = watch
        self.path = path
        self.name = name
        self.outer = outer
        self.inner: dict[str, _Folder] = {}


class Inotify:
    """A `Source` on Linux.

    Args:
        root: The folder, without links in its path.
        recursive: Whether what is in its folders is meant too.
        prunes: Which folders below, relative to the root, are left out with all that is in them.
    """

    def __init__(self, root: str, *, recursive: bool, prunes: Callable[[str], bool]) -> None:
        self._root = root
        self._recursive = recursive
        self._prunes = prunes
        self._start = len(root.rstrip("/")) + 1
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._inotify = -1
        self._folders: dict[int, _Folder] = {}
        self._top = -1
        self._stopped = False
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    def open(self) -> None:
        """Begin to watch. Returns when every folder is watched, or when `stop` is called.

        Raises:
            ProtocolError: There is no such folder, or the system does not watch it.
        """
        self._inotify = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._inotify < 0:
            number = ctypes.get_errno()
            if number == errno.EMFILE:
                raise limit_reached("fs.inotify.max_user_instances", self._root)
            raise watch_failed(self._root, os.strerror(number))
        for _ in self._enter(self._root, "", None):
            if self._stopped:
                return
        if self._top < 0:
            exists = os.path.isdir(self._root)  # noqa: PTH112 - paths are plain strings here, for names of any bytes
            raise watch_failed(self._root, "it may not be read") if exists else not_found(self._root)

    def read(self) -> list[Event]:
        """Wait for changes, and then until it is quiet. Empty once `stop` was called.

        Raises:
            ProtocolError: The system does not watch any further.
        """
        events: list[Event] = []
        if not self._wait(None):
            return events
        end = time.monotonic() + LONGEST
        while True:
            events += self._look()
            left = end - time.monotonic()
            if left <= 0 or not self._wait(min(QUIET, left)):
                return [] if self._stopped else events

    def stop(self) -> None:
        """Let `open` and `read` return soon. Any thread may call it."""
        self._stopped = True
        os.eventfd_write(self._wake, 1)

    def close(self) -> None:
        """Give back what the system lent."""
        if self._inotify >= 0:
            os.close(self._inotify)
            self._inotify = -1
        os.close(self._wake)

    def _wait(self, seconds: float | None) -> bool:
        """Whether there is something to read; not when the time has passed or someone said stop."""
        poll = select.poll()
        poll.register(self._inotify, select.POLLIN)
        poll.register(self._wake, select.POLLIN)
        ready = poll.poll(None if seconds is None else seconds * 1e3)
        return bool(ready) and not self._stopped

    # -- folders -------------------------------------------------------------------------------------------

    def _enter(self, path: str, name: str, outer: _Folder | None) -> Iterator[str]:
        """Watch a folder and, where that is wanted, those in it. Gives the paths of all that is found there.

        A folder is listed after its watch is set, so nothing falls between the two; some things are told
        twice.
        """
        todo = [(path, name, outer)]
        while todo:
            path, name, outer = todo.pop()
            watch = self._watch(path)
            if watch is None or watch in self._folders:
                continue
            folder = self._folders[watch] = _Folder(watch, path, name, outer)
            if outer is None:
                self._top = watch
            else:
                outer.inner[name] = folder
            if not self._recursive:
                continue
            prefix = path.rstrip("/")
            try:
                with os.scandir(path) as entries:
                    for entry in entries:
                        below = f"{prefix}/{entry.name}"
                        if entry.is_dir(follow_symlinks=False) and not self._prunes(below[self._start :]):
                            todo.append((below, entry.name, folder))
                        yield below
            except OSError:  # it is gone already, or may not be listed
                continue

    def _watch(self, path: str) -> int | None:
        watch = self._libc.inotify_add_watch(self._inotify, os.fsencode(path), _ALL)
        if watch >= 0:
            return watch
        number = ctypes.get_errno()
        if number == errno.ENOSPC:
            raise limit_reached("fs.inotify.max_user_watches", self._root)
        if number not in _PASSED_OVER:
            raise watch_failed(path, os.strerror(number))
        return None

    def _leave(self, folder: _Folder) -> None:
        """A folder was moved away: what happens in it is no longer meant."""
        todo = [folder]
        while todo:
            folder = todo.pop()
            todo += folder.inner.values()
            self._libc.inotify_rm_watch(self._inotify, folder.watch)
            self._forget(folder)

    def _forget(self, folder: _Folder) -> None:
        self._folders.pop(folder.watch, None)
        if folder.outer is not None and folder.outer.inner.get(folder.name) is folder:
            del folder.outer.inner[folder.name]

    # -- events --------------------------------------------------------------------------------------------

    def _look(self) -> list[Event]:
        try:
            data = os.read(self._inotify, _BUFFER)
        except BlockingIOError:
            return []
        events: list[Event] = []
        at = 0
        while at < len(data):
            watch, mask, _cookie, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            name = data[at : at + length].rstrip(b"\0")
            at += length
            if mask & _Q_OVERFLOW:
                return self._again()
            if (folder := self._folders.get(watch)) is not None:
                self._understand(events, folder, mask, os.fsdecode(name))
        return events

    def _again(self) -> list[Event]:
        """The system has dropped events: watch from scratch, and tell that all may have changed."""
        os.close(self._inotify)
        self._inotify = -1
        self._folders.clear()
        self._top = -1
        try:
            self.open()
        except ProtocolError as error:
            if error.number == AhpErrorCode.NOT_FOUND:
                return [(_DELETED, self._root)]
            raise
        return [(_UPDATED, self._root)]

    def _understand(self, events: list[Event], folder: _Folder, mask: int, name: str) -> None:
        if mask & _IGNORED:
            self._forget(folder)
        elif not name:
            if mask & (_DELETE_SELF | _MOVE_SELF | _UNMOUNT):
                if folder.watch == self._top:
                    events.append((_DELETED, self._root))
            elif mask & _ATTRIB and folder.watch == self._top:
                events.append((_UPDATED, self._root))
        elif mask & (_CREATE | _MOVED_TO):
            path = f"{folder.path.rstrip('/')}/{name}"
            events.append((_ADDED, path))
            if mask & _ISDIR and self._recursive and not self._prunes(path[self._start :]):
                events += ((_ADDED, below) for below in self._enter(path, name, folder))
        else:
            path = f"{folder.path.rstrip('/')}/{name}"
            if mask & (_DELETE | _MOVED_FROM):
                events.append((_DELETED, path))
                if mask & _MOVED_FROM and (moved := folder.inner.get(name)) is not None:
                    self._leave(moved)
            else:
                events.append((_UPDATED, path))
