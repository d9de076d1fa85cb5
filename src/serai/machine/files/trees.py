"""Directories with all that is in them: removed, or copied. Links are never followed.

Both go down through handles, one for each level. So a directory that someone replaces by a link meanwhile is
not followed either.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from serai.ahp.errors import AhpErrorCode
from serai.errors import ProtocolError
from serai.machine.files.handles import (
    identity,
    names_in,
    open_directory,
    open_regular,
    refuse_deep,
    refuse_unusual,
    refuse_window,
)
from serai.machine.files.lanes import go_on
from serai.machine.files.originals import Original, keep_owner, refuse_fixed
from serai.machine.files.refusals import conflict, denied, told
from serai.machine.files.streams import copy_range
from serai.machine.files.versions import etag

__all__ = ["copy_tree", "keep_link", "remove_tree"]

_ATTEMPTS = 3
_NOT_A_DIRECTORY = frozenset({errno.ELOOP, errno.ENOTDIR})
_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST})


# -- removing ----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Emptied:
    """A directory that is being emptied."""

    name: str
    descriptor: int
    names: list[str]
    attempts: int = 1


def remove_tree(directory: int, name: str, uri: str) -> None:
    """Remove a directory and all that is in it. What is mounted in it is left alone.

    Raises:
        ProtocolError: Something is mounted in it, or it is too deep. What came before is gone.
        OSError: Something cannot be removed, or others keep adding to it. What came before is gone.
    """
    levels = [_emptied(directory, name)]
    device = os.fstat(levels[0].descriptor).st_dev
    try:
        while levels:
            level = levels[-1]
            if level.names:
                below = _remove(level.descriptor, level.names.pop())
                if below is not None:
                    levels.append(below)
                    refuse_deep(len(levels), uri)
                    if os.fstat(below.descriptor).st_dev != device:
                        raise denied(uri, f"something is mounted there, at {below.name!r}")
                continue
            if _remove_empty(levels[-2].descriptor if len(levels) > 1 else directory, level):
                os.close(levels.pop().descriptor)
    finally:
        for level in levels:
            os.close(level.descriptor)


def _emptied(directory: int, name: str) -> _Emptied:
    descriptor = open_directory(directory, name)
    try:
        return _Emptied(name, descriptor, names_in(descriptor))
    except BaseException:
        os.close(descriptor)
        raise


def _remove(directory: int, name: str) -> _Emptied | None:
    """Remove a file or a link; a directory is opened instead."""
    try:
        if stat.S_ISDIR(os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode):
            try:
                return _emptied(directory, name)
            except OSError as error:
                if error.errno not in _NOT_A_DIRECTORY:
                    raise
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        pass  # someone else removed it
    return None


def _remove_empty(parent: int, level: _Emptied) -> bool:
    try:
        os.rmdir(level.name, dir_fd=parent)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in _NOT_EMPTY or level.attempts == _ATTEMPTS:
            raise
        level.attempts += 1  # someone put something into it meanwhile
        level.names = names_in(level.descriptor)
        return False
    return True


# -- copying -----------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Copied:
    """A directory that is being copied."""

    source: int
    destination: int
    names: list[str]
    info: os.stat_result
    original: Original | None
    depth: int = 1


def copy_tree(source: int, destination: int, uri: str, original: Original | None = None) -> None:
    """Copy all that is in a directory into an empty one. Links are copied as links, with the same text.

    The handles stay the caller's.

    Args:
        source: The directory.
        destination: The empty one.
        uri: What to call it when something is refused.
        original: To be given when the directory will be removed: what it held is noted there, and the copy
            has its owner, its times and, of directories, all of its bits.

    Raises:
        ProtocolError: It is too deep, or something in it is refused: a device, a file with several names, and
            in a directory that will be removed what is mounted there. A part of the copy has been made.
        OSError: Something cannot be copied. The same.
    """
    names = names_in(source)
    if original is not None and names:
        refuse_fixed(source, uri)
    levels = [_Copied(source, destination, names, os.fstat(source), original)]
    try:
        while True:
            go_on()
            level = levels[-1]
            if level.names:
                below = _copy(level, level.names.pop(), uri)
                if below is not None:
                    levels.append(below)
                continue
            bits = 0o777
            if level.original is not None:
                keep_owner(level.destination, level.info)
                bits |= stat.S_ISGID | stat.S_ISVTX
            os.fchmod(level.destination, stat.S_IMODE(level.info.st_mode) & bits)
            if level.original is not None:
                os.utime(level.destination, ns=(level.info.st_atime_ns, level.info.st_mtime_ns))
            if len(levels) == 1:
                return
            _close(levels.pop())
    finally:
        for level in levels[1:]:
            _close(level)


def _close(level: _Copied) -> None:
    os.close(level.source)
    os.close(level.destination)


def _copy(level: _Copied, name: str, uri: str) -> _Copied | None:
    with _reading(level, uri):
        info = os.stat(name, dir_fd=level.source, follow_symlinks=False)
    refuse_unusual(info, f"{uri} (at {name!r})")
    if stat.S_ISDIR(info.st_mode):
        return _enter(level, name, uri)
    if stat.S_ISLNK(info.st_mode):
        with _reading(level, uri):
            target = os.readlink(name, dir_fd=level.source)
        os.symlink(target, name, dir_fd=level.destination)
        if level.original is not None:
            level.original.entries[name] = etag(info)
            keep_link(level.destination, name, info)
        return None
    with _reading(level, uri):
        source, info = open_regular(level.source, name, f"{uri} (at {name!r})")
    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        copy = os.open(name, flags, 0o600, dir_fd=level.destination)
        try:
            copy_range(source, copy, 0, info.st_size, at=0)
            if level.original is not None:
                keep_owner(copy, info)
            os.fchmod(copy, stat.S_IMODE(info.st_mode) & 0o777)
            if level.original is not None:
                level.original.entries[name] = etag(info)
                os.utime(copy, ns=(info.st_atime_ns, info.st_mtime_ns))
        finally:
            os.close(copy)
    finally:
        os.close(source)
    return None


def _enter(level: _Copied, name: str, uri: str) -> _Copied:
    refuse_deep(level.depth + 1, uri)  # before it is made: what was copied must be possible to remove again
    with _reading(level, uri):
        source = open_directory(level.source, name)
    try:
        refuse_window(source, f"{uri} (at {name!r})")
        info = os.fstat(source)
        original = _noted(level.original, name, info, uri)
        names = names_in(source)
        if original is not None and names:
            refuse_fixed(source, f"{uri} (at {name!r})")
        os.mkdir(name, 0o700, dir_fd=level.destination)
        destination = open_directory(level.destination, name)
    except BaseException:
        os.close(source)
        raise
    return _Copied(source, destination, names, info, original, level.depth + 1)


def _noted(above: Original | None, name: str, info: os.stat_result, uri: str) -> Original | None:
    if above is None:
        return None
    original = Original(identity(info))
    if original.identity[0] != above.identity[0]:
        raise denied(uri, f"something is mounted there, at {name!r}")
    above.entries[name] = original
    return original


@contextmanager
def _reading(level: _Copied, uri: str) -> Generator[None]:
    """Whatever goes wrong in the block is the source's."""
    try:
        with told(uri):
            yield
    except ProtocolError as error:
        if level.original is not None and error.number == AhpErrorCode.NOT_FOUND:
            raise conflict(uri, "was changed by another program meanwhile") from None
        raise


def keep_link(directory: int, name: str, info: os.stat_result) -> None:
    """Give a link the times of another, where links can have any, and its owner."""
    with suppress(OSError):
        os.chown(name, info.st_uid, info.st_gid, dir_fd=directory, follow_symlinks=False)
    with suppress(OSError):
        times = (info.st_atime_ns, info.st_mtime_ns)
        os.utime(name, ns=times, dir_fd=directory, follow_symlinks=False)
