"""Writes a file or a folder beside its place and puts it there whole, or leaves nothing of it.

    with Draft(directory, "notes.md", notes=folder) as draft:
        descriptor = draft.file(like=replaced)
        os.write(descriptor, data)
        draft.commit()

A draft that a `kill -9` leaves behind is named `.serai-*.tmp`. Its note in the host's folder survives with
it, and the next host removes both (`find_leftovers`, `remove_leftovers`).
"""

from __future__ import annotations

import ctypes
import errno
import os
import re
import secrets
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Self

from serai.machine.safe_paths import (
    MAX_DEPTH,
    PathRefused,
    look,
    open_directory,
    open_safely,
    parent_below,
    remove_tree,
    share,
    sync_directory,
)

PIECE = 256 * 1024
"""Size of one read, in bytes."""

_DRAFT = re.compile(r"\.serai-[0-9a-f]{16}\.tmp")
_TO_MAKE = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OUT_OF_REACH = frozenset({errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.EPERM, errno.EROFS})


class Draft:
    """A file or folder that is written beside its place. Unless committed, nothing is left of it.

    Use it in a `with`. The handle of the directory stays the caller's. `notes` is a folder of the host's own,
    where the draft is noted in case the host is killed.
    """

    def __init__(self, directory: int, name: str, *, notes: Path | None = None) -> None:
        self.beside = f".serai-{secrets.token_hex(8)}.tmp"
        """Name of the draft until it is committed."""
        self._directory = directory
        self._name = name
        self._note = notes / self.beside if notes is not None else None
        self._like: int | None = None
        self._descriptor = -1

    def __enter__(self) -> Self:
        where = _path_of(self._directory)
        if self._note is not None and where is not None:
            # A draft works without a note, too. The note is not synced: it only has to survive the process.
            with suppress(OSError), open(self._note, "wb", opener=_private) as note:
                note.write(os.fsencode(where))
        return self

    def __exit__(self, *_error: object) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
        with suppress(OSError):
            remove(self._directory, self.beside)
        if self._note is not None:
            with suppress(OSError):
                self._note.unlink()

    def file(self, *, mode: int = 0o666, like: int | None = None) -> int:
        """Make the draft a file and return its descriptor, which is closed with the draft.

        Args:
            mode: The permissions, less the person's umask.
            like: An open file whose owner, permissions and attributes the draft gets instead when it is
                committed.
        """
        mode = mode if like is None else 0o600  # nobody reads a private file while it is a draft
        self._like = like
        self._descriptor = os.open(self.beside, _TO_MAKE, mode, dir_fd=self._directory)
        share(self._descriptor, mode)
        return self._descriptor

    def commit(self, *, exclusive: bool = False) -> None:
        """Put the draft in its place, durably. Others see either the old file or the new one.

        Raises:
            FileExistsError: A directory has the name already; if `exclusive`, anything has it.
            OSError: The draft cannot be put there; nothing has changed.
        """
        if self._like is not None:
            self._take_after(self._like)
        if self._descriptor >= 0:
            os.fsync(self._descriptor)
        directory = self._directory
        if exclusive:
            rename_exclusively(self.beside, self._name, source_in=directory, destination_in=directory)
        else:
            os.rename(self.beside, self._name, src_dir_fd=directory, dst_dir_fd=directory)
        sync_directory(directory)

    def _take_after(self, original: int) -> None:
        like, mine = os.fstat(original), os.fstat(self._descriptor)
        if (like.st_uid, like.st_gid) != (mine.st_uid, mine.st_gid):
            for user in (like.st_uid, -1):  # only the superuser may give files away
                with suppress(OSError):
                    os.fchown(self._descriptor, user, like.st_gid)
                    break
        # Never set-user-id: new content must not run as someone else.
        os.fchmod(self._descriptor, stat.S_IMODE(like.st_mode) & 0o777)
        _copy_attributes(original, self._descriptor)


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _copy_attributes(source: int, destination: int) -> None:
    """Copy a file's extended attributes and access lists to another file, where the system allows it."""
    if sys.platform != "linux":
        return
    with suppress(OSError):  # the file system has no attributes
        for name in os.listxattr(source):
            if name.startswith("user.") or name == "system.posix_acl_access":
                with suppress(OSError):
                    os.setxattr(destination, name, os.getxattr(source, name))


def _path_of(directory: int) -> str | None:
    """Return the path of an open directory; `None` when it is gone, or the system does not tell."""
    try:
        if sys.platform == "linux":
            path = str(Path(f"/proc/self/fd/{directory}").readlink())
        else:
            import fcntl  # noqa: PLC0415 - it has the question on macOS alone

            answer = fcntl.fcntl(directory, 50, b"\0" * 1024)  # F_GETPATH
            path = os.fsdecode(answer.rstrip(b"\0"))
    except OSError:
        return None
    return path if path.startswith("/") else None


# -- renaming without replacing ------------------------------------------------------------------------------

_UNABLE = frozenset({errno.ENOSYS, errno.EINVAL, errno.ENOTSUP, errno.EOPNOTSUPP})


def _exclusive_call() -> Callable[[int, bytes, int, bytes], int] | None:
    """Return the system's call for renaming exclusively: `renameat2` on Linux, `renameatx_np` on macOS."""
    library = ctypes.CDLL(None, use_errno=True)
    for name, flag in (("renameat2", 1), ("renameatx_np", 4)):
        if found := getattr(library, name, None):
            return lambda old_in, old, new_in, new: found(old_in, old, new_in, new, ctypes.c_uint(flag))
    return None


