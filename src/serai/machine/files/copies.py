"""`resourceCopy`: files, links and directories; and bytes from file to file, a piece at a time."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import ExitStack

from serai.ahp.commands import EmptyResult, ResourceCopyParams
from serai.errors import InvalidParams
from serai.machine.draft import Draft
from serai.machine.files.place import Place, find, open_regular
from serai.machine.files.refusals import denied, exists, not_found, told
from serai.machine.files.roots import Access, Roots
from serai.machine.files.threads import alone_at, go_on, notes_folder
from serai.machine.paths import MAX_DEPTH, identity, open_directory, open_safely

__all__ = ["PIECE", "copy", "copy_file", "copy_link", "copy_range", "pieces"]

PIECE = 256 * 1024
"""Bytes that are read at once."""
_BY_KERNEL = 64 * 1024 * 1024
_UNABLE = frozenset({errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EPERM, errno.ENOTSUP})


def copy(params: ResourceCopyParams, roots: Roots) -> EmptyResult:
    """Copy a file, or a directory with all that is in it. The copy is there as a whole or not at all.

    A link that is named is followed, on both sides; links inside a directory are copied as links. A file that
    is there is replaced and keeps its permissions. A directory is never replaced: that would delete what is
    in it.

    Raises:
        ProtocolError: `NOT_FOUND`, `PERMISSION_DENIED`, or `ALREADY_EXISTS`: with `failIfExists` when there
            is anything, else when a directory is there or something is in a directory's way.
        InvalidParams: A directory was to be copied into itself.
    """
    exclusive = bool(params.fail_if_exists)
    with (
        find(params.source, roots, Access.READ, whole=True) as source,
        find(params.destination, roots, Access.WRITE, follow=not exclusive) as destination,
    ):
        with told(source.uri):
            info = source.look()
        if info is None:
            raise not_found(source.uri)
        if stat.S_ISDIR(info.st_mode):
            _copy_directory(source, destination)
        elif stat.S_ISLNK(info.st_mode):  # it became one after it was followed
            copy_link(source, destination, exclusive=exclusive)
        else:
            copy_file(source, destination, exclusive=exclusive)
    return EmptyResult()


def copy_file(source: Place, destination: Place, *, exclusive: bool, moved: bool = False) -> os.stat_result:
    """Copy a regular file to another place. Returns what was copied.

    Args:
        source: The file.
        destination: Where the copy is to be.
        exclusive: Whether there must be nothing yet.
        moved: Whether it is copied in order to go: then the copy has its owner, permissions, times and
            attributes, whatever was there before.

    Raises:
        ProtocolError: As `copy`.
    """
    original, info = source.open()
    try:
        with (
            told(destination.uri),
            Draft(destination.directory, destination.name, notes=notes_folder()) as draft,
        ):
            there = _replaceable(destination, exclusive=exclusive)
            if moved:
                new = draft.file(like=info, attributes=original)
            else:
                new = draft.file(mode=stat.S_IMODE(info.st_mode) & 0o777, like=there)
            copy_range(original, new, 0, info.st_size, at=0)
            if moved:
                os.utime(new, ns=(info.st_atime_ns, info.st_mtime_ns))
            with alone_at(destination):
                draft.commit(exclusive=exclusive)
    finally:
        os.close(original)
    return info


def copy_link(source: Place, destination: Place, *, exclusive: bool) -> None:
    """Copy a link as a link, with the same text.

    Raises:
        ProtocolError: As `copy`.
    """
    with told(source.uri):
        target = os.readlink(source.name, dir_fd=source.directory)
    with (
        told(destination.uri),
        alone_at(destination),
        Draft(destination.directory, destination.name, notes=notes_folder()) as draft,
    ):
        _replaceable(destination, exclusive=exclusive)
        draft.link(target)
        draft.commit(exclusive=exclusive)


def _replaceable(place: Place, *, exclusive: bool) -> os.stat_result | None:
    """The regular file that a copy is about to take the place of."""
    there = place.look()
    if there is None:
        return None
    if exclusive or stat.S_ISDIR(there.st_mode):
        raise exists(place.uri, "a directory" if stat.S_ISDIR(there.st_mode) else "something")
    if not stat.S_ISREG(there.st_mode):
        return None
    if there.st_nlink > 1:
        raise denied(place.uri, "it has several names (hard links), and one may be outside")
    return there


def _copy_directory(source: Place, destination: Place) -> None:
    original = source.open_directory()
    try:
        if identity(os.fstat(original)) in destination.above:
            raise InvalidParams("a directory cannot be copied into itself", field="params.destination")
        with (
            told(destination.uri),
            Draft(destination.directory, destination.name, notes=notes_folder()) as draft,
        ):
            if destination.look() is not None:
                raise exists(destination.uri)
            _copy_tree(original, draft.folder(), source.uri)
            with alone_at(destination):
                draft.commit(exclusive=True)
    finally:
        os.close(original)


def _copy_tree(source: int, destination: int, uri: str, depth: int = 1) -> None:
    """Copy all that is in a directory into an empty one. Links are copied as links, and never followed.

    Raises:
        ProtocolError: It is too deep, something in it is refused or cannot be read, or the host is stopping.
        OSError: The copy cannot be written.
    """
    for name in os.listdir(source):
        go_on()
        _copy_entry(source, destination, name, uri, depth)
    os.fchmod(destination, stat.S_IMODE(os.fstat(source).st_mode) & 0o777)


def _copy_entry(source: int, destination: int, name: str, uri: str, depth: int) -> None:
    shown = f"{uri} (at {name!r})"
    with told(shown):
        info = os.stat(name, dir_fd=source, follow_symlinks=False)
    if stat.S_ISLNK(info.st_mode):
        with told(shown):
            target = os.readlink(name, dir_fd=source)
        os.symlink(target, name, dir_fd=destination)
        return
    with ExitStack() as held:
        is_directory = stat.S_ISDIR(info.st_mode)
        with told(shown):
            original = open_safely(source, name) if is_directory else open_regular(source, name, shown)[0]
        held.callback(os.close, original)
        if is_directory:
            if depth == MAX_DEPTH:  # before it is made: what was copied must be possible to remove again
                raise denied(uri, f"it is more than {MAX_DEPTH} directories deep")
            os.mkdir(name, 0o700, dir_fd=destination)
            new = open_directory(destination, name)
            held.callback(os.close, new)
            _copy_tree(original, new, uri, depth + 1)
        else:
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            new = os.open(name, flags, 0o600, dir_fd=destination)
            held.callback(os.close, new)
            copy_range(original, new, 0, os.fstat(original).st_size, at=0)
            os.fchmod(new, stat.S_IMODE(info.st_mode) & 0o777)


# -- bytes ---------------------------------------------------------------------------------------------------


def pieces(descriptor: int, start: int, end: int, size: int = PIECE) -> Iterator[bytes]:
    """What is in a file between two offsets. All but the last have that size; a file may end early."""
    while start < end:
        wanted = min(size, end - start)
        piece = os.pread(descriptor, wanted, start)
        while (
            piece
            and len(piece) < wanted
            and (more := os.pread(descriptor, wanted - len(piece), start + len(piece)))
        ):
            piece += more
        if not piece:
            return
        yield piece
        start += len(piece)


def copy_range(source: int, destination: int, start: int, end: int, at: int) -> None:
    """Copy what is between two offsets to an offset of another file; the source may end early."""
    by_kernel = getattr(os, "copy_file_range", None)
    while start < end and by_kernel is not None:
        try:
            copied = by_kernel(source, destination, min(end - start, _BY_KERNEL), start, at)
        except OSError as error:
            if error.errno not in _UNABLE:
                raise
            break
        if copied == 0:
            break
        start, at = start + copied, at + copied
    for piece in pieces(source, start, end):
        rest = memoryview(piece)
        while rest:
            written = os.pwrite(destination, rest, at)
            rest, at = rest[written:], at + written
