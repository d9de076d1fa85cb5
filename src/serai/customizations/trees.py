"""Folders to read from, on the disk or sent by a client, and the search for files that match a pattern.

Paths are relative, with `/`; the empty path is the folder itself.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple, TypeAlias
from urllib.parse import quote, quote_from_bytes

from serai.errors import FileUnreadable
from serai.machine.safe_paths import PathRefused, open_below
from serai.machine.watch.events import SeenPaths

MAX_FILE = 1024 * 1024
"""Default size of the largest file, in bytes."""
MAX_FILES = 2_000
"""Most files of a place that are read."""
_MAX_FOLDERS = 1_000
_MAX_DEPTH = 8

_NOT_THERE = {errno.ENOENT, errno.ENOTDIR}


class TreeEntry(NamedTuple):
    """A name in a folder. With `problem`, it is a link that is not followed, for that reason."""

    name: str
    is_folder: bool
    problem: str | None = None


class DiskTree:
    """A folder on disk.

    Args:
        root: The folder. It need not exist.
        prefix: The beginning of paths that are shown to a person, such as `~/`.
        confined: Follow links only within the folder. Otherwise they are followed anywhere.
        base: The folder below the root that paths are relative to.
        seen: Notes all paths that are read, listed, or missing.
    """

    def __init__(
        self,
        root: Path,
        *,
        prefix: str = "",
        confined: bool = True,
        base: str = "",
        seen: SeenPaths | None = None,
    ) -> None:
        self.root = Path(os.path.abspath(root))  # noqa: PTH100 - `..` must go, and links must stay
        self._prefix = prefix
        self._confined = confined
        self._base = base
        self._seen = seen or SeenPaths()

    @property
    def folder(self) -> Path:
        """The folder that paths are relative to."""
        return self.root / self._base

    def list(self, path: str) -> Sequence[TreeEntry] | None:
        """List a folder, by name; return `None` when there is no such folder.

        Raises:
            FileUnreadable: It cannot be listed; the message names it.
        """
        with self._opened(path, os.O_DIRECTORY) as descriptor:
            if descriptor is None:
                return None
            with os.scandir(descriptor) as found:
                entries = [
                    self._through_link(join(path, item.name), item.name)
                    if item.is_symlink()
                    else TreeEntry(item.name, item.is_dir(follow_symlinks=False))
                    for item in found
                ]
        return sorted(entries)

    def read(self, path: str, largest: int = MAX_FILE) -> bytes | None:
        """Read a file; return `None` when there is no such file.

        Raises:
            FileUnreadable: It cannot be read, or is too large; the message names it.
        """
        with self._opened(path) as descriptor:
            if descriptor is None:
                return None
            with os.fdopen(descriptor, "rb", closefd=False) as file:
                return _bounded(file.read(largest + 1), self.shown(path), largest)

    def uri(self, path: str) -> str:
        """Return the URI of a file or folder."""
        return "file://" + quote_from_bytes(os.fsencode(self.folder / path))

    def shown(self, path: str) -> str:
        """Return a path as people know it."""
        return f"{self._prefix}{path}" or "."

    def below(self, path: str) -> DiskTree:
        """Return a folder in this one, with the same confines."""
        base = join(self._base, path)
        prefix = f"{self._prefix}{path}/"
        return DiskTree(self.root, prefix=prefix, confined=self._confined, base=base, seen=self._seen)

    def real(self, path: str) -> Path | None:
        """Return a real path, which need not exist; `None` when it leads out of a confined folder."""
        root, real = Path(os.path.realpath(self.root)), Path(os.path.realpath(self.folder / path))
        return real if real.is_relative_to(root) or not self._confined else None

    @contextmanager
    def _opened(self, path: str, flags: int = 0) -> Generator[int | None]:
        below = join(self._base, path)
        self._seen.note(f"{self.root}/{below}")
        where = (self.root, below) if self._confined else ("/", f"{self.root}/{below}")
        try:
            descriptor = open_below(*where, flags)
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
                    return TreeEntry(name, False, f"{self.shown(path)} is a link that leads nowhere")
                return TreeEntry(name, stat.S_ISDIR(os.fstat(descriptor).st_mode))
        except FileUnreadable as error:
            return TreeEntry(name, False, error.message)


class FetchedTree:
    """Files that a client has sent, by their path below the folder. Its methods are those of `DiskTree`.

    Args:
        files: The content of each file.
        base: The folder's URI.
    """

    def __init__(self, files: Mapping[str, bytes], base: str) -> None:
        self._files = files
        self._base = base.rstrip("/")

    def list(self, path: str) -> Sequence[TreeEntry] | None:
        """List a folder; return `None` when there is no such folder."""
        start = f"{path.strip('/')}/".lstrip("/")
        below = (name[len(start) :].partition("/") for name in self._files if name.startswith(start))
        found = sorted({TreeEntry(name, bool(slash)) for name, slash, _ in below})
        return found if found or not start else None

    def read(self, path: str, largest: int = MAX_FILE) -> bytes | None:
        """Read a file; return `None` when there is no such file."""
        data = self._files.get(path)
        return None if data is None else _bounded(data, self.shown(path), largest)

    def uri(self, path: str) -> str:
        """Return the URI of a file or folder."""
        return f"{self._base}/{quote(path, errors='replace')}" if path else self._base

    def shown(self, path: str) -> str:
        """Return a path as people know it."""
        return path or "."


Tree: TypeAlias = DiskTree | FetchedTree
"""A folder with files, wherever it is."""


def real_path(path: str) -> str | None:
    """Return the real path of a path in a file; `None` when it is not valid, as one with a NUL."""
    try:
        return os.path.realpath(path)
    except (OSError, ValueError):
        return None


def join(*parts: str) -> str:
    """Join paths; empty ones do not count."""
    return "/".join(part for part in parts if part)


def _bounded(data: bytes, shown: str, largest: int) -> bytes:
    if len(data) > largest:
        raise FileUnreadable(f"{shown} is larger than {largest // 1024 // 1024} MiB")
    return data


@dataclass(slots=True)
class Matches:
    """The files that were found, in order. `problems` are sentences that name the file or folder."""

    files: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    folders: int = 0
    """Number of folders that were searched. Links in a circle add to it, up to the limits."""


def matching(tree: Tree, folder: str, pattern: str) -> Matches:
    """Find files that match a pattern: a name, `*.md`, `*/NAME` (in each folder) or `**/*.md` (any depth).

    Hidden files and folders do not match, nor does a `README.md`. A pattern that ends with a name is not
    checked: the file may turn out to be missing when it is read.
    """
    found = Matches()
    folders, _, name = pattern.rpartition("/")
    if "*" in pattern:
        _search(tree, folder, folders, name, found)
    else:
        found.files.append(join(folder, name))
    if len(found.files) > MAX_FILES:
        del found.files[MAX_FILES:]
        found.problems.append(f"{tree.shown(folder)} has more than {MAX_FILES:,} files: the rest is left out")
    return found


def _search(tree: Tree, folder: str, folders: str, name: str, found: Matches, depth: int = 0) -> None:
    for entry in _entries(tree, folder, found, depth):
        path = join(folder, entry.name)
        fits = fnmatchcase(entry.name, name) and entry.name.lower() != "readme.md"
        if entry.problem:
            if folders or fits:
                found.problems.append(entry.problem)
        elif not entry.is_folder:
            if folders != "*" and fits:
                found.files.append(path)
        elif folders == "*":
            found.files.append(join(path, name))
        elif folders:
            _search(tree, path, folders, name, found, depth + 1)


def _entries(tree: Tree, folder: str, found: Matches, depth: int) -> list[TreeEntry]:
    try:
        listing = tree.list(folder)
    except FileUnreadable as error:
        found.problems.append(error.message)
        return []
    if listing is None or len(found.files) > MAX_FILES:
        return []
    if depth > _MAX_DEPTH or found.folders == _MAX_FOLDERS:
        why = "too deep" if depth > _MAX_DEPTH else "one folder too many"
        found.problems.append(f"{tree.shown(folder)} is {why}, so it is not looked at")
        return []
    found.folders += 1
    return [entry for entry in listing if not entry.name.startswith(".")]
