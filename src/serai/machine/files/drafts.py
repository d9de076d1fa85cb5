"""A file that is written beside its place and put there as a whole, or not at all."""

from __future__ import annotations

import os
import secrets
import stat
import sys
from contextlib import suppress
from typing import Self

from serai.machine.files.handles import sync_directory
from serai.machine.files.kernel import rename_exclusively
from serai.machine.files.leftovers import noted
from serai.machine.files.originals import keep_owner
from serai.machine.files.walk import Place

__all__ = ["Draft", "draft_name", "put"]


def draft_name() -> str:
    """A name that nothing has, short enough for every directory."""
    return f".serai-{secrets.token_hex(8)}.tmp"


def put(place: Place, name: str, *, exclusive: bool) -> None:
    """Give what has a draft's name in a place's directory the place's own name.

    Raises:
        FileExistsError: It was to be `exclusive`, and something is there.
        OSError: It cannot be put there.
    """
    if exclusive:
        rename_exclusively(name, place.name, source_in=place.directory, destination_in=place.directory)
    else:
        os.rename(name, place.name, src_dir_fd=place.directory, dst_dir_fd=place.directory)
    sync_directory(place.directory)


class Draft:
    """The new content of a place. Use it in a `with`: unless it was committed, nothing is left of it.

    Only `kill -9` or power loss in between leaves a file behind, of the form `.serai-*.tmp`; see `leftovers`.

    Args:
        place: Where it is to be.
        like: The file that it replaces, whose owner and permissions it takes over; else it is an ordinary new
            one.
    """

    def __init__(self, place: Place, like: os.stat_result | None = None) -> None:
        self._place = place
        self._like = like
        self._name = draft_name()
        self._noted = noted(place, self._name)
        self._there = False
        self.descriptor = -1

    def __enter__(self) -> Self:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        mode = 0o666 if self._like is None else 0o600  # nobody reads a private file while it is a draft
        self._noted.__enter__()
        try:
            self.descriptor = os.open(self._name, flags, mode, dir_fd=self._place.directory)
        except BaseException:
            self._noted.__exit__(None, None, None)
            raise
        self._there = True
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self.descriptor)
        if self._there:
            with suppress(FileNotFoundError):
                os.unlink(self._name, dir_fd=self._place.directory)
        self._noted.__exit__(None, None, None)

    def commit(self, *, exclusive: bool) -> None:
        """Put it in its place, durably. Readers see the old content or the new.

        Args:
            exclusive: Whether there must be nothing yet.

        Raises:
            FileExistsError: There is, or there is a directory.
            OSError: It cannot be put there; nothing has changed.
        """
        if self._like is not None:
            self._take_over(self._like)
        os.fsync(self.descriptor)
        put(self._place, self._name, exclusive=exclusive)
        self._there = False

    def _take_over(self, like: os.stat_result) -> None:
        mine = os.fstat(self.descriptor)
        if (like.st_uid, like.st_gid) != (mine.st_uid, mine.st_gid):
            keep_owner(self.descriptor, like)
        # Never set-user-id: new content must not run as someone else, and the kernel takes it away on writing
        # too.
        os.fchmod(self.descriptor, stat.S_IMODE(like.st_mode) & 0o777)
        if sys.platform == "linux":
            self._take_over_attributes()

    def _take_over_attributes(self) -> None:
        """Keep what is attached to the file that is replaced: a person's own attributes, and access lists."""
        replaced = f"/proc/self/fd/{self._place.directory}/{self._place.name}"
        with suppress(OSError):  # there is none, or the file system has no attributes
            for name in os.listxattr(replaced, follow_symlinks=False):
                if name.startswith("user.") or name == "system.posix_acl_access":
                    with suppress(OSError):
                        value = os.getxattr(replaced, name, follow_symlinks=False)
                        os.setxattr(self.descriptor, name, value)
