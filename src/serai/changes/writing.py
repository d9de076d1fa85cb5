"""Putting files back, and taking them away: exactly those, and nothing else.

Files are reached as `reaching` does it. A file is written beside its place. What is in its place is looked
at, moved aside, which nobody can come between, and looked at there: if it is not what was to be replaced,
since someone has written it meanwhile, it goes back and stays. For that moment nothing is in its place. No
directory with something in it is taken away to make room. A host that is killed in between leaves what the
next one cleans up (`leftovers`).
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
import sys
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from serai.changes.closed import Closed
from serai.changes.drafts import name_of_nobody
from serai.changes.leftovers import noted
from serai.changes.reaching import (
    Expected,
    FolderPermissions,
    as_usual,
    look,
    parent,
    put_exclusively,
    says,
)
from serai.changes.records import shown
from serai.errors import FileInTheWay

__all__ = ["CHANGED", "put_file", "put_link", "remove_empty_folders", "share", "take_away", "taken_away"]

CHANGED = "it has changed since it was looked at"
_RECENT = 2_000_000_000
"""Two changes of a file may have the same time, in nanoseconds."""


def put_file(
    directory: str,
    path: str,
    source: Path,
    mode: int | None,
    closed: Closed,
    *,
    permissions: int | None = None,
    folders: FolderPermissions = as_usual,
    expected: Expected | None = None,
    notes: Path | None = None,
) -> None:
    """Put a copy of a file at a path in a directory, in the place of what is there. Makes directories.

    It has the owner and the attributes of the file that it replaces.

    Args:
        directory: Where to begin.
        path: The path from there.
        source: The file to copy.
        mode: Its mode, in git's words, which says whether it can be executed; when absent, it can if the file
            can that it replaces.
        closed: The host's own folder.
        permissions: Who may read and write it; by default those who may with the file that it replaces.
        folders: Says who may enter and read the directories that are made at most.
        expected: What is there. By default it may be anything.
        notes: Where it is noted what is in the directory meanwhile.

    Raises:
        FileInTheWay: A directory with something in it is there, or what is no directory is on the way, or it
            is the host's own, or it is not what was expected. All that was there is there.
    """
    can_run = bool(mode and mode & 0o111)
    with (
        says(path),
        parent(directory, path, closed, make=True, permissions=folders) as (folder, name),
        _draft(directory, path, folder, notes) as draft,
    ):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(draft, flags, 0o777 if can_run else 0o666, dir_fd=folder)
        with os.fdopen(descriptor, "wb") as stream, source.open("rb") as content:
            usual = os.fstat(descriptor).st_mode & 0o777
            os.fchmod(descriptor, 0o600)  # nobody reads a private file while it is a draft
            shutil.copyfileobj(content, stream, 1 << 20)
            stream.flush()
            with _aside(directory, path, folder, closed, expected, notes) as aside:
                replaced = _regular(folder, aside)
                if replaced is not None:
                    _own_as(descriptor, replaced)
                    usual = replaced.st_mode & 0o777
                    usual = usual if mode is None else _executable(usual, can_run=can_run)
                os.fchmod(descriptor, usual if permissions is None else permissions & 0o777)
                if replaced is not None and aside is not None:
                    _take_over_attributes(descriptor, folder, aside, has_permissions=permissions is not None)
                _place(folder, draft, name)


def put_link(
    directory: str,
    path: str,
    target: bytes,
    closed: Closed,
    *,
    folders: FolderPermissions = as_usual,
    expected: Expected | None = None,
    notes: Path | None = None,
) -> None:
    """The same for a symbolic link.

    Raises:
        FileInTheWay: A directory with something in it is there, or what is no directory is on the way, or it
            is the host's own, or it is not what was expected. All that was there is there.
    """
    with (
        says(path),
        parent(directory, path, closed, make=True, permissions=folders) as (folder, name),
        _draft(directory, path, folder, notes) as draft,
    ):
        os.symlink(target, os.fsencode(draft), dir_fd=folder)
        with _aside(directory, path, folder, closed, expected, notes):
            _place(folder, draft, name)


@contextmanager
def _draft(directory: str, path: str, folder: int, notes: Path | None) -> Generator[str]:
    """A name that nobody has yet. What has it in the end, since it was not moved, is deleted."""
    name = name_of_nobody()
    with noted(notes, directory, _beside(path, name)):
        try:
            yield name
        except BaseException:
            with suppress(OSError):
                os.unlink(name, dir_fd=folder)
            raise


def _beside(path: str, name: str) -> str:
    folder = path.rpartition("/")[0]
    return f"{folder}/{name}" if folder else name


def _regular(folder: int, name: str | None) -> os.stat_result | None:
    found = look(folder, name) if name is not None else None
    return found if found is not None and stat.S_ISREG(found.st_mode) else None


def _executable(permissions: int, *, can_run: bool) -> int:
    """The same permissions, but who may read it may run it too, or nobody may."""
    return permissions | (permissions & 0o444) >> 2 if can_run else permissions & ~0o111


def _own_as(descriptor: int, replaced: os.stat_result) -> None:
    mine = os.fstat(descriptor)
    if (replaced.st_uid, replaced.st_gid) != (mine.st_uid, mine.st_gid):
        with suppress(OSError):  # only the superuser may give files away
            os.fchown(descriptor, replaced.st_uid, replaced.st_gid)


def _take_over_attributes(descriptor: int, folder: int, name: str, *, has_permissions: bool) -> None:
    """Keep what is attached to the file that is replaced: a person's own attributes, and access lists."""
    if sys.platform != "linux":
        return
    replaced = f"/proc/self/fd/{folder}/{name}"
    with suppress(OSError):  # there is none, or the file system has no attributes
        for attribute in os.listxattr(replaced, follow_symlinks=False):
            is_list = attribute == "system.posix_acl_access" and not has_permissions
            if attribute.startswith("user.") or is_list:
                with suppress(OSError):
                    value = os.getxattr(replaced, attribute, follow_symlinks=False)
                    os.setxattr(descriptor, attribute, value)


