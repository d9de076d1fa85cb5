"""Reaching files of a working directory, and nothing outside of it.

Every step goes from the handle of one directory to the next and follows no symbolic link, so that nothing can
lead it out of the working directory, also when someone changes the directories meanwhile. The host's own
folder is not entered.
"""

from __future__ import annotations

import errno
import hashlib
import os
import stat
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from serai.changes.closed import Closed, Identity, identity
from serai.changes.records import LINK_MODE, shown
from serai.errors import FileInTheWay, FileTooLarge

__all__ = [
    "Expected",
    "FolderPermissions",
    "Found",
    "as_usual",
    "content_id",
    "look",
    "parent",
    "put_exclusively",
    "read_file",
    "says",
]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
"""Not to wait: what was a file a moment ago may be a pipe now."""
_NO_LINKS = {errno.EPERM, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EMLINK, errno.ENOSYS, errno.EACCES}
"""What is said where a file cannot have two names."""


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it is in the work tree. A symbolic link's content is where it points to."""

    data: bytes
    mode: int
    """As git has it: a plain file, an executable one, or a link."""
    permissions: int | None = field(default=None, compare=False)
    """Who may read, write and execute it; of a link nobody says."""

    @property
    def digest(self) -> str:
        """What the content is known by."""
        return hashlib.sha256(self.data).hexdigest()


@dataclass(frozen=True, slots=True)
class Expected:
    """What was seen at a place. Whoever replaces or deletes it looks whether it still is that."""

    content: str | None
    """What its content is known by; `None` when nothing was there."""
    is_link: bool = False
    object_format: str | None = None
    """How git makes the id of content; without it, it is the digest that `Found` has."""

    def is_at(self, folder: int, name: str) -> bool:
        """Whether it is there. Reads the disk.

        Args:
            folder: The handle of a directory.
            name: The name in it.
        """
        if self.content is None:
            return look(folder, name) is None
        return content_id(folder, name, self.is_link, self.object_format) == self.content


def content_id(folder: int, name: str, is_link: bool, object_format: str | None = None) -> str | None:
    """What the content of a file, or of a link, is known by; `None` when there is no such thing, or no other.

    Args:
        folder: The handle of a directory.
        name: The name in it.
        is_link: Whether a link is meant. It is not followed.
        object_format: How git makes the id of content; without it, it is the digest that `Found` has.
    """
    try:
        if is_link:
            target = os.fsencode(os.readlink(name, dir_fd=folder))
            return _digest(object_format, len(target), target).hexdigest()
        descriptor = os.open(name, _FILE, dir_fd=folder)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            return None
        digest = _digest(object_format, found.st_size)
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _digest(object_format: str | None, size: int, data: bytes = b"") -> hashlib._Hash:  # pyright: ignore[reportPrivateUsage] - it has no other name
    if object_format is None:
        return hashlib.sha256(data)
    return hashlib.new(object_format, b"blob %d\0" % size + data, usedforsecurity=False)


def look(folder: int, name: str) -> os.stat_result | None:
    """What has a name in a directory; a link is not followed. `None` when nothing has it."""
    try:
        return os.stat(name, dir_fd=folder, follow_symlinks=False)
    except (FileNotFoundError, NotADirectoryError):
        return None


def put_exclusively(name: str, target: str, *, source_in: int, target_in: int) -> None:
    """Give a file another name that nothing has.

    Raises:
        FileExistsError: Something has it.
        OSError: The file cannot have it.
    """
    try:
        os.link(name, target, src_dir_fd=source_in, dst_dir_fd=target_in, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if look(target_in, target) is not None:
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST)) from None
        os.rename(name, target, src_dir_fd=source_in, dst_dir_fd=target_in)
    else:
        os.unlink(name, dir_fd=source_in)


def read_file(directory: str, path: str, max_bytes: int, closed: Closed) -> Found | None:
    """What is at a path; `None` when there is no file.

    Raises:
        FileInTheWay: It is neither a file nor a link, it is too large, it cannot be read, or it is the host's
            own.
    """
    with says(path):
        try:
            with parent(directory, path, closed, make=False) as (folder, name):
                return _read(folder, name, path, max_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return None


def _read(folder: int, name: str, path: str, max_bytes: int) -> Found:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        return Found(os.fsencode(os.readlink(name, dir_fd=folder)), LINK_MODE)
    descriptor = os.open(name, _FILE, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise FileInTheWay(f"{shown(path)} is not a file")
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise FileTooLarge(f"{shown(path)} is larger than {max_bytes} bytes")
    return Found(data, 0o100755 if found.st_mode & 0o100 else 0o100644, found.st_mode & 0o777)


FolderPermissions: TypeAlias = Callable[[str], int | None]
"""Says of a folder, by its path, who may enter and read it at most, if that is known. Its owner may."""


def as_usual(_folder: str) -> int | None:
    """Nothing is known of any folder."""
    return None


@contextmanager
def parent(
    directory: str,
    path: str,
    closed: Closed,
    *,
    make: bool,
    permissions: FolderPermissions = as_usual,
) -> Generator[tuple[int, str]]:
    """The handle of the directory that a path is in, and the name that it has there.

    Args:
        directory: Where to begin.
        path: The path from there.
        closed: The host's own folder.
        make: Whether directories that are not there are made.
        permissions: Says who may enter and read those at most.

    Raises:
        FileInTheWay: It is no such path, or leads over a link, or into the host's own folder.
        OSError: A directory is not there, or cannot be entered.
    """
    *names, last = path.split("/")
    if not last or any(name in {"", ".", ".."} for name in (*names, last)) or "\0" in path:
        raise FileInTheWay(f"{shown(path)} is no path in the working directory")
    own = closed.identities()
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _refuse(identity(folder), own, path)
        for depth, name in enumerate(names, start=1):
            if make:
                allowed = permissions("/".join(names[:depth]))
                with suppress(FileExistsError):
                    os.mkdir(name, 0o777 if allowed is None else allowed | 0o700, dir_fd=folder)
            inner = _enter(folder, name, path)
            os.close(folder)
            folder = inner
            _refuse(identity(folder), own, path)
        _refuse(_identity_in(folder, last), own, path)
        yield folder, last
    finally:
        os.close(folder)


def _refuse(found: Identity | None, own: frozenset[Identity], path: str) -> None:
    if found in own:
        raise FileInTheWay(f"{shown(path)} belongs to the host itself")


def _identity_in(folder: int, name: str) -> Identity | None:
    try:
        found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _enter(folder: int, name: str, path: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        if error.errno in {errno.ENOTDIR, errno.ELOOP} and _is_link(folder, name):
            raise FileInTheWay(f"{shown(path)} is behind a symbolic link") from None
        raise


def _is_link(folder: int, name: str) -> bool:
    try:
        return stat.S_ISLNK(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except OSError:
        return False


@contextmanager
def says(path: str) -> Generator[None]:
    """What the system refuses, in a sentence."""
    try:
        yield
    except OSError as error:
        raise FileInTheWay(f"{shown(path)} cannot be touched: {error.strerror or error}") from None
