"""Opening one name in a directory that is held open, without following a link and without surprises."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from serai.machine.files.kernel import is_window
from serai.machine.files.refusals import denied, not_found, wrong_kind

__all__ = [
    "MAX_DEPTH",
    "Identity",
    "identities",
    "identity",
    "is_one_of",
    "names_in",
    "open_directory",
    "open_regular",
    "refuse_deep",
    "refuse_unusual",
    "refuse_window",
    "sync_directory",
    "walker",
]

Identity: TypeAlias = tuple[int, int]
"""Device and inode: what a file or directory is while someone holds it open, whatever it is called."""

MAX_DEPTH = 256
"""So many directories deep one may go. Each is held open meanwhile, and the host has only so many handles."""

_SAFELY = os.O_NOFOLLOW | os.O_CLOEXEC
# To pass through a directory one needs leave to search it, not to read it. Where the system cannot open a
# directory for that alone, it must be readable too.
_TO_WALK = _SAFELY | os.O_DIRECTORY | getattr(os, "O_PATH", getattr(os, "O_SEARCH", os.O_RDONLY))
_TO_LIST = _SAFELY | os.O_DIRECTORY | os.O_RDONLY
# Opening a pipe or a device must neither wait nor make it our terminal.
_TO_USE = _SAFELY | os.O_NONBLOCK | os.O_NOCTTY


def identity(info: os.stat_result) -> Identity:
    """What a file or directory is, whatever it is called."""
    return info.st_dev, info.st_ino


def identities(path: str) -> tuple[set[Identity], Identity | None]:
    """What the directories above a path are, and what the path itself is; `None` when it is not there."""
    above: set[Identity] = set()
    for parent in Path(path).parents:
        with suppress(OSError):
            above.add(identity(parent.stat()))
    try:
        return above, identity(Path(path).stat())
    except OSError:
        return above, None


def is_one_of(path: str, held: set[Identity]) -> bool:
    """Whether the directory at a real path is one of those. It is opened through no link."""
    descriptor: int | None = None
    try:
        descriptor = walker("/")
        for name in path.split("/"):
            if name:
                below = walker(name, descriptor)
                os.close(descriptor)
                descriptor = below
        return identity(os.fstat(descriptor)) in held
    except OSError:
        return False
    finally:
        if descriptor is not None:
            os.close(descriptor)


def walker(name: str, directory: int | None = None) -> int:
    """A handle of a directory to go on from. It cannot be read.

    Raises:
        OSError: There is none, it is a link, or it may not be searched.
    """
    return os.open(name, _TO_WALK, dir_fd=directory)


def open_directory(directory: int, name: str) -> int:
    """A handle of a directory that can be listed.

    Raises:
        OSError: There is none, it is a link, or it may not be read.
    """
    return os.open(name, _TO_LIST, dir_fd=directory)


_USUAL = frozenset({stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK})
_PIPES = frozenset({stat.S_IFIFO, stat.S_IFSOCK})


def refuse_unusual(info: os.stat_result, uri: str, *, pipes: bool = False) -> None:
    """Let regular files, directories and links pass, and `pipes` and sockets if that is said.

    Raises:
        ProtocolError: It is a device, or a pipe or a socket.
    """
    kind = stat.S_IFMT(info.st_mode)
    if kind not in _USUAL and not (pipes and kind in _PIPES):
        raise denied(uri, "it is a device, a pipe or a socket")


def refuse_window(descriptor: int, uri: str) -> None:
    """Let files and directories pass that are on a disk.

    Raises:
        ProtocolError: It is in `/proc`, `/sys` or the like.
    """
    if is_window(descriptor):
        raise denied(uri, "it is a view of the system, not on a disk")


def refuse_deep(depth: int, uri: str) -> None:
    """Let what is not too deep pass.

    Raises:
        ProtocolError: It is.
    """
    if depth > MAX_DEPTH:
        raise denied(uri, f"it is more than {MAX_DEPTH} directories deep")


def names_in(directory: int) -> list[str]:
    """What is in a directory that is open to be listed."""
    return os.listdir(directory)


def open_regular(
    directory: int, name: str, uri: str, *, flags: int = os.O_RDONLY
) -> tuple[int, os.stat_result]:
    """Open a regular file, and say what it is. The caller closes it.

    A file with several names (hard links) is refused: one of them may be outside, and nothing tells which.
    That also holds for the harmless ones, such as those of a package store; they can still be listed and
    resolved.

    Raises:
        ProtocolError: It is not there, or is no regular file, or has several names, or is of `/proc` or the
            like.
        OSError: It cannot be opened.
    """
    before = os.stat(name, dir_fd=directory, follow_symlinks=False)
    _check(before, uri)  # before it is opened: a device may act when it is
    descriptor = os.open(name, _TO_USE | flags, dir_fd=directory)
    try:
        info = os.fstat(descriptor)
        _check(info, uri)
        refuse_window(descriptor, uri)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor, info


def _check(info: os.stat_result, uri: str) -> None:
    refuse_unusual(info, uri)
    if stat.S_ISDIR(info.st_mode):
        raise wrong_kind(uri, "is a directory")
    if stat.S_ISLNK(info.st_mode):
        raise denied(uri, "it became a link while it was opened")
    if info.st_nlink > 1:
        raise denied(uri, "it has several names (hard links), and one may be outside")
    if info.st_nlink == 0:
        raise not_found(uri)


def sync_directory(directory: int) -> None:
    """Make the names in a directory durable, where one may."""
    with suppress(OSError):
        descriptor = os.open(".", _TO_LIST, dir_fd=directory)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
