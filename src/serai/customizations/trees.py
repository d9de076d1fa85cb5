"""Folders to read from: one on disk, or files that a client has sent; and which files fit a pattern.

Paths are relative, with `/`; the empty path is the folder itself.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Hashable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, Protocol
from urllib.parse import quote, quote_from_bytes

from serai.errors import FileUnreadable
from serai.machine.paths import PathRefused, open_below

__all__ = [
    "MAX_ENTRIES",
    "MAX_FILE",
    "MAX_FILES",
    "DiskTree",
    "FetchedTree",
    "Listing",
    "Matches",
    "Tree",
    "TreeEntry",
    "join",
    "matching",
    "real_path",
]

MAX_FILE = 1024 * 1024
"""Largest file, in bytes, where nobody says otherwise."""
MAX_ENTRIES = 20_000
"""Most entries of one folder that are looked at."""
MAX_FILES = 2_000
"""Most files of one place that are read."""
_MAX_FOLDERS = 1_000
_MAX_DEPTH = 8

_NOT_THERE = {errno.ENOENT, errno.ENOTDIR}
_ABOUT_THE_FOLDER = {"readme.md"}


class TreeEntry(NamedTuple):
    """A name in a folder. With `problem`, it is a link that is not followed; the text says why."""

    name: str
    is_folder: bool
    problem: str | None = None


class Listing(NamedTuple):
    """What is in a folder, by name. `key` is the same for the same folder, whichever way led there."""

    key: Hashable
    entries: list[TreeEntry]
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
        base: The folder below the root that paths are relative to.
    """

    def __init__(self, root: Path, *, prefix: str = "", confined: bool = True, base: str = "") -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - `..` must go, and links must stay
        self._prefix = prefix
        self._confined = confined
        self._base = base

    @property
    def folder(self) -> Path:
        """The folder that paths are relative to."""
        return self.root / self._base

    def list(self, path: str) -> Listing | None:
        """See `Tree.list`."""
        with self._opened(path, os.O_DIRECTORY) as descriptor:
            if descriptor is None:
                return None
            info = os.fstat(descriptor)
            entries: list[TreeEntry] = []
            with os.scandir(descriptor) as found:
                for item in found:
                    if len(entries) == MAX_ENTRIES:
                        return Listing((info.st_dev, info.st_ino), sorted(entries), is_cut=True)
                    if item.is_symlink():
                        entries.append(self._through_link(join(path, item.name), item.name))
                    else:
                        entries.append(TreeEntry(item.name, item.is_dir(follow_symlinks=False)))
        return Listing((info.st_dev, info.st_ino), sorted(entries), is_cut=False)

    def read(self, path: str, largest: int = MAX_FILE) -> bytes | None:
        """See `Tree.read`."""
        with self._opened(path) as descriptor:
            if descriptor is None:
                return None
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return _bounded(file.read(largest + 1), self.shown(path), largest)

    def uri(self, path: str) -> str:
        """See `Tree.uri`."""
        return "file://" + quote_from_bytes(os.fsencode(self.folder / path))

    def shown(self, path: str) -> str:
        """See `Tree.shown`."""
        return f"{self._prefix}{path}" or "."

    def below(self, path: str) -> DiskTree:
        """A folder in this one, with the same confines."""
        base = join(self._base, path)
        return DiskTree(self.root, prefix=f"{self._prefix}{path}/", confined=self._confined, base=base)

    def real(self, path: str) -> Path | None:
        """Where a path really is, whether or not it exists; `None` when it leads out of a confined folder."""
        root, real = Path(os.path.realpath(self.root)), Path(os.path.realpath(self.folder / path))
        return real if real.is_relative_to(root) or not self._confined else None

    @contextmanager
    def _opened(self, path: str, flags: int = 0) -> Generator[int | None]:
        try:
            below = join(self._base, path)
            descriptor = (
                open_below(self.root, below, flags)
                if self._confined
                else open_below("/", f"{self.root}/{below}", flags)
            )
        except OSError as error:
            if error.errno in _NOT_THERE:
                yield None
                return
            raise self._unreadable(path, error) from None
        try:
            yield descriptor
        except OSError as error:
            raise self._unreadable(path, error) from None
        finally:
            os.close(descriptor)

    def _unreadable(self, path: str, error: OSError) -> FileUnreadable:
        if isinstance(error, PathRefused):
            return FileUnreadable(f"{self.shown(path)} is not read: {error.strerror}")
        return FileUnreadable(f"{self.shown(path)} cannot be read ({error.strerror})")

    def _through_link(self, path: str, name: str) -> TreeEntry:
        try:
            with self._opened(path) as descriptor:
                if descriptor is None:
                    problem = f"{self.shown(path)} is a link that leads nowhere"
                    return TreeEntry(name, is_folder=False, problem=problem)
                return TreeEntry(name, stat.S_ISDIR(os.fstat(descriptor).st_mode))
        except FileUnreadable as error:
            return TreeEntry(name, is_folder=False, problem=error.message)


