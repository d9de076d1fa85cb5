"""Folders to read from: one on disk, or files that a client has sent.

Paths are relative, with `/`; the empty path is the folder itself.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Hashable, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import quote, quote_from_bytes

from serai.customizations.beneath import LeadsOut, open_beneath
from serai.errors import FileUnreadable

__all__ = ["MAX_ENTRIES", "MAX_FILE", "DiskTree", "Entry", "FetchedTree", "Listing", "Tree", "real_path"]

MAX_FILE = 1024 * 1024
"""The largest file that is read, in bytes, where nobody says otherwise."""

MAX_ENTRIES = 20_000
"""How many entries of one folder are looked at."""

_NOT_THERE = {errno.ENOENT, errno.ENOTDIR}
_READ = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Entry(NamedTuple):
    """What stands in a folder. With `problem`, it is a link that is not followed; the text says why."""

    name: str
    is_folder: bool
    problem: str | None = None


class Listing(NamedTuple):
    """What is in a folder, by name. `key` is the same for the same folder, whichever way led there."""

    key: Hashable
    entries: list[Entry]
    is_cut: bool
    """There are more than `MAX_ENTRIES`; the rest was not looked at."""


class Tree(Protocol):
    """A folder with files, wherever it is."""

    def list(self, path: str) -> Listing | None:
        """What is in a folder; `None` when there is no such folder.

        Raises:
            FileUnreadable: It is there and cannot be listed; the message names it.
        """
        ...

    def read(self, path: str, largest: int = MAX_FILE) -> bytes | None:
        """A file's content; `None` when there is no such file.

        Raises:
            FileUnreadable: It is there and cannot be read, or is too large; the message names it.
        """
        ...

    def uri(self, path: str) -> str:
        """The file's or folder's URI."""
        ...

    def shown(self, path: str) -> str:
        """The path as a person knows it."""
        ...


class DiskTree:
    """A folder on disk.

    Args:
        root: The folder. It need not exist.
        prefix: What stands before a path when it is shown to a person, such as `~/`.
        confined: Links are followed only within the folder. Otherwise they are followed anywhere.
        parent: The tree that the folder is in, when that must not be left on the way to it either.
    """

    def __init__(
        self,
        root: Path,
        *,
        prefix: str = "",
        confined: bool = True,
        parent: tuple[DiskTree, str] | None = None,
    ) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - `..` must go, and links must stay
        self._real = os.path.realpath(root)
        self._prefix = prefix
        self._confined = confined
        self._parent = parent

    def list(self, path: str) -> Listing | None:
        """See `Tree.list`."""
        with self._opened(path, os.O_DIRECTORY) as descriptor:
            if descriptor is None:
                return None
            info = os.fstat(descriptor)
            entries: list[Entry] = []
            with os.scandir(descriptor) as found:
                for item in found:
                    if len(entries) == MAX_ENTRIES:
                        return Listing((info.st_dev, info.st_ino), sorted(entries), is_cut=True)
                    if item.is_symlink():
                        entries.append(self._through_link(path, item.name))
                    else:
                        entries.append(Entry(item.name, item.is_dir(follow_symlinks=False)))
        return Listing((info.st_dev, info.st_ino), sorted(entries), is_cut=False)

    def read(self, path: str, largest: int = MAX_FILE) -> bytes | None:
        """See `Tree.read`."""
        with self._opened(path, 0) as descriptor:
            if descriptor is None:
                return None
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise FileUnreadable(f"{self.shown(path)} is no file")
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                data = file.read(largest + 1)
            # Some files of the system have whoever reads wait for more; then there is nothing.
            if data is None:  # pyright: ignore[reportUnnecessaryComparison] - the declaration does not know it
                raise FileUnreadable(f"{self.shown(path)} has nothing to read yet")
        if len(data) > largest:
            raise _too_large(self.shown(path), largest)
        return data

    def uri(self, path: str) -> str:
        """See `Tree.uri`."""
        return "file://" + quote_from_bytes(os.fsencode(self.root / path))

    def shown(self, path: str) -> str:
        """See `Tree.shown`."""
        return f"{self._prefix}{path}" or "."

    def below(self, path: str) -> DiskTree:
        """A folder in this one, confined to itself."""
        return DiskTree(self.root / path, prefix=f"{self._prefix}{path}/", parent=(self, path))

    def real(self, path: str) -> Path | None:
        """Where a path really is, whether or not it exists; `None` when it leads out of a confined folder."""
        real = os.path.realpath(self.root / path)
        inside = real == self._real or real.startswith(self._real.rstrip("/") + "/")
        return Path(real) if inside or not self._confined else None

    @contextmanager
    def _opened(self, path: str, flags: int) -> Generator[int | None]:
        try:
            descriptor = self._open(path, flags)
        except LeadsOut as error:
            raise FileUnreadable(f"{self.shown(path)} {error}") from None
        except OSError as error:
            if error.errno in _NOT_THERE:
                yield None
                return
            raise FileUnreadable(f"{self.shown(path)} cannot be read ({error.strerror})") from None
        except ValueError:  # a NUL in a path that a manifest names
            yield None
            return
        try:
            yield descriptor
        except OSError as error:
            raise FileUnreadable(f"{self.shown(path)} cannot be read ({error.strerror})") from None
        finally:
            os.close(descriptor)

    def _open(self, path: str, flags: int) -> int:
        if not self._confined:
            return os.open(self.root / path, _READ | flags)
        return open_beneath(self._open_root, (self._real, str(self.root)), path, _READ | flags)

    def _open_root(self) -> int:
        if self._parent is None:
            return os.open(self._real, _READ | os.O_DIRECTORY)
        tree, path = self._parent
        return tree._open(path, os.O_DIRECTORY)  # noqa: SLF001 - it is of the same class

    def _through_link(self, path: str, name: str) -> Entry:
        below = f"{path}/{name}" if path else name
        try:
            descriptor = self._open(below, 0)
        except LeadsOut as error:
            return Entry(name, is_folder=False, problem=f"{self.shown(below)} {error}")
        except OSError as error:
            if error.errno in _NOT_THERE:
                return Entry(
                    name, is_folder=False, problem=f"{self.shown(below)} is a link that leads nowhere"
                )
            return Entry(
                name, is_folder=False, problem=f"{self.shown(below)} cannot be read ({error.strerror})"
            )
        try:
            return Entry(name, stat.S_ISDIR(os.fstat(descriptor).st_mode))
        finally:
            os.close(descriptor)


class FetchedTree:
    """Files that a client has sent, by their path below the folder.

    Args:
        files: The content of each file. What leads out of the folder is left out, and told in `refused`.
        base: The folder's URI.
    """

    def __init__(self, files: Mapping[str, bytes], base: str) -> None:
        self.refused = sorted(path for path in files if not _is_clean(path))
        self._files = {path: data for path, data in files.items() if _is_clean(path)}
        self._folders: dict[str, dict[str, bool]] = {"": {}}
        for path in self._files:
            parent, _, name = path.rpartition("/")
            self._folders.setdefault(parent, {})[name] = False
            while parent:
                above, _, name = parent.rpartition("/")
                self._folders.setdefault(above, {})[name] = True
                parent = above
        self._base = base.rstrip("/")

    def list(self, path: str) -> Listing | None:
        """See `Tree.list`."""
        found = self._folders.get(path.strip("/"))
        if found is None:
            return None
        entries = [Entry(name, is_folder) for name, is_folder in sorted(found.items())]
        return Listing(path.strip("/"), entries[:MAX_ENTRIES], is_cut=len(entries) > MAX_ENTRIES)

    def read(self, path: str, largest: int = MAX_FILE) -> bytes | None:
        """See `Tree.read`."""
        data = self._files.get(path)
        if data is not None and len(data) > largest:
            raise _too_large(self.shown(path), largest)
        return data

    def uri(self, path: str) -> str:
        """See `Tree.uri`."""
        return f"{self._base}/{quote(path, errors='replace')}" if path else self._base

    def shown(self, path: str) -> str:
        """See `Tree.shown`."""
        return path or "."


def real_path(path: str) -> str | None:
    """Where a path leads that some file names; `None` when it can be no path, as one with a NUL."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None


def _is_clean(path: str) -> bool:
    return all(part not in {"", ".", ".."} for part in path.split("/")) and "\0" not in path


def _too_large(shown: str, largest: int) -> FileUnreadable:
    return FileUnreadable(f"{shown} is larger than {largest // 1024 // 1024} MiB")
