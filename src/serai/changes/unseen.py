"""What is in a work tree, and not in the private index.

git lists it in one go, with folders of which nothing is in the index by their names alone. These are looked
into, the outermost first, as far as there is not too much in them. What is left is *vague*: in such a folder
there were files that are ignored, and nothing else that git did not see. Of what was left out for other
reasons all the names are known.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from itertools import islice

from serai.changes.closed import Identity, identity
from serai.changes.drafts import is_draft
from serai.changes.records import LeftOut, LeftOutReason

__all__ = ["Unseen", "above", "fewer", "look"]

MOST_NAMES = 20_000
"""Of so many names each is kept; of more only the folders that they are in."""
MOST_EACH, MOST_IN_ALL = 500, 5_000
"""So much is looked at in one folder that git does not look into, and in all of them."""


@dataclass(slots=True)
class Unseen:
    """What was found. Paths are from the root of the work tree; those of folders have a slash behind."""

    files: set[bytes] = field(default_factory=set[bytes])
    shut: set[bytes] = field(default_factory=set[bytes])
    """Folders in which anything may be: repositories, and what cannot be read."""
    vague: set[bytes] = field(default_factory=set[bytes])
    """Folders in which there are more ignored files than were looked at."""
    empty: set[bytes] = field(default_factory=set[bytes])
    """Folders in which nothing is; without a slash."""


def look(
    top: bytes, listed: Iterable[bytes], left_out: Iterable[LeftOut], own: Collection[Identity]
) -> Unseen:
    """Look into the folders that git does not look into. Reads the disk.

    Args:
        top: The root of the work tree.
        listed: What is not in the private index, as git lists it.
        left_out: What git saw, and what was left out all the same.
        own: What is the host's own. It is passed by.
    """
    looking = _Looking(top, own)
    found = looking.found
    for name in listed:
        if name.endswith(b"/"):
            looking.into(name.rstrip(b"/"))
        else:
            found.files.add(name)
    named: set[bytes] = set()
    for one in left_out:
        is_folder = one.reason is LeftOutReason.NESTED
        (found.shut if is_folder else named).add(os.fsencode(one.path) + b"/" * is_folder)
    hidden, folders = fewer(found.files - named, MOST_NAMES)
    named, larger = fewer(named, max(MOST_NAMES, 1))
    found.files = hidden | named
    found.vague |= folders
    found.shut |= larger
    found.empty = set(sorted(found.empty)[:MOST_NAMES])
    return found


class _Looking:
    """Looks into folders, until it has seen enough."""

    def __init__(self, top: bytes, own: Collection[Identity]) -> None:
        self._top = top
        self._own = own
        self._left = MOST_IN_ALL
        self.found = Unseen()

    def into(self, folder: bytes) -> None:
        """Look into a folder, and into those that are in it."""
        waiting = deque([folder])
        left = min(MOST_EACH, self._left)
        while waiting:
            folder = waiting.popleft()
            try:
                with os.scandir(self._top + b"/" + folder) as entries:
                    seen = list(islice(entries, left + 1))
            except OSError:
                self.found.shut.add(folder + b"/")
                continue
            if any(entry.name == b".git" for entry in seen):
                self.found.shut.add(folder + b"/")
            elif len(seen) > left:
                self.found.vague.add(folder + b"/")
            else:
                left -= len(seen)
                self._left -= len(seen)
                waiting += self._sorted(folder, seen)

    def _sorted(self, folder: bytes, seen: Iterable[os.DirEntry[bytes]]) -> list[bytes]:
        """Note what is in a folder, and name the folders that are in it."""
        inner: list[bytes] = []
        is_empty = True
        for entry in seen:
            is_empty = False
            if is_draft(entry.name):
                continue
            path = folder + b"/" + entry.name
            if not entry.is_dir(follow_symlinks=False):
                self.found.files.add(path)
            elif not self._is_own(path):
                inner.append(path)
        if is_empty:
            self.found.empty.add(folder)
        return inner

    def _is_own(self, path: bytes) -> bool:
        return bool(self._own) and identity(os.fsdecode(self._top + b"/" + path)) in self._own


def fewer(names: set[bytes], most: int) -> tuple[set[bytes], set[bytes]]:
    """Names, and where there are too many, the folders in place of the innermost of them."""
    folders: set[bytes] = set()
    while len(names) > most:
        depth = max(name.count(b"/") for name in names)
        folders |= {_folder_of(name) for name in names if name.count(b"/") == depth}
        names = {name for name in names if name.count(b"/") < depth}
    while len(folders) > most and folders != {b"/"}:
        depth = max(folder.count(b"/") if folder != b"/" else 0 for folder in folders)
        folders = {
            _folder_of(folder.rstrip(b"/")) if folder.count(b"/") == depth and folder != b"/" else folder
            for folder in folders
        }
    return names, folders


def _folder_of(name: bytes) -> bytes:
    return name.rpartition(b"/")[0] + b"/"


def above(name: bytes) -> list[bytes]:
    """The folders that a path is in, up to the root, which has no name."""
    found: list[bytes] = []
    name = name.rstrip(b"/")
    while name:
        name = name.rpartition(b"/")[0]
        found.append(name)
    return found
