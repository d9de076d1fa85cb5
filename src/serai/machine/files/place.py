"""Finds the place on the disk that a URI leads to, so that nothing can be slipped in between.

A path is walked from `/` as `serai.machine.safe_paths` does it. At the end, the directory that the name is
really in is held open: the name in it is a *place*. Only then it is judged whether the place is inside a
root. The path may lead outside and come back, as it does with every absolute link. About what is outside
nothing is client_errors, not even whether it exists.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from serai.errors import ProtocolError
from serai.machine.files.refusals import (
    client_error,
    client_errors,
    denied,
    exists,
    not_found,
    outside,
    wrong_kind,
)
from serai.machine.files.roots import Roots
from serai.machine.safe_paths import (
    Identity,
    PathRefused,
    Walk,
    identity,
    look,
    make_folder,
    open_directory,
    open_safely,
)
from serai.uris import path_of

_USUAL = frozenset({stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK})


class Place(Walk):
    """A name in a directory that is held open: the end of a walk from a URI."""

    def __init__(self, uri: str, roots: Roots) -> None:
        closed: set[Identity] = set()
        for path in roots.closed:
            with suppress(OSError):
                closed.add(identity(Path(path).stat()))
        super().__init__("/", os.fspath(path_of(uri)), avoid=closed)
        self.uri = uri
        """The URI as the client wrote it."""

    @property
    def path(self) -> str:
        """The real path, with the names that are still ahead."""
        return f"/{super().path}"

    def look(self) -> os.stat_result | None:
        """Look at the place again, without following a link; return `None` when there is nothing.

        Raises:
            ProtocolError: It is a device, a pipe or a socket.
            OSError: The system does not tell.
        """
        self.info = look(self.here, self.name)
        _refuse_unusual(self.info, self.uri)
        return self.info

    @property
    def is_directory(self) -> bool:
        """True when a directory was found there."""
        return self.info is not None and stat.S_ISDIR(self.info.st_mode)

    def open(self, *, flags: int = os.O_RDONLY) -> tuple[int, os.stat_result]:
        """Open the regular file that is there; see `open_regular`."""
        return open_regular(self.here, self.name, self.uri, flags=flags)

    def open_directory(self) -> int:
        """Open the directory that is there, for listing. The caller closes it.

        Raises:
            ProtocolError: It is not there, is no directory, or may not be read.
        """
        if self.info is not None and not self.is_directory:
            raise wrong_kind(self.uri, "is no directory")
        with client_errors(self.uri):
            return open_directory(self.here, self.name)


@contextmanager
def find(
    uri: str,
    roots: Roots,
    *,
    write: bool = False,
    follow: bool = True,
    itself: bool = True,
    whole: bool = False,
) -> Generator[Place]:
    """Hold the place open that a URI leads to, if access is allowed. Only the last name need not exist.

    Args:
        uri: A `file:` URI.
        roots: The directories that may be read or written.
        write: Ask for write access; otherwise for read access.
        follow: Follow a link at the very end. Other links are always followed.
        itself: Allow a directory that is a root and below no other.
        whole: Ask for a directory with all that is in it; then nothing closed may be there.

    Raises:
        ProtocolError: `PERMISSION_DENIED` when the path ends outside, passes through `/proc` or the like, has
            a name that is not UTF-8 or too long, follows too many links or ends at a device, a pipe or a
            socket; `NOT_FOUND` when it is inside and a directory on the way is missing.
    """
    with Place(uri, roots) as place:
        try:
            place.go(follow=follow)
        except OSError as error:
            raise _failed(place, error, roots, write=write) from error
        _judge(place, roots, write=write, itself=itself, whole=whole)
        _refuse_unusual(place.info, uri)
        yield place


def find_or_make(uri: str, roots: Roots) -> None:
    """Make a directory for writing, with those above it that are missing. It may exist already.

    Raises:
        ProtocolError: As `find`; `ALREADY_EXISTS` when something on the way is no directory.
    """
    with Place(uri, roots) as place:
        while True:
            try:
                place.go(follow=True)
                break
            except OSError as error:
                is_inside = roots.allow(place.path, write=True)
                if is_inside and isinstance(error, NotADirectoryError):
                    raise exists(uri) from None
                if not is_inside or not isinstance(error, FileNotFoundError):
                    raise _failed(place, error, roots, write=True) from error
                with client_errors(uri):
                    place.make()
        _judge(place, roots, write=True)
        _refuse_unusual(place.info, uri)
        if place.info is None:
            with client_errors(uri):
                make_folder(place.here, place.name)
            place.look()
        if not place.is_directory:
            raise exists(uri)


def open_regular(
    directory: int, name: str, uri: str, *, flags: int = os.O_RDONLY
) -> tuple[int, os.stat_result]:
    """Open a regular file, and return its descriptor and status. The caller closes it.

    A file with several names (hard links) is refused: one of them may be outside, and nothing tells which.

    Raises:
        ProtocolError: It is not there, is no regular file, has several names, or cannot be opened.
    """
    with client_errors(uri):
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
    """Return a token that changes with a file: its inode, size, and times of change to the nanosecond.

    The change time is the kernel's own and cannot be set back. Two changes within one tick of its clock that
    leave the size as it was cannot be told apart.
    """
    return f"{info.st_ino:x}-{info.st_size:x}-{info.st_mtime_ns:x}-{info.st_ctime_ns:x}"


# -- walking and judging -------------------------------------------------------------------------------------


def _failed(place: Place, error: OSError, roots: Roots, *, write: bool) -> ProtocolError:
    """Return the error for a path that could not be walked. It says nothing about what is outside."""
    if isinstance(error, PathRefused) or roots.allow(place.path, write=write):
        return client_error(error, place.uri)
    return outside(place.uri, write=write)


def _judge(place: Place, roots: Roots, *, write: bool, itself: bool = True, whole: bool = False) -> None:
    uri, path = place.uri, place.path
    try:
        path.encode()
    except UnicodeEncodeError:
        raise denied(uri, "a name on the way is not UTF-8") from None
    itself = itself or not place.is_directory
    if (place.name == "." and not itself) or not roots.allow(path, write=write, itself=itself):
        if not itself and roots.allow(path, write=write):
            why = "it is a session's folder or was granted, so only what is in it can be moved or deleted"
            raise denied(uri, why)
        raise outside(uri, write=write)
    if whole and place.info is not None and identity(place.info) in _above(roots.closed):
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
