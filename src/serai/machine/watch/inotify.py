"""What Linux tells: an inotify descriptor, its watches and its events.

Why not watchfiles here: on Linux it holds the interpreter's lock while it walks a tree, follows links out of
it, does not tell files that are made in a new folder before it looks, is stopped for good by one name that
is not UTF-8, and either hides that the system's limit is reached or fails at the first folder that it may
not read.

All methods but `wake` belong to one thread. Calls into the C library let other threads run.
"""

from __future__ import annotations

import ctypes
import errno
import os
import select
import struct
from typing import Final, NamedTuple

from serai.machine.watch.failures import instances_used_up, watch_failed, watches_used_up

__all__ = ["Inotify", "Told"]

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

_ALL: Final = (
    _MODIFY | _ATTRIB | _MOVED_FROM | _MOVED_TO | _CREATE | _DELETE | _DELETE_SELF | _MOVE_SELF
    | _ONLYDIR | _EXCL_UNLINK
)  # fmt: skip

# A folder that is gone by now, or may not be read.
_PASSED_OVER = frozenset({errno.EACCES, errno.ENOENT, errno.ENOTDIR, errno.EPERM})

_HEAD = struct.Struct("iIII")  # watch, mask, cookie, length of the name
_BUFFER = 65_536


class Told(NamedTuple):
    """One event. Without a name it is about the watched folder itself."""

    watch: int
    mask: int
    name: str

    @property
    def is_overflow(self) -> bool:
        """The system has dropped events."""
        return bool(self.mask & _Q_OVERFLOW)

    @property
    def is_last(self) -> bool:
        """The watch is no more."""
        return bool(self.mask & _IGNORED)

    @property
    def is_gone(self) -> bool:
        """What it is about is no longer there."""
        return bool(self.mask & (_DELETE | _MOVED_FROM | _DELETE_SELF | _MOVE_SELF | _UNMOUNT))

    @property
    def is_moved_away(self) -> bool:
        """It has another name now, or is elsewhere."""
        return bool(self.mask & _MOVED_FROM)

    @property
    def is_new(self) -> bool:
        """It was not there before."""
        return bool(self.mask & (_CREATE | _MOVED_TO))

    @property
    def is_folder(self) -> bool:
        """It is a folder."""
        return bool(self.mask & _ISDIR)


class Inotify:
    """One inotify instance.

    Raises:
        ProtocolError: The system gives none.
    """

    def __init__(self, path: str) -> None:
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._inotify = self._libc.inotify_init1(os.O_CLOEXEC | os.O_NONBLOCK)
        if self._inotify < 0:
            number = ctypes.get_errno()
            if number == errno.EMFILE:
                raise instances_used_up(path)
            raise watch_failed(path, os.strerror(number))

    def add(self, path: str, handle: int) -> int | None:
        """Watch a folder that is open. Gives the number of the watch: the same one for the same folder.

        Args:
            path: How it is called in an error.
            handle: The folder. It may be closed afterwards.

        Returns:
            `None` when the folder is gone or may not be read.

        Raises:
            ProtocolError: The system watches no more.
        """
        # A path could lead elsewhere by now. A handle cannot, and this is how the system takes one here.
        watch = self._libc.inotify_add_watch(self._inotify, b"/proc/self/fd/%d" % handle, _ALL)
        if watch >= 0:
            return watch
        number = ctypes.get_errno()
        if number == errno.ENOSPC:
            raise watches_used_up(path)
        if number == errno.ENOENT and not os.path.lexists(f"/proc/self/fd/{handle}"):
            raise watch_failed(path, "/proc is not there")
        if number not in _PASSED_OVER:
            raise watch_failed(path, os.strerror(number))
        return None

    def remove(self, watch: int) -> None:
        """Watch a folder no more. One that is not watched is no matter."""
        self._libc.inotify_rm_watch(self._inotify, watch)

    def wait(self, wake: int, seconds: float | None) -> bool:
        """Wait until there is something to read here, or at another descriptor. Says if it is here."""
        poll = select.poll()
        poll.register(self._inotify, select.POLLIN)
        poll.register(wake, select.POLLIN)
        # A little more rather than less, so that nobody asks again for a time too short to wait for.
        ready = poll.poll(None if seconds is None else int(seconds * 1e3) + 1 if seconds else 0)
        return any(descriptor == self._inotify for descriptor, _ in ready)

    def read(self) -> list[Told]:
        """What has been told, as much as fits into one read; nothing when there is nothing."""
        try:
            data = os.read(self._inotify, _BUFFER)
        except BlockingIOError:
            return []
        told: list[Told] = []
        at = 0
        while at < len(data):
            watch, mask, _cookie, length = _HEAD.unpack_from(data, at)
            at += _HEAD.size
            told.append(Told(watch, mask, os.fsdecode(data[at : at + length].rstrip(b"\0"))))
            at += length
        return told

    def close(self) -> None:
        """Give back what the system lent."""
        os.close(self._inotify)
