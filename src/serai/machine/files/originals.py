"""A directory that is copied in order to go: what it held then, so that nothing else goes.

From one file system to another a directory cannot be moved in one step, and other programs may write into it
meanwhile. What they wrote is not in the copy.
"""

from __future__ import annotations

import errno
import os
import sys
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from typing import TypeAlias

from serai.machine.files.handles import Identity, identity, names_in, open_directory
from serai.machine.files.lanes import go_on
from serai.machine.files.refusals import denied
from serai.machine.files.versions import etag

__all__ = [
    "Original",
    "is_unchanged",
    "keep_all_attributes",
    "keep_attributes",
    "keep_owner",
    "refuse_fixed",
    "remove_original",
]

_NOT_A_DIRECTORY = frozenset({errno.ELOOP, errno.ENOTDIR})
_NOT_EMPTY = frozenset({errno.ENOTEMPTY, errno.EEXIST})


@dataclass(slots=True)
class Original:
    """A directory, and what was copied of it: of files and links their etags, and the directories in it."""

    identity: Identity
    entries: dict[str, _Entry] = field(default_factory=dict[str, "_Entry"])


_Entry: TypeAlias = str | Original


def keep_attributes(original: int, copy: int) -> None:
    """Have what is attached to a file or a directory on another one too: own attributes, and access lists.

    Where there can be none, it goes without.

    Args:
        original: Its handle.
        copy: The handle of the other one.
    """
    if sys.platform != "linux":
        return
    with suppress(OSError):  # the file system has no attributes
        for name in os.listxattr(original):
            if name.startswith("user.") or name == "system.posix_acl_access":
                with suppress(OSError):
                    os.setxattr(copy, name, os.getxattr(original, name))


def keep_all_attributes(directory: int, copy: int, original: Original) -> None:
    """The same for a directory and all that was copied of it. Links have no attributes.

    Raises:
        ProtocolError: The host is being closed.
    """
    if sys.platform != "linux":
        return
    go_on()
    keep_attributes(directory, copy)
    for name, entry in original.entries.items():
        with suppress(OSError), ExitStack() as held:  # a link, or what is gone: that is looked for later
            kind = os.O_DIRECTORY if isinstance(entry, Original) else 0
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC | kind
            one = os.open(name, flags, dir_fd=directory)
            held.callback(os.close, one)
            other = os.open(name, flags, dir_fd=copy)
            held.callback(os.close, other)
            if isinstance(entry, Original):
                keep_all_attributes(one, other, entry)
            else:
                keep_attributes(one, other)


def keep_owner(copy: int, info: os.stat_result) -> None:
    """Have a copy belong to whom the original belongs to, as far as this process may give it away."""
    for user, group in ((info.st_uid, info.st_gid), (-1, info.st_gid)):
        with suppress(OSError):
            os.fchown(copy, user, group)
            return


def refuse_fixed(directory: int, uri: str) -> None:
    """Refuse to copy, in order to remove it then, what is in a directory that nothing can be taken out of.

    Raises:
        ProtocolError: Nothing can.
    """
    supported = os.access in os.supports_effective_ids
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=directory, effective_ids=supported):
        raise denied(uri, "it cannot be moved out of a directory that may not be written")


def is_unchanged(directory: int, original: Original) -> bool:
    """Whether a directory still holds what was copied, all of it and nothing else.

    Raises:
        OSError: It cannot be read.
        ProtocolError: The host is being closed.
    """
    go_on()
    if identity(os.fstat(directory)) != original.identity:
        return False
    names = names_in(directory)
    return len(names) == len(original.entries) and all(
        _is_same(directory, name, original.entries.get(name)) for name in names
    )


def _is_same(directory: int, name: str, was: _Entry | None) -> bool:
    if isinstance(was, Original):
        below = _opened(directory, name)
        if below is None:
            return False
        try:
            return is_unchanged(below, was)
        finally:
            os.close(below)
    try:
        return was == etag(os.stat(name, dir_fd=directory, follow_symlinks=False))
    except FileNotFoundError:
        return False


def remove_original(directory: int, name: str, original: Original) -> bool:
    """Remove a directory as far as it holds what was copied. Returns whether nothing else was there.

    What has been changed, or has come since, stays, and so do the directories that it is in. What is
    written to a file between the look at it and its removal goes with it; that is a moment.

    Raises:
        OSError: Something cannot be removed. What came before is gone.
    """
    held = _opened(directory, name)
    if held is None:
        return not _is_there(directory, name)
    try:
        if identity(os.fstat(held)) != original.identity:
            return False
        left = [entry for entry in names_in(held) if not _remove(held, entry, original.entries.get(entry))]
    finally:
        os.close(held)
    if left:
        return False
    try:
        os.rmdir(name, dir_fd=directory)
    except FileNotFoundError:
        pass
    except OSError as error:
        if error.errno not in _NOT_EMPTY:
            raise
        return False
    return True


def _remove(directory: int, name: str, was: _Entry | None) -> bool:
    if isinstance(was, Original):
        return remove_original(directory, name, was)
    if not _is_same(directory, name, was):
        return not _is_there(directory, name)
    os.unlink(name, dir_fd=directory)
    return True


def _opened(directory: int, name: str) -> int | None:
    """A directory, open; `None` when there is none."""
    try:
        return open_directory(directory, name)
    except FileNotFoundError:
        return None
    except OSError as error:
        if error.errno not in _NOT_A_DIRECTORY:
            raise
        return None


def _is_there(directory: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=directory, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True
