"""From a URI to a place on the disk, so that nothing can be slipped in between.

A path is walked from `/` as `serai.machine.safe_paths` does it, so what is held at the end is where the name
really leads: a *place*, which is an open directory and a name in it. Only then is it judged whether that is
inside a root. The way may lead outside and come back, as it does with every absolute link. Of what is outside
nothing is told, not even whether it is there.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Self

from serai.errors import ProtocolError
from serai.machine.files.refusals import denied, exists, not_found, outside, told, translated, wrong_kind
from serai.machine.files.roots import Access, Roots
from serai.machine.safe_paths import Identity, PathRefused, Walk, identity, look, open_directory, open_safely
from serai.machine.umask import share_folder
from serai.uris import path_of

_USUAL = frozenset({stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK})


class Place:
    """A name in a directory that is held open. Use it in a `with`, which closes the directory."""

    def __init__(self, uri: str, walk: Walk) -> None:
        self.uri = uri
        """As it was asked for."""
        self.path = f"/{walk.path}"
        """Where it really is."""
        self.name = walk.name
        self.info = walk.info
        """What was found there, a link not followed; `None` when there was nothing."""
        self.above: tuple[Identity, ...] = walk.above
        """The directories that it is in, from `/` on."""
        self.directory = walk.keep()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the directory. Doing it again does nothing."""
        if self.directory >= 0:
            os.close(self.directory)
            self.directory = -1

    def look(self) -> os.stat_result | None:
        """What is there now, a link not followed; `None` when there is nothing.

        Raises:
            ProtocolError: It is a device, a pipe or a socket.
            OSError: The system does not say.
        """
        self.info = look(self.directory, self.name)
        _refuse_unusual(self.info, self.uri)
        return self.info

    @property
    def is_directory(self) -> bool:
        """Whether a directory was found there."""
        return self.info is not None and stat.S_ISDIR(self.info.st_mode)

    def open(self, *, flags: int = os.O_RDONLY) -> tuple[int, os.stat_result]:
        """See `open_regular`."""
        return open_regular(self.directory, self.name, self.uri, flags=flags)

    def open_directory(self) -> int:
        """Open the directory that is there, to list it. The caller closes it.

        Raises:
            ProtocolError: It is not there, is no directory, or may not be read.
        """
        if self.info is not None and not self.is_directory:
            raise wrong_kind(self.uri, "is no directory")
        with told(self.uri):
            return open_directory(self.directory, self.name)


def find(
    uri: str,
    roots: Roots,
    access: Access,
    *,
    follow: bool = True,
    itself: bool = True,
    whole: bool = False,
) -> Place:
    """Where a URI leads, when that may be had. The last name need not be there, all before it must.

    Args:
        uri: A `file:` URI.
        roots: What may be had.
        access: How it is to be had.
        follow: Whether a link at the very end is followed. Other links always are.
        itself: Whether a directory may be had that is a root and in no other; otherwise it must be below one.
        whole: Whether a directory is meant with all that is in it; then nothing closed may be there.

    Raises:
        ProtocolError: `PERMISSION_DENIED` when it ends outside, passes through `/proc` or the like, has a
            name that is not UTF-8 or too long, follows too many links or ends at a device, a pipe or a
            socket; `NOT_FOUND` when it is inside and a directory on the way is missing.
    """
    with _walk(uri, roots) as walk:
        try:
            walk.go(follow=follow)
        except OSError as error:
            raise _failed(walk, error, uri, roots, access) from error
        _judge(walk, uri, roots, access, itself=itself, whole=whole)
        _refuse_unusual(walk.info, uri)
        return Place(uri, walk)


