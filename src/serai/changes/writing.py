"""Putting files back, and taking them away: exactly those, and nothing else.

Every step goes from the handle of one directory to the next and follows no symbolic link, so that nothing can
lead it out of the working directory, also when someone changes the directories meanwhile. A file is written
beside its place and then put there at once. No directory with something in it is taken away to make room.
The host's own folder is not entered, and stays where it is.
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Generator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from serai.changes.closed import Closed, Identity, identity
from serai.changes.records import LINK_MODE, shown
from serai.errors import FileInTheWay, FileTooLarge

__all__ = [
    "Found",
    "put_file",
    "put_link",
    "read_file",
    "remove_empty_folders",
    "share",
    "take_away",
    "taken_away",
]

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Found:
    """A file as it is in the work tree. A symbolic link's content is where it points to."""

    data: bytes
    mode: int
    """As git has it: a plain file, an executable one, or a link."""

    @property
    def digest(self) -> str:
        """What the content is known by."""
        return hashlib.sha256(self.data).hexdigest()


def put_file(directory: str, path: str, source: Path, mode: int, closed: Closed) -> None:
    """Put a copy of a file at a path in a directory, in the place of what is there. Makes directories.

    Args:
        directory: Where to begin.
        path: The path from there.
        source: The file to copy.
        mode: Its mode, in git's words, which says whether it can be executed.
        closed: The host's own folder.

    Raises:
        FileInTheWay: A directory with something in it is there, or what is no directory is on the way, or it
            is the host's own.
    """
    with (
        _says(path),
        _parent(directory, path, closed, make=True) as (folder, name),
        _beside(folder) as temporary,
    ):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(temporary, flags, 0o777 if mode & 0o111 else 0o666, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as stream, source.open("rb") as content:
            shutil.copyfileobj(content, stream, 1 << 20)
        _move(folder, temporary, name)


def put_link(directory: str, path: str, target: bytes, closed: Closed) -> None:
    """The same for a symbolic link.

    Raises:
        FileInTheWay: A directory with something in it is there, or what is no directory is on the way, or it
            is the host's own.
    """
    with (
        _says(path),
        _parent(directory, path, closed, make=True) as (folder, name),
        _beside(folder) as temporary,
    ):
        os.symlink(target, os.fsencode(temporary), dir_fd=folder)
        _move(folder, temporary, name)


@contextmanager
def _beside(folder: int) -> Generator[str]:
    """A name that nobody has yet. What has it in the end, since it was not moved, is deleted."""
    name = _name_of_nobody()
    try:
        yield name
    except BaseException:
        with suppress(OSError):
            os.unlink(name, dir_fd=folder)
        raise


def _name_of_nobody() -> str:
    return f".serai-{secrets.token_hex(8)}"


def _move(folder: int, temporary: str, name: str) -> None:
    try:
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
    except IsADirectoryError:
        os.rmdir(name, dir_fd=folder)  # only an empty one goes
        os.rename(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)


def take_away(directory: str, path: str, closed: Closed) -> None:
    """Delete a file. One that is gone already is no matter.

    Raises:
        FileInTheWay: It is a directory, or something that is none is on the way, or it is the host's own.
    """
    with (
        _says(path),
        suppress(FileNotFoundError),
        _parent(directory, path, closed, make=False) as (folder, name),
    ):
        os.unlink(name, dir_fd=folder)


@contextmanager
def taken_away(directory: str, path: str, closed: Closed, *, stays: int | None = None) -> Generator[None]:
    """Take a file away for the length of a block, and for good after it. If the block fails, it is put back.

    Args:
        directory: Where to begin.
        path: The path from there.
        closed: The host's own folder.
        stays: Take the folders away too that are empty then, for what the block puts in their place; but so
            many folders on the way stay, empty or not. By default all do.

    Raises:
        FileInTheWay: It is not there, or something that is no folder is on the way, or it is the host's own.
    """
    aside = _name_of_nobody()
    with ExitStack() as held:
        with _says(path), _parent(directory, path, closed, make=False) as (folder, name):
            if stays is None:
                place = os.dup(folder)
            else:
                place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            held.callback(os.close, place)
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=place)
        try:
            if stays is not None:
                remove_empty_folders(directory, path, closed, stays=stays)
            yield
        except BaseException:
            with (
                suppress(OSError, FileInTheWay),
                _parent(directory, path, closed, make=True) as (folder, name),
            ):
                os.rename(aside, name, src_dir_fd=place, dst_dir_fd=folder)
            raise
        with _says(path):
            os.unlink(aside, dir_fd=place)


def remove_empty_folders(directory: str, path: str, closed: Closed, *, stays: int) -> None:
    """Remove the folders on the way to a path that are empty, from the innermost. git knows none of them.

    Args:
        directory: Where to begin.
        path: The path from there.
        closed: The host's own folder.
        stays: So many folders on the way stay, empty or not.
    """
    names = path.split("/")[:-1]
    try:
        while len(names) > stays:
            with _parent(directory, "/".join(names), closed, make=False) as (folder, name):
                os.rmdir(name, dir_fd=folder)
            names.pop()
    except (OSError, FileInTheWay):
        return


def share(source: Path, target: Path) -> None:
    """Have a file that nobody ever changes in another folder too. One that is gone by then is no matter."""
    if target.exists():
        return
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    partial.unlink(missing_ok=True)
    with suppress(FileNotFoundError):
        try:
            os.link(source, partial)
        except OSError:
            shutil.copy2(source, partial)
        partial.replace(target)


def read_file(directory: str, path: str, max_bytes: int, closed: Closed) -> Found | None:
    """What is at a path; `None` when there is no file.

    Raises:
        FileInTheWay: It is neither a file nor a link, it is too large, it cannot be read, or it is the host's
            own.
    """
    with _says(path):
        try:
            with _parent(directory, path, closed, make=False) as (folder, name):
                return _read(folder, name, path, max_bytes)
        except (FileNotFoundError, NotADirectoryError):
            return None


def _read(folder: int, name: str, path: str, max_bytes: int) -> Found:
    found = os.stat(name, dir_fd=folder, follow_symlinks=False)
    if stat.S_ISLNK(found.st_mode):
        return Found(os.fsencode(os.readlink(name, dir_fd=folder)), LINK_MODE)
    # Not to wait: what was a file a moment ago may be a pipe now.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(name, flags, dir_fd=folder)
    with os.fdopen(descriptor, "rb") as stream:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise FileInTheWay(f"{shown(path)} is not a file")
        data = stream.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise FileTooLarge(f"{shown(path)} is larger than {max_bytes} bytes")
    return Found(data, 0o100755 if found.st_mode & 0o100 else 0o100644)


@contextmanager
def _parent(directory: str, path: str, closed: Closed, *, make: bool) -> Generator[tuple[int, str]]:
    """The handle of the directory that a path is in, and the name that it has there."""
    *names, last = path.split("/")
    if not last or any(name in {"", ".", ".."} for name in (*names, last)) or "\0" in path:
        raise FileInTheWay(f"{shown(path)} is no path in the working directory")
    own = closed.identities()
    folder = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        _refuse(identity(folder), own, path)
        for name in names:
            if make:
                with suppress(FileExistsError):
                    os.mkdir(name, dir_fd=folder)
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
def _says(path: str) -> Generator[None]:
    """What the system refuses, in a sentence."""
    try:
        yield
    except OSError as error:
        raise FileInTheWay(f"{shown(path)} cannot be touched: {error.strerror or error}") from None