class FetchedTree:
    """Files that a client has sent, by their path below the folder.

    Args:
        files: The content of each file. What leads out of the folder is left out, and told in `refused`.
        base: The folder's URI.
    """

    def __init__(self, files: Mapping[str, bytes], base: str) -> None:
        self._files = {path: data for path, data in files.items() if _is_clean(path)}
        self.refused = sorted(files.keys() - self._files.keys())
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
        entries = [TreeEntry(name, is_folder) for name, is_folder in sorted(found.items())]
        return Listing(path.strip("/"), entries, is_cut=False)

    def read(self, path: str, largest: int = MAX_FILE) -> bytes | None:
        """See `Tree.read`."""
        data = self._files.get(path)
        return None if data is None else _bounded(data, self.shown(path), largest)

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


def join(*parts: str) -> str:
    """Put paths together; empty ones do not count."""
    return "/".join(part for part in parts if part)


def _is_clean(path: str) -> bool:
    return all(part not in {"", ".", ".."} for part in path.split("/")) and "\0" not in path


def _bounded(data: bytes, shown: str, largest: int) -> bytes:
    if len(data) > largest:
        raise FileUnreadable(f"{shown} is larger than {largest // 1024 // 1024} MiB")
    return data


# -- patterns ------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Matches:
    """What was found, in order. `problems` are sentences that name the file or folder."""

    files: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    exists: bool = False
    """The folder is there. It is not asked when the pattern is a file's name."""


def matching(tree: Tree, folder: str, pattern: str) -> Matches:
    """Find the files that fit a pattern.

    A `*` matches within a name and no hidden file; `**` stands for any folders, eight deep at most. A folder
    is looked at once, so links that lead in a circle do no harm. A part without `*` is not looked for: such a
    file may turn out not to be there when it is read.
    """
    walk = _Walk(tree)
    walk.visit(folder, pattern.split("/"), 0)
    if len(walk.found.files) > MAX_FILES:
        del walk.found.files[MAX_FILES:]
        walk.found.problems.append(
            f"{tree.shown(folder)} has more than {MAX_FILES:,} files: the rest is left out"
        )
    return walk.found


class _Walk:
    def __init__(self, tree: Tree) -> None:
        self.found = Matches()
        self._tree = tree
        self._seen: set[Hashable] = set()

    def visit(self, folder: str, pattern: list[str], depth: int) -> None:
        part, *rest = pattern
        if "*" not in part:
            self._take(join(folder, part), rest, depth)
            return
        for entry in self._entries(folder):
            below = join(folder, entry.name)
            if entry.name.startswith("."):
                continue
            if part == "**" and entry.is_folder:
                self._deeper(below, pattern, depth)
            elif part == "**":
                if entry.problem or fnmatchcase(entry.name, rest[0]):
                    self._here(entry, below, rest[1:], depth)
            elif fnmatchcase(entry.name, part):
                self._here(entry, below, rest, depth)

    def _entries(self, folder: str) -> list[TreeEntry]:
        try:
            listing = self._tree.list(folder)
        except FileUnreadable as error:
            self.found.problems.append(error.message)
            return []
        if listing is None or listing.key in self._seen:
            return []
        shown = self._tree.shown(folder)
        if len(self._seen) == _MAX_FOLDERS:
            self.found.problems.append(f"{shown} is one folder too many, so it is not looked at")
            return []
        self._seen.add(listing.key)
        self.found.exists = True
        if listing.is_cut:
            self.found.problems.append(f"{shown} has more than {MAX_ENTRIES:,} entries: the rest is left out")
        return listing.entries

    def _deeper(self, path: str, pattern: list[str], depth: int) -> None:
        if depth < _MAX_DEPTH:
            self.visit(path, pattern, depth + 1)
        else:
            self.found.problems.append(f"{self._tree.shown(path)} is too deep, so it is not looked at")

    def _here(self, entry: TreeEntry, path: str, rest: list[str], depth: int) -> None:
        if entry.problem:
            self.found.problems.append(entry.problem)
        elif entry.is_folder == bool(rest) and entry.name.lower() not in _ABOUT_THE_FOLDER:
            self._take(path, rest, depth)

    def _take(self, path: str, rest: list[str], depth: int) -> None:
        if rest:
            self.visit(path, rest, depth + 1)
        elif len(self.found.files) <= MAX_FILES:
            self.found.files.append(path)
