"""Two umasks: the host's own, which keeps all private, and the person's, for what is made in their folders.

`serai serve` calls `keep_private` when it starts. From then on nothing that the host makes can be read by
others, whoever forgets to say so. What it makes for a person says so itself: programs that it starts for them
get their umask back (`persons`), and so do files and folders that clients make in theirs (`share`).
"""

from __future__ import annotations

import os
import stat

_PRIVATE = 0o077
_persons = -1


def keep_private() -> None:
    """From now on, what this process makes is for its owner alone. For a program, not for a library."""
    global _persons  # noqa: PLW0603 - it is the process that has one
    before = os.umask(_PRIVATE)
    if _persons < 0:
        _persons = before


def persons() -> int:
    """The person's umask, as `subprocess` takes it; -1 when the process still has it."""
    return _persons


def share(handle: int, mode: int) -> None:
    """Give a new file or folder the permissions that it would have had under the person's umask."""
    if _persons >= 0:
        special = stat.S_IMODE(os.fstat(handle).st_mode) & ~0o777  # a folder inherits its group, for instance
        os.fchmod(handle, special | (mode & ~_persons))


def share_folder(directory: int, name: str) -> None:
    """The same for a folder that was just made, by its name in an open directory."""
    if _persons >= 0:
        handle = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=directory)
        try:
            share(handle, 0o777)
        finally:
            os.close(handle)
