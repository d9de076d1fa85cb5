"""Who may read files and enter folders: what comes back is not to be less private than it was.

git knows of a file only whether it can be executed, and nothing of a folder.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterable

from serai.changes.drafts import RUN
from serai.changes.mirror import Mirror

__all__ = ["Permissions"]

_MOST_FILES = 2000
"""Of so many files that are as in the index the permissions are kept, those that fewest may read first."""
_MOST_FOLDERS = 5000
"""At so many folders it is looked who may enter them."""


class Permissions:
    """What is unusual about the permissions of the files that the private index has. Reads the disk.

    Args:
        mirror: The private side.
    """

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._top = os.fsencode(mirror.repository.top) + b"/"
        self._folders: set[bytes] = set()
        self.files: dict[str, int] = {}
        """Of files that fewer may read or write than is usual; as it was at the last look."""

    @property
    def are_changes(self) -> bool:
        """Whether a file counts as changed of which only the permissions were."""
        settings = self._mirror.settings
        is_minimal = settings.carried.get("core.checkstat", "").lower() == "minimal"
        return not is_minimal and not settings.is_off("core.trustctime")

    @property
    def _git_knows(self) -> bool:
        return not self._mirror.settings.is_off("core.filemode")

    def look_at(self, names: Iterable[bytes]) -> None:
        """Look at files.

        Where git is not to know which can be executed, those are unusual that can.

        Args:
            names: All of them, by their paths from the root of the work tree.
        """
        usual = self.usual() & 0o666
        told = 0 if self._git_knows else 0o111
        found: dict[bytes, int] = {}
        self._folders = set()
        for name in names:
            self._add_folders_of(name)
            try:
                mode = os.lstat(self._top + name).st_mode
            except OSError:
                continue
            if (usual & ~mode or mode & told) and stat.S_ISREG(mode):
                found[name] = mode & 0o777
        most_private = sorted(found, key=lambda name: (found[name] & 0o077, name))[:_MOST_FILES]
        self.files = {os.fsdecode(name): found[name] for name in most_private}

    def add(self, paths: Iterable[str]) -> None:
        """Have further files, of which the permissions are known."""
        for path in paths:
            self._add_folders_of(os.fsencode(path))

    def _add_folders_of(self, name: bytes) -> None:
        folder = name.rpartition(b"/")[0]
        while folder and folder not in self._folders:
            self._folders.add(folder)
            folder = folder.rpartition(b"/")[0]

    def are_usual(self, permissions: int, usual: int) -> bool:
        """Whether the permissions of a file go without saying.

        Args:
            permissions: Those of the file; 0 if it has none, since it is a link.
            usual: Those that a new file has, if it is one to be run.
        """
        return permissions in ({0, usual, usual & 0o666} if self._git_knows else {0})

    def of_folders(self, usual: int) -> dict[bytes, int]:
        """The permissions of folders that fewer may enter or read than is usual, as they are now.

        Args:
            usual: Those that a new folder has.
        """
        folders = self._folders
        if len(folders) > _MOST_FOLDERS:
            folders = sorted(folders, key=lambda folder: (folder.count(b"/"), folder))[:_MOST_FOLDERS]
        found: dict[bytes, int] = {}
        for folder in folders:
            try:
                mode = os.lstat(self._top + folder).st_mode
            except OSError:
                continue
            if usual & ~mode and stat.S_ISDIR(mode):
                found[folder] = mode & 0o777
        return found

    def usual(self) -> int:
        """What the process gives a new file, if it is one to be run; there is no way to ask for that."""
        place = self._mirror.folder / f"new-{RUN}-{secrets.token_hex(4)}"
        descriptor = os.open(place, os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o777)
        try:
            return os.fstat(descriptor).st_mode & 0o777
        finally:
            os.close(descriptor)
            place.unlink()
