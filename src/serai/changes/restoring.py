"""Bringing files of the work tree back to earlier content.

git writes the earlier files into a private folder first, in the form in which they are in the work tree.
Then each is put in its place (`writing`). git itself would delete a whole directory that stands in the way
of a file.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from serai.changes.closed import Closed
from serai.changes.mirror import Mirror
from serai.changes.records import Change, Side, shown
from serai.changes.writing import put_file, put_link, remove_empty_folders, take_away, taken_away
from serai.errors import FileInTheWay

__all__ = ["bring_back", "filtered"]


async def filtered(mirror: Mirror, changes: Sequence[Change]) -> dict[str, str]:
    """The files, with a reason, that go through a filter that must not run here."""
    drivers = mirror.settings.drivers
    if mirror.trusted or not drivers or not changes:
        return {}
    paths = [path for change in changes for path in change.paths]
    answer = await mirror.run(
        *("check-attr", "-z", "--stdin", "filter"),
        doing="see which filters apply",
        data=b"".join(os.fsencode(mirror.repository.full(path)) + b"\0" for path in paths),
    )
    values = answer.output.split(b"\0")[2::3]
    used = {path: os.fsdecode(value) for path, value in zip(paths, values, strict=True)}
    return {
        change.path: f"it goes through the filter {shown(used[path])!r}, which runs in trusted folders only"
        for change in changes
        for path in change.paths
        if used[path] in drivers
    }


async def bring_back(mirror: Mirror, changes: Sequence[Change]) -> tuple[list[Change], dict[str, str]]:
    """Undo changes in the work tree. No other file is touched.

    Returns:
        The changes that were undone, and the paths of those that were not, with the reason.

    Raises:
        GitFailed: Earlier content could not be read; nothing was touched.
    """
    sides = [change.before for change in changes if change.before]
    with tempfile.TemporaryDirectory(dir=mirror.folder, prefix="back-") as name:
        folder = Path(name)
        if sides:
            await _unpack(mirror, sides, folder)
        return await asyncio.to_thread(_put_back, mirror, changes, folder / "files")


async def _unpack(mirror: Mirror, sides: Sequence[Side], folder: Path) -> None:
    index = folder / "index"
    entries = (
        f"{side.mode:o} {side.content}\t".encode() + os.fsencode(mirror.repository.full(side.path)) + b"\0"
        for side in sides
    )
    await mirror.run(
        *("update-index", "-z", "--index-info"),
        doing="find earlier content",
        data=b"".join(entries),
        environment=mirror.environment(index),
    )
    await mirror.run(
        *("checkout-index", "--all", "--quiet", f"--prefix={folder}/files/"),
        doing="read earlier content",
        environment=mirror.reading_environment(index),
    )


def _put_back(mirror: Mirror, changes: Sequence[Change], files: Path) -> tuple[list[Change], dict[str, str]]:
    done: list[Change] = []
    refused: dict[str, str] = {}
    for change in sorted(changes, key=_when):
        try:
            _undo(mirror, change, files)
        except FileInTheWay as error:
            refused[change.path] = error.message
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
    if before is not None and after is not None and _is_within(before, after):
        with taken_away(top, full(after.path), closed, stays=stays):
            _put(top, full(before.path), files / full(before.path), before.mode, closed)
        return
    if before is not None:
        _put(top, full(before.path), files / full(before.path), before.mode, closed)
    if after is not None and (before is None or before.path != after.path):
        take_away(top, full(after.path), closed)
        remove_empty_folders(top, full(after.path), closed, stays=stays)


def _put(top: str, path: str, source: Path, mode: int, closed: Closed) -> None:
    if source.is_symlink():
        put_link(top, path, os.fsencode(source.readlink()), closed)
    else:
        put_file(top, path, source, mode, closed)
