"""Bringing files of the work tree back to earlier content.

git writes the earlier files into a private folder first, in the form in which they are in the work tree.
Then each is put in its place (`writing`). git itself would delete a whole directory that stands in the way
of a file.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from serai.changes.attributes import Attributes, attributes_in, unpack
from serai.changes.closed import Closed
from serai.changes.mirror import Mirror
from serai.changes.records import Change, Side, shown
from serai.changes.writing import put_file, put_link, remove_empty_folders, take_away, taken_away
from serai.errors import FileInTheWay

__all__ = ["Unpacked", "filtered", "put_back", "unpacked"]


@dataclass(frozen=True, slots=True)
class Unpacked:
    """Earlier content, ready to be put back."""

    files: Path
    """Where it is, by paths from the root of the work tree."""
    refused: dict[str, str]
    """The paths of changes of which it is not there, with the reason."""


async def filtered(
    mirror: Mirror, changes: Sequence[Change], attributes: Attributes | None = None, index: Path | None = None
) -> dict[str, str]:
    """The files, with a reason, that go through a filter that must not run here.

    Args:
        mirror: The private side.
        changes: What changed.
        attributes: What says which files go through a filter; by default what is in the work tree.
        index: An index that has those attributes.
    """
    drivers = mirror.settings.drivers
    if mirror.trusted or not drivers or not changes:
        return {}
    paths = [path for change in changes for path in change.paths]
    answer = await mirror.run(
        *("check-attr", "-z", "--stdin", "filter"),
        doing="see which filters apply",
        data=b"".join(os.fsencode(mirror.repository.full(path)) + b"\0" for path in paths),
        environment=attributes.environment(mirror, index or mirror.index) if attributes else None,
        folder=attributes.folder if attributes else None,
    )
    values = answer.output.split(b"\0")[2::3]
    used = {path: os.fsdecode(value) for path, value in zip(paths, values, strict=True)}
    return {
        change.path: f"it goes through the filter {shown(used[path])!r}, which runs in trusted folders only"
        for change in changes
        for path in change.paths
        if used[path] in drivers
    }


@asynccontextmanager
async def unpacked(mirror: Mirror, changes: Sequence[Change], tree: str) -> AsyncGenerator[Unpacked]:
    """The earlier content of changes, in the form that files have, for the length of a block.

    Args:
        mirror: The private side.
        changes: What changed.
        tree: What it changed from.

    Raises:
        GitFailed: Earlier content could not be read.
    """
    with tempfile.TemporaryDirectory(dir=mirror.folder, prefix="back-") as name:
        folder = Path(name)
        earlier = [change for change in changes if change.before]
        refused: dict[str, str] = {}
        if earlier:
            refused = await _unpack(mirror, earlier, tree, folder)
        yield Unpacked(folder / "files", refused)


async def _unpack(mirror: Mirror, changes: Sequence[Change], tree: str, folder: Path) -> dict[str, str]:
    sides = {mirror.repository.full(change.before.path): change.before for change in changes if change.before}
    attributes = await attributes_in(mirror, tree, sides, folder / "lists")
    index, files = folder / "index", folder / "files"
    await unpack(mirror, attributes, sides, index=index, files=files)
    return await filtered(mirror, changes, attributes, index) if attributes.is_earlier else {}


def put_back(mirror: Mirror, changes: Sequence[Change], files: Path) -> tuple[list[Change], dict[str, str]]:
    """Undo changes in the work tree. No other file is touched. Writes to the disk.

    Args:
        mirror: The private side.
        changes: What changed.
        files: Where the earlier content is.

    Returns:
        The changes that were undone, and the paths of those that were not, with the reason.
    """
    done: list[Change] = []
    refused: dict[str, str] = {}
    for change in sorted(changes, key=_when):
        try:
            _undo(mirror, change, files)
        except FileInTheWay as error:
            refused[change.path] = error.message
        except OSError as error:
            refused[change.path] = error.strerror or str(error)
        else:
            done.append(change)
    return done, refused


def _when(change: Change) -> int:
    """First away with what is new, so that a file can come back where there is a new directory's first file.

    Last comes a file that made room for such a directory, and is itself in it.
    """
    if change.before is None:
        return 0
    return 2 if _is_within(change.before, change.after) else 1


def _is_within(before: Side | None, after: Side | None) -> bool:
    """Whether a file was renamed to what can only be there while it is not: one path is below the other."""
    if before is None or after is None:
        return False
    return f"{before.path}/".startswith(f"{after.path}/") != f"{after.path}/".startswith(f"{before.path}/")


def _undo(mirror: Mirror, change: Change, files: Path) -> None:
    top, full, closed = mirror.repository.top, mirror.repository.full, mirror.closed
    stays = mirror.repository.prefix.count("/")
    before, after = change.before, change.after
    if before is not None and after is not None and before.path != after.path:
        # Both or neither: when one of the two cannot be done, everything stays where it is.
        is_within = _is_within(before, after)
        with taken_away(top, full(after.path), closed, stays=stays if is_within else None):
            _put(top, full(before.path), files / full(before.path), before.mode, closed)
    elif before is not None:
        _put(top, full(before.path), files / full(before.path), before.mode, closed)
    elif after is not None:
        take_away(top, full(after.path), closed)
    if after is not None and (before is None or before.path != after.path):
        remove_empty_folders(top, full(after.path), closed, stays=stays)


def _put(top: str, path: str, source: Path, mode: int, closed: Closed) -> None:
    if source.is_symlink():
        put_link(top, path, os.fsencode(source.readlink()), closed)
    else:
        put_file(top, path, source, mode, closed)