def find_or_make(uri: str, roots: Roots) -> Place:
    """The same for a directory that is to be written. It is made, with those above it, where it is missing.

    Raises:
        ProtocolError: As `find`; `ALREADY_EXISTS` when something on the way is no directory.
    """
    with _walk(uri, roots) as walk:
        while True:
            try:
                walk.go(follow=True)
                break
            except OSError as error:
                is_inside = roots.allow(f"/{walk.path}", Access.WRITE)
                if is_inside and isinstance(error, NotADirectoryError):
                    raise exists(uri) from None
                if not is_inside or not isinstance(error, FileNotFoundError):
                    raise _failed(walk, error, uri, roots, Access.WRITE) from error
                with told(uri):
                    walk.make()
        _judge(walk, uri, roots, Access.WRITE)
        _refuse_unusual(walk.info, uri)
        if walk.info is None:
            with told(uri), suppress(FileExistsError):
                os.mkdir(walk.name, dir_fd=walk.here)
                share_folder(walk.here, walk.name)
            walk.info = look(walk.here, walk.name)
        if walk.info is None or not stat.S_ISDIR(walk.info.st_mode):
            raise exists(uri)
        return Place(uri, walk)


def open_regular(
    directory: int, name: str, uri: str, *, flags: int = os.O_RDONLY
) -> tuple[int, os.stat_result]:
    """Open a regular file, and say what it is. The caller closes it.

    A file with several names (hard links) is refused: one of them may be outside, and nothing tells which.

    Raises:
        ProtocolError: It is not there, is no regular file, has several names, or cannot be opened.
    """
    with told(uri):
        handle = open_safely(directory, name, flags)
    info = os.fstat(handle)
    problem = None
    if stat.S_ISDIR(info.st_mode):
        problem = wrong_kind(uri, "is a directory")
    elif info.st_nlink > 1:
        problem = denied(uri, "it has several names (hard links), and one may be outside")
    elif info.st_nlink == 0:
        problem = not_found(uri)
    if problem is not None:
        os.close(handle)
        raise problem
    return handle, info


def etag(info: os.stat_result) -> str:
    """A token that changes when a file does: its inode, size, and times of change to the nanosecond.

    The change time is the kernel's own and cannot be set back. Two changes within one tick of its clock that
    leave the size as it was cannot be told apart.
    """
    return f"{info.st_ino:x}-{info.st_size:x}-{info.st_mtime_ns:x}-{info.st_ctime_ns:x}"


# -- walking and judging -------------------------------------------------------------------------------------


def _walk(uri: str, roots: Roots) -> Walk:
    closed: set[Identity] = set()
    for path in roots.closed:
        with suppress(OSError):
            closed.add(identity(Path(path).stat()))
    return Walk("/", os.fspath(path_of(uri)), avoid=closed)


def _failed(walk: Walk, error: OSError, uri: str, roots: Roots, access: Access) -> ProtocolError:
    """What is told of a way that could not be walked: outside, nothing but that."""
    if isinstance(error, PathRefused) or roots.allow(f"/{walk.path}", access):
        return translated(error, uri)
    return outside(uri, access)


def _judge(
    walk: Walk, uri: str, roots: Roots, access: Access, *, itself: bool = True, whole: bool = False
) -> None:
    path = f"/{walk.path}"
    try:
        path.encode()
    except UnicodeEncodeError:
        raise denied(uri, "a name on the way is not UTF-8") from None
    is_directory = walk.info is not None and stat.S_ISDIR(walk.info.st_mode)
    itself = itself or not is_directory
    if (walk.name == "." and not itself) or not roots.allow(path, access, itself=itself):
        if not itself and roots.allow(path, access):
            why = "only what is in it can be moved or deleted: it is a session's folder, or was granted"
            raise denied(uri, why)
        raise outside(uri, access)
    if whole and walk.info is not None and identity(walk.info) in _above(roots.closed):
        raise denied(uri, "it belongs to the host itself")


def _above(paths: tuple[str, ...]) -> set[Identity]:
    found: set[Identity] = set()
    for path in paths:
        for parent in Path(path).parents:
            with suppress(OSError):
                found.add(identity(parent.stat()))
    return found


def _refuse_unusual(info: os.stat_result | None, uri: str) -> None:
    if info is not None and stat.S_IFMT(info.st_mode) not in _USUAL:
        raise denied(uri, "it is a device, a pipe or a socket")
