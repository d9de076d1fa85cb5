"""Which files of a folder fit a row's pattern."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from serai.customizations.trees import MAX_ENTRIES, Entry, Tree
from serai.errors import FileUnreadable

__all__ = ["MAX_FILES", "Matches", "join", "matching"]

MAX_FILES = 2_000
"""How many files of one place are read."""

_MAX_FOLDERS = 1_000
_MAX_DEPTH = 8
_ABOUT_THE_FOLDER = {"readme.md"}


@dataclass(slots=True)
class Matches:
    """What was found, in order. `problems` are sentences that name the file or folder."""

    files: list[str] = field(default_factory=list[str])
    problems: list[str] = field(default_factory=list[str])
    exists: bool = False
    """The folder is there. It is not asked when the pattern is a file's name."""


def join(*parts: str) -> str:
    """Put paths together; empty ones do not count."""
    return "/".join(part for part in parts if part)


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
    elif walk.gave_up:
        walk.found.problems.append(f"{tree.shown(folder)} has too many folders: the rest is left out")
    return walk.found


class _Walk:
    def __init__(self, tree: Tree) -> None:
        self.found = Matches()
        self.gave_up = False
        self._tree = tree
        self._seen: set[Hashable] = set()

    def visit(self, folder: str, pattern: list[str], depth: int) -> None:
        part, *rest = pattern
        if "*" not in part:
            self._take(join(folder, part), rest, depth)
            return
        for entry in self._entries(folder):
            if entry.name.startswith("."):
                continue
            below = join(folder, entry.name)
            if part == "**":
                self._anywhere(entry, below, pattern, depth)
            elif fnmatchcase(entry.name, part):
                self._here(entry, below, rest, depth)

    def _entries(self, folder: str) -> list[Entry]:
        try:
            listing = self._tree.list(folder)
        except FileUnreadable as error:
            self.found.problems.append(error.message)
            return []
        if listing is None or listing.key in self._seen:
            return []
        if len(self._seen) == _MAX_FOLDERS:
            self.gave_up = True
            return []
        self._seen.add(listing.key)
        self.found.exists = True
        if listing.is_cut:
            self.found.problems.append(
                f"{self._tree.shown(folder)} has more than {MAX_ENTRIES:,} entries: the rest is left out"
            )
        return listing.entries

    def _anywhere(self, entry: Entry, path: str, pattern: list[str], depth: int) -> None:
        """An entry under `**`: a folder is gone into, a file must fit what comes after."""
        if entry.is_folder:
            if depth < _MAX_DEPTH:
                self.visit(path, pattern, depth + 1)
            else:
                self.found.problems.append(f"{self._tree.shown(path)} is too deep, so it is not looked at")
        elif entry.problem or fnmatchcase(entry.name, pattern[1]):
            self._here(entry, path, pattern[2:], depth)

    def _here(self, entry: Entry, path: str, rest: list[str], depth: int) -> None:
        if entry.problem:
            self.found.problems.append(entry.problem)
        elif entry.is_folder == bool(rest) and entry.name.lower() not in _ABOUT_THE_FOLDER:
            self._take(path, rest, depth)

    def _take(self, path: str, rest: list[str], depth: int) -> None:
        if rest:
            self.visit(path, rest, depth + 1)
        elif len(self.found.files) <= MAX_FILES:
            self.found.files.append(path)
