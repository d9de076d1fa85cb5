"""What the files of a folder without git were when a turn began, as far as they are few and small.

Agents that write files themselves may name a path only when they have written to it. What was there before
is then known only to those who have looked before. It is in memory, for the running turn.

Nobody wants to wait for a turn to begin, nor to have a whole disk in memory: it is looked at the uppermost
files first, up to some bounds, and what is beyond them is not known. That there was no file is known where a
folder was listed to its end.
"""

from __future__ import annotations

import os
import stat
import time
import unicodedata
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from serai.changes.closed import Closed, Identity, identity
from serai.changes.moved import Moment, made_at
from serai.changes.notes import folders_to
from serai.changes.reaching import Found
from serai.changes.records import LINK_MODE
from serai.changes.sightings import Sighting

__all__ = ["Beginning", "Beginnings", "folders_now", "has_changed_since", "is_new"]

_MOST_ENTRIES = 5_000
"""So much is looked at: more takes longer than anyone should wait for a turn to begin,"""
_LONGEST = 2.0
"""and on a slow disk it ends after so many seconds, long before the turn would begin without it."""
_MOST_FILES = 1_000
"""So many files are remembered: a folder with more is rarely one without git,"""
_LARGEST = 512 << 10
"""each no larger than what an agent would write by itself, in bytes,"""
_MOST_BYTES = 8 << 20
"""and all of them in no more memory than a running agent is worth."""
_NOT_ENTERED = frozenset({".git", "node_modules"})
"""What tools keep for themselves: large, and edited by nobody."""

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not to wait: what was a file a moment ago may be a pipe now."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """What was at a path."""

    found: Found | None
    """The file, or the link; `None` when there was none."""
    at: int
    """A moment until which that was so, in nanoseconds. No agent had begun by then."""
    seen: Sighting | None = None
    """Which file it was."""
    folders: tuple[int, ...] = ()
    """Who might do what in the folders on the way, and in one that was there, as notes have it."""


class Beginnings:
    """What was at each path of a folder when a turn began. `take` makes one."""

    def __init__(self) -> None:
        self.at = 0
        """When the look was over, in nanoseconds."""
        self._files: dict[str, tuple[Found, Sighting]] = {}
        self._unknown: set[str] = set()
        """Where something was that is not remembered."""
        self._folders: dict[str, int] = {}
        """Who might do what in the folders, also in those that were not entered."""
        self._listed: set[str] = set()
        """The folders that were listed to their end."""

    @classmethod
    def take(cls, directory: str, closed: Closed) -> Beginnings:
        """Look at a folder now. Reads the disk; what cannot be read is not known.

        Args:
            directory: The folder, where it is without any link.
            closed: The host's own folder, which is not entered.
        """
        began = cls()
        _Look(began, directory, closed).walk()
        began.at = time.time_ns()
        return began

    def of(self, path: str) -> Beginning | None:
        """What was at a path; `None` when that is not known.

        Args:
            path: The path from the folder.
        """
        above, permissions = "", list[int]()
        for place in folders_to(path):
            if place in self._folders:
                permissions.append(self._folders[place])
                above = place
                continue
            if place in self._files:
                return self._at_file(place, path, tuple(permissions))
            if place in self._unknown or above not in self._listed or _folded(place) in self._alike:
                return None
            break
        return Beginning(None, self.at, folders=tuple(permissions))

    def _at_file(self, place: str, path: str, folders: tuple[int, ...]) -> Beginning | None:
        found, seen = self._files[place]
        if place == path:
            return Beginning(found, self.at, seen, folders)
        # Nothing is below a file. What is beyond a link is not in the folder.
        return Beginning(None, self.at, folders=folders) if found.mode != LINK_MODE else None

    @cached_property
    def _alike(self) -> frozenset[str]:
        """All paths, as a file system has them that takes `A` for `a`: there they are no other files."""
        return frozenset(_folded(path) for path in (*self._files, *self._unknown, *self._folders))

    # -- what a look tells ---------------------------------------------------------------------------------

    def remember(self, path: str, found: Found, seen: Sighting) -> None:
        """There is a file, or a link."""
        self._files[path] = (found, seen)

    def pass_over(self, path: str) -> None:
        """There is something that is not remembered."""
        self._unknown.add(path)

    def note_folder(self, path: str, permissions: int) -> None:
        """There is a folder."""
        self._folders[path] = permissions

    def note_listed(self, path: str) -> None:
        """A folder was listed to its end."""
        self._listed.add(path)


class _Look:
    """One look at a folder. It goes by handles of folders and follows no link."""

    def __init__(self, began: Beginnings, directory: str, closed: Closed) -> None:
        self._began = began
        self._top = directory
        self._closed = closed.identities()
        self._ends = time.monotonic() + _LONGEST
        self._entries = self._files = self._bytes = 0

    def walk(self) -> None:
        top = identity(self._top)
        queue = deque([("", top)] if top is not None and top not in self._closed else [])
        while queue and not self._is_enough():
            path, expected = queue.popleft()
            try:
                folder = os.open(f"{self._top}/{path}", _FOLDER)
            except OSError:
                continue
            try:
                # On the way there may be a link by now, and the folder another one.
                if identity(folder) == expected:
                    queue += self._list(folder, path)
            except OSError:
                continue
            finally:
                os.close(folder)

    def _is_enough(self) -> bool:
        return self._entries >= _MOST_ENTRIES or time.monotonic() > self._ends

    def _list(self, folder: int, above: str) -> list[tuple[str, Identity]]:
        """Look at what is in a folder. Returns the folders that are to be entered."""
        inner: list[tuple[str, Identity]] = []
        with os.scandir(folder) as entries:
            for entry in entries:
                if self._is_enough():
                    return inner
                self._entries += 1
                path = f"{above}/{entry.name}" if above else entry.name
                try:
                    found = entry.stat(follow_symlinks=False)
                except OSError:
                    self._began.pass_over(path)
                    continue
                if not stat.S_ISDIR(found.st_mode):
                    self._look_at(folder, entry.name, path, found)
                    continue
                self._began.note_folder(path, found.st_mode & 0o777)
                own = found.st_dev, found.st_ino
                if entry.name not in _NOT_ENTERED and own not in self._closed:
                    inner.append((path, own))
        self._began.note_listed(above)
        return inner

    def _look_at(self, folder: int, name: str, path: str, found: os.stat_result) -> None:
        read: Found | None = None
        own = (found.st_dev, found.st_ino) in self._closed
        if self._files < _MOST_FILES and not own and self._bytes + found.st_size <= _MOST_BYTES:
            try:
                read = _read(folder, name, found)
            except OSError:
                read = None
        if read is None:
            self._began.pass_over(path)
            return
        self._files += 1
        self._bytes += len(read.data)
        made = made_at(os.fsencode(f"{self._top}/{path}"), found)
        self._began.remember(path, read, Sighting(found.st_ino, found.st_mtime_ns, made))


def _read(folder: int, name: str, seen: os.stat_result) -> Found | None:
    """What is in a file, or where a link points to; `None` for all else, and for what is too large."""
    if stat.S_ISLNK(seen.st_mode):
        return Found(os.fsencode(os.readlink(name, dir_fd=folder)), LINK_MODE)
    if not stat.S_ISREG(seen.st_mode) or seen.st_size > _LARGEST:
        return None
    descriptor = os.open(name, _FILE, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if (found.st_dev, found.st_ino) != (seen.st_dev, seen.st_ino) or not stat.S_ISREG(found.st_mode):
            return None
        data = stream.read(seen.st_size + 1)
    if len(data) != seen.st_size:  # it is being written, or is none that has a size
        return None
    return Found(data, 0o100755 if found.st_mode & 0o100 else 0o100644, found.st_mode & 0o777)


def folders_now(directory: str, path: str) -> Iterator[int]:
    """The permissions of the folders on the way to a path, and of one at it, as far as there are any.

    Args:
        directory: Where the path begins.
        path: The path.
    """
    for folder in folders_to(path):
        try:
            found = os.lstat(f"{directory}/{folder}")
        except OSError:
            return
        if not stat.S_ISDIR(found.st_mode):
            return
        yield found.st_mode & 0o777


def has_changed_since(place: str, since: int) -> bool:
    """Whether what is at a place, or that nothing is there, may have come about since a moment.

    When something is deleted, or moved away, the folder that it was in is written to. Reads the disk.

    Args:
        place: Where; absolute.
        since: The moment, in nanoseconds.
    """
    while True:
        try:
            found = os.lstat(place)
        except (FileNotFoundError, NotADirectoryError):
            place = os.path.dirname(place)  # noqa: PTH120 - text, not a Path
        except OSError:
            return False
        else:
            return not Moment(since).is_after(max(found.st_mtime_ns, found.st_ctime_ns))


def is_new(place: str, began: int, since: int) -> bool:
    """Whether a file is there that may have come since a moment; not if it was made before, in the turn.

    Args:
        place: Where; absolute.
        began: When the turn began, in nanoseconds.
        since: The moment, in nanoseconds.
    """
    try:
        found = os.lstat(place)
    except OSError:
        return False
    made = made_at(os.fsencode(place), found)
    return made is None or not Moment(since).is_after(made) or Moment(began).is_after(made)


def _folded(path: str) -> str:
    """A path without what some file systems do not tell apart."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", path).casefold())