def _place(folder: int, draft: str, name: str) -> None:
    try:
        put_exclusively(draft, name, source_in=folder, target_in=folder)
    except FileExistsError:
        found = look(folder, name)
        if found is None or not stat.S_ISDIR(found.st_mode):
            raise FileInTheWay(CHANGED) from None
        os.rmdir(name, dir_fd=folder)  # only an empty one goes
        put_exclusively(draft, name, source_in=folder, target_in=folder)


@contextmanager
def _aside(
    directory: str, path: str, folder: int, closed: Closed, expected: Expected | None, notes: Path | None
) -> Generator[str | None]:
    """What is at a path is aside for the length of a block, and gone after it; `None` if nothing was."""
    found = look(folder, path.rpartition("/")[2])
    is_there = found is not None and not stat.S_ISDIR(found.st_mode)
    if expected is not None and is_there != (expected.content is not None):
        raise FileInTheWay(CHANGED)
    if not is_there:
        yield None
        return
    with taken_away(directory, path, closed, expected=expected, notes=notes) as aside:
        yield aside


def take_away(
    directory: str,
    path: str,
    closed: Closed,
    *,
    expected: Expected | None = None,
    notes: Path | None = None,
) -> None:
    """Delete a file. One that is gone already is no matter.

    Raises:
        FileInTheWay: It is a directory, or something that is none is on the way, or it is the host's own, or
            not what was expected. It is still there.
    """
    with says(path):
        try:
            with parent(directory, path, closed, make=False) as (folder, name):
                is_there = look(folder, name) is not None
        except FileNotFoundError:
            is_there = False
    if is_there:
        with taken_away(directory, path, closed, expected=expected, notes=notes):
            pass


@contextmanager
def taken_away(
    directory: str,
    path: str,
    closed: Closed,
    *,
    stays: int | None = None,
    keeps: Callable[[str], bool] = lambda _folder: False,
    expected: Expected | None = None,
    notes: Path | None = None,
) -> Generator[str]:
    """Take a file away for the length of a block, and for good after it. If the block fails, it is put back.

    Args:
        directory: Where to begin.
        path: The path from there.
        closed: The host's own folder.
        stays: Take the folders away too that are empty then, for what the block puts in their place; but so
            many folders on the way stay, empty or not. By default all do.
        keeps: Says of a folder whether it stays.
        expected: What is there. By default it may be anything.
        notes: Where it is noted what is in the directory meanwhile.

    Yields:
        The name that it has meanwhile.

    Raises:
        FileInTheWay: It is not there, or a directory, or something that is no folder is on the way, or it is
            the host's own, or not what was expected. It is where it was, or the message says where.
    """
    aside = name_of_nobody()
    left = _beside(path, aside) if stays is None else aside
    with ExitStack() as held:
        held.enter_context(noted(notes, directory, left, was_at=path, expected=expected))
        with says(path), parent(directory, path, closed, make=False) as (folder, name):
            found = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(found.st_mode):
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
            if stays is None:
                place = os.dup(folder)
            else:
                place = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            held.callback(os.close, place)
            _look_at(expected, folder, name)  # while it is in its place, since that may take a while
            os.rename(name, aside, src_dir_fd=folder, dst_dir_fd=place)
        try:
            if not _is_untouched(found, look(place, aside)):
                _look_at(expected, place, aside)
            if stays is not None:
                remove_empty_folders(directory, path, closed, stays=stays, keeps=keeps)
            yield aside
        except BaseException:
            _go_back(directory, path, closed, place, aside, left)
            raise
        with says(path):
            os.unlink(aside, dir_fd=place)


def _look_at(expected: Expected | None, folder: int, name: str) -> None:
    if expected is not None and not expected.is_at(folder, name):
        raise FileInTheWay(CHANGED)


def _is_untouched(before: os.stat_result, after: os.stat_result | None) -> bool:
    """Whether a file is what it was, as the file system tells it. Of a recent one its times do not tell."""
    return (
        after is not None
        and (before.st_dev, before.st_ino, before.st_size) == (after.st_dev, after.st_ino, after.st_size)
        and before.st_mtime_ns == after.st_mtime_ns < time.time_ns() - _RECENT
    )


def _go_back(directory: str, path: str, closed: Closed, place: int, aside: str, left: str) -> None:
    try:
        with parent(directory, path, closed, make=True) as (folder, name):
            put_exclusively(aside, name, source_in=place, target_in=folder)
    except (OSError, FileInTheWay):
        was = f"something else has come to {shown(path)} meanwhile"
        raise FileInTheWay(f"{was}: what was there is at {shown(left)} now") from None


def remove_empty_folders(
    directory: str,
    path: str,
    closed: Closed,
    *,
    stays: int,
    keeps: Callable[[str], bool] = lambda _folder: False,
) -> None:
    """Remove the folders on the way to a path that are empty, from the innermost. git knows none of them.

    Args:
        directory: Where to begin.
        path: The path from there.
        closed: The host's own folder.
        stays: So many folders on the way stay, empty or not.
        keeps: Says of a folder, by its path from the directory, whether it stays.
    """
    names = path.split("/")[:-1]
    try:
        while len(names) > stays and not keeps("/".join(names)):
            with parent(directory, "/".join(names), closed, make=False) as (folder, name):
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