_rename = _exclusive_call()


def rename_exclusively(source: str, destination: str, *, source_in: int, destination_in: int) -> None:
    """Rename within open directories, and fail when the destination exists.

    Where the system has no such call, a file is linked and then unlinked, which is as safe, and a directory
    is renamed after a check.

    Raises:
        FileExistsError: The destination exists.
        OSError: As `os.rename`.
    """
    if _rename is not None:
        if _rename(source_in, os.fsencode(source), destination_in, os.fsencode(destination)) == 0:
            return
        number = ctypes.get_errno()
        if number not in _UNABLE:
            raise OSError(number, os.strerror(number), destination)
    info = look(source_in, source)
    if info is None or not stat.S_ISDIR(info.st_mode):
        os.link(source, destination, src_dir_fd=source_in, dst_dir_fd=destination_in, follow_symlinks=False)
        os.unlink(source, dir_fd=source_in)
    elif look(destination_in, destination) is not None:
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), destination)
    else:
        os.rename(source, destination, src_dir_fd=source_in, dst_dir_fd=destination_in)


# -- after a kill --------------------------------------------------------------------------------------------


def find_leftovers(folder: Path) -> list[Path]:
    """Return the notes that a killed host left, before any draft is begun. The folder is made if need be."""
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return [note for note in folder.iterdir() if _DRAFT.fullmatch(note.name)]
    except OSError:
        return []


def remove_leftovers(notes: Iterable[Path]) -> int:
    """Remove the drafts that notes name, and the notes. Returns the number of removed drafts.

    A draft out of reach, because its directory is gone or may not be written any more, is forgotten. One that
    fails for another reason stays noted.
    """
    removed = 0
    for note in notes:
        try:
            # In that directory itself: a link that has its name by now is not followed.
            with parent_below("/", f"{os.fsdecode(note.read_bytes())}/{note.name}") as (directory, name):
                removed += remove(directory, name)
        except OSError as error:
            if error.errno not in _OUT_OF_REACH:
                continue
        with suppress(OSError):
            note.unlink()
    return removed


def remove(directory: int, name: str) -> bool:
    """Remove a name in an open directory, with all that is in it. Returns `False` when there is no such name.

    Raises:
        OSError: As `remove_tree`.
    """
    info = look(directory, name)
    if info is None:
        return False
    if stat.S_ISDIR(info.st_mode):
        remove_tree(directory, name)
    else:
        os.unlink(name, dir_fd=directory)
    return True


# -- copies -------------------------------------------------------------------------------------------------


def pieces(descriptor: int, start: int, end: int, size: int = PIECE) -> Iterator[bytes]:
    """Yield the content of a file between two offsets, in pieces of a size; a file may end early."""
    while start < end:
        wanted = min(size, end - start)
        piece = os.pread(descriptor, wanted, start)
        while piece and len(piece) < wanted:
            more = os.pread(descriptor, wanted - len(piece), start + len(piece))
            if not more:
                break
            piece += more
        if not piece:
            return
        yield piece
        start += len(piece)


def copy_range(source: int, destination: int, start: int, end: int) -> None:
    """Append the content between two offsets of a file to another one; the source may end early."""
    for piece in pieces(source, start, end):
        write_all(destination, piece)


def write_all(descriptor: int, data: bytes) -> None:
    """Write all data, however little the system takes at once."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def copy_entry(
    source: int,
    name: str,
    target: int,
    new_name: str,
    *,
    opened: Callable[[int, str], int] = open_safely,
    exact: bool = False,
    depth: int = 1,
) -> None:
    """Copy a file, a link or a folder with all that is in it into an open directory. No link is followed.

    Args:
        source: The open directory of the original.
        name: The name of the original.
        target: The open directory of the copy.
        new_name: The name of the copy; nothing may have it.
        opened: Opens a file or a folder of the original, or refuses it.
        exact: Also copy attributes, times and all permissions, and sync the copy to the disk.
        depth: The depth of the original, for the limit.

    Raises:
        OSError: Something cannot be read or written; some of the copy may be there.
    """
    info = os.stat(name, dir_fd=source, follow_symlinks=False)
    if stat.S_ISLNK(info.st_mode):
        os.symlink(os.readlink(name, dir_fd=source), new_name, dir_fd=target)
        return
    if depth > MAX_DEPTH:
        raise PathRefused(f"it is more than {MAX_DEPTH} directories deep")
    with ExitStack() as held:
        original = opened(source, name)
        held.callback(os.close, original)
        if stat.S_ISDIR(info.st_mode):
            os.mkdir(new_name, 0o700, dir_fd=target)
            copy = open_directory(target, new_name)
            held.callback(os.close, copy)
            for entry in os.listdir(original):  # noqa: PTH208 - by its handle
                copy_entry(original, entry, copy, entry, opened=opened, exact=exact, depth=depth + 1)
        else:
            copy = os.open(new_name, _TO_MAKE, 0o600, dir_fd=target)
            held.callback(os.close, copy)
            copy_range(original, copy, 0, os.fstat(original).st_size)
        os.fchmod(copy, stat.S_IMODE(info.st_mode) & (0o7777 if exact else 0o777))
        if exact:
            _copy_attributes(original, copy)
            os.utime(copy, ns=(info.st_atime_ns, info.st_mtime_ns))
            os.fsync(copy)
