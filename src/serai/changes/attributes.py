"""The attributes of files as they were: by them git brings stored content into the form that a file has.

git goes by the lists (`.gitattributes`) that are in the work tree. Where they have changed since, a file
would come back with other line ends, or in another encoding, than it had. Then git is shown another folder
for the work tree, and finds the earlier lists in an index.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from serai.changes.mirror import Mirror
from serai.changes.reaching import read_file
from serai.changes.records import LINK_MODE, Side
from serai.errors import FileInTheWay

__all__ = ["Attributes", "attributes_in", "entries_in", "is_in_tree", "lists_for", "stored_for", "unpack"]

_NAME = ".gitattributes"
_MAX_BYTES = 4 << 20
"""A list that is larger counts as none."""
_AT_ONCE = 500
"""So many paths are named in one command."""


@dataclass(frozen=True, slots=True)
class Attributes:
    """Where git finds what it goes by."""

    folder: str
    """What stands for the work tree. Commands run there."""
    entries: tuple[bytes, ...] = ()
    """The lists that the index of a command is to have, as `update-index --index-info` takes them."""
    is_earlier: bool = False
    """Whether they are others than those in the work tree."""

    def environment(self, mirror: Mirror, index: Path) -> dict[str, str]:
        """What makes git read content by these attributes."""
        return mirror.reading_environment(index) | {"GIT_WORK_TREE": self.folder}


async def attributes_in(mirror: Mirror, tree: str, paths: Iterable[str], folder: Path) -> Attributes:
    """The attributes that files had in a tree.

    Lists that are neither in the tree nor in the private index were there before, for all that is known: git
    ignores them, or they are outside of the working directory.

    Args:
        mirror: The private side.
        tree: The tree.
        paths: The files, from the root of the work tree.
        folder: Where another work tree can be made, if need be. It is not there yet.

    Raises:
        GitFailed: The tree is not there.
    """
    names = sorted(lists_for(paths, _NAME))
    then = {
        name: entry
        for name, entry in (await entries_in(mirror, tree, names)).items()
        if entry[0].startswith("100")  # git takes no list from behind a link
    }
    now = await asyncio.to_thread(_read, mirror, names)
    others = [name for name in now if name not in then]
    added = await stored_for(mirror, others)
    is_same = not added and all(
        name in now and content in _ids(now[name], mirror.repository.object_format)
        for name, (_, content) in then.items()
    )
    if is_same:
        return Attributes(mirror.repository.top)
    await asyncio.to_thread(_lay_out, folder, {name: now[name] for name in others if name not in added})
    entries = (
        f"{mode} {content}\t".encode() + os.fsencode(name) + b"\0" for name, (mode, content) in then.items()
    )
    return Attributes(str(folder), tuple(entries), is_earlier=True)


async def unpack(
    mirror: Mirror, attributes: Attributes, sides: Mapping[str, Side], *, index: Path, files: Path
) -> None:
    """Write content as files, in the form that the attributes say.

    Args:
        mirror: The private side.
        attributes: The attributes.
        sides: The content, by paths from the root of the work tree.
        index: An index to be made for it.
        files: The folder to be made for it.

    Raises:
        GitFailed: Content is not there, or cannot be written.
    """
    entries = (
        f"{side.mode:o} {side.content}\t".encode() + os.fsencode(path) + b"\0" for path, side in sides.items()
    )
    await mirror.run(
        *("update-index", "-z", "--index-info"),
        doing="find earlier content",
        data=b"".join((*attributes.entries, *entries)),
        environment=mirror.environment(index),
    )
    await mirror.run(
        *("checkout-index", "-z", "--stdin", "--quiet", f"--prefix={files}/"),
        doing="read earlier content",
        data=b"".join(os.fsencode(path) + b"\0" for path in sides),
        environment=attributes.environment(mirror, index),
        folder=attributes.folder,
    )


async def is_in_tree(mirror: Mirror, tree: str, path: str, content: str) -> bool:
    """Whether a tree has that content at a path from its root."""
    return (await entries_in(mirror, tree, [path])).get(path, ("", ""))[1] == content


def lists_for(paths: Iterable[str], list_name: str) -> set[str]:
    """The lists that say something of files: in the root, and in all folders that they are in."""
    folders = {""}
    for path in paths:
        folder = path.rpartition("/")[0]
        while folder not in folders:
            folders.add(folder)
            folder = folder.rpartition("/")[0]
    return {f"{folder}/{list_name}" if folder else list_name for folder in folders}


async def entries_in(mirror: Mirror, tree: str, names: Sequence[str]) -> dict[str, tuple[str, str]]:
    """The mode and the content of those of the paths that a tree has.

    Raises:
        GitFailed: The tree is not there.
    """
    found: dict[str, tuple[str, str]] = {}
    for begin in range(0, len(names), _AT_ONCE):
        answer = await mirror.run(
            *("ls-tree", "-z", "--full-tree", "--", tree, *names[begin : begin + _AT_ONCE]),
            doing="look into an earlier state",
            environment=mirror.environment() | {"GIT_LITERAL_PATHSPECS": "1"},
        )
        for line in answer.output.split(b"\0")[:-1]:
            words, _, name = line.partition(b"\t")
            mode, _, content = words.decode().split()
            found[os.fsdecode(name)] = (mode, content)
    return found


async def stored_for(mirror: Mirror, names: Sequence[str], index: Path | None = None) -> dict[str, str]:
    """The content of those of the paths that an index has, the private one by default."""
    found: dict[str, str] = {}
    for begin in range(0, len(names), _AT_ONCE):
        answer = await mirror.run(
            *("ls-files", "--stage", "-z", "--", *names[begin : begin + _AT_ONCE]),
            doing="look into the index",
            environment=mirror.environment(index) | {"GIT_LITERAL_PATHSPECS": "1"},
        )
        for line in answer.output.split(b"\0")[:-1]:
            words, _, name = line.partition(b"\t")
            found[os.fsdecode(name)] = words.decode().split()[1]
    return found


def _read(mirror: Mirror, names: Iterable[str]) -> dict[str, bytes]:
    lists: dict[str, bytes] = {}
    for name in names:
        try:
            found = read_file(mirror.repository.top, name, _MAX_BYTES, mirror.closed)
        except FileInTheWay:
            continue
        if found is not None and found.mode != LINK_MODE:
            lists[name] = found.data
    return lists


def _ids(data: bytes, object_format: str) -> set[str]:
    """The ids under which git may have stored a file: as it is, or with its line ends converted."""
    return {
        hashlib.new(object_format, b"blob %d\0" % len(one) + one, usedforsecurity=False).hexdigest()
        for one in (data, data.replace(b"\r\n", b"\n"))
    }


def _lay_out(folder: Path, lists: dict[str, bytes]) -> None:
    folder.mkdir(parents=True)
    for name, data in lists.items():
        place = folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
