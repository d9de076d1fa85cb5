"""Bringing files of the work tree back to earlier content.

git writes the earlier files into a private folder first, in the form in which they are in the work tree.
Then each is put in its place (`writing`). git itself would delete a whole directory that stands in the way
of a file.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from serai.changes.attributes import Attributes, attributes_in, unpack
from serai.changes.closed import Closed
from serai.changes.leftovers import NOTES
from serai.changes.mirror import Mirror
from serai.changes.plain import Plain
from serai.changes.reaching import Expected, FolderPermissions, as_usual
from serai.changes.records import Change, Side, shown
from serai.changes.writing import put_file, put_link, remove_empty_folders, take_away, taken_away
from serai.errors import FileInTheWay

__all__ = ["Hand", "Unpacked", "filtered", "in_order", "put_back", "unpacked"]


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
async def unpacked(
    mirror: Mirror, changes: Sequence[Change], tree: str, plain: Mapping[str, Side] | None = None
) -> AsyncGenerator[Unpacked]:
    """The earlier content of changes, in the form that files have, for the length of a block.

    Args:
        mirror: The private side.
        changes: What changed.
        tree: What it changed from.
        plain: The files whose earlier bytes are known, by paths from the root of the work tree; the others
            are converted as git does it.

    Raises:
        GitFailed: Earlier content could not be read.
    """
    with mirror.scratch("back") as name:
        folder = Path(name)
        earlier = [change for change in changes if change.before]
        refused: dict[str, str] = {}
        if earlier:
            refused = await _unpack(mirror, earlier, tree, plain or {}, folder)
        yield Unpacked(folder / "files", refused)


async def _unpack(
    mirror: Mirror, changes: Sequence[Change], tree: str, plain: Mapping[str, Side], folder: Path
) -> dict[str, str]:
    sides = {mirror.repository.full(change.before.path): change.before for change in changes if change.before}
    index, files = folder / "index", folder / "files"
    known = {path: plain[path] for path in sides if path in plain}
    if known:
        await Plain(mirror).unpack(known, index=folder / "index.plain", files=files)
    sides = {path: side for path, side in sides.items() if path not in known}
    if not sides:
        return {}
    attributes = await attributes_in(mirror, tree, sides, folder / "lists")
    await unpack(mirror, attributes, sides, index=index, files=files)
    if not attributes.is_earlier:
        return {}
    converted = [
        change for change in changes if change.before and mirror.repository.full(change.before.path) in sides
    ]
    return await filtered(mirror, converted, attributes, index)


def put_back(
    mirror: Mirror,
    changes: Sequence[Change],
    files: Path,
    seen: Mapping[str, Expected],
    keeps: Callable[[str], bool] = lambda _folder: False,
    *,
    folders: FolderPermissions = as_usual,
    absent: Collection[str] = (),
    stop: Callable[[], bool] = lambda: False,
) -> tuple[list[Change], dict[str, str]]:
    """Undo changes in the work tree. No other file is touched. Writes to the disk.

    Args:
        mirror: The private side.
        changes: What changed.
        files: Where the earlier content is.
        seen: What was seen of the files, by paths from the root of the work tree. What is otherwise by now
            stays as it is.
        keeps: Says of a folder, by such a path, whether it stays though it is empty.
        folders: Says who may enter and read the folders that are made at most, by such paths.
        absent: The paths of changed files that were not in the work tree before, whatever git has of them.
        stop: Says whether to stop before the next change. All that are left are refused then.

    Returns:
        The changes that were undone, and the paths of those that were not, with the reason.
    """
    done: list[Change] = []
    refused: dict[str, str] = {}
    hand = _GitHand(mirror, files, seen, keeps, folders)
    for change in in_order(changes):
        if stop():
            refused[change.path] = "the host was stopped"
            continue
        try:
            hand.undo(Change(None, change.after) if change.path in absent else change)
        except FileInTheWay as error:
            refused[change.path] = error.message
        except OSError as error:
            refused[change.path] = error.strerror or str(error)
        else:
            done.append(change)
    return done, refused


def in_order(changes: Sequence[Change]) -> list[Change]:
    """The changes, each after those whose new files are in the way of its earlier one.

    That is so where a folder became a file, or a file a folder. Where two are in each other's way there is no
    such order: they come last, and will be refused.
    """
    ordered = sorted(changes, key=lambda change: change.before is not None)
    new = [one.path for one in ordered if one.after and (not one.before or one.before.path != one.path)]
    below: dict[str, list[str]] = defaultdict(list)
    for path in new:
        for folder in _folders(path):
            below[folder].append(path)
    sorter: TopologicalSorter[str] = TopologicalSorter()
    files = set(new)
    for change in ordered:
        in_the_way: set[str] = set()
        if change.before is not None:
            in_the_way = {
                *below.get(change.before.path, ()),
                *files.intersection(_folders(change.before.path)),
            }
        sorter.add(change.path, *(in_the_way - {change.path}))
    with suppress(CycleError):  # it gives those that it can
        sorter.prepare()
    by_path = {change.path: change for change in ordered}
    found: dict[str, Change] = {}
    while ready := sorter.get_ready():
        found |= {path: by_path[path] for path in ready}
        sorter.done(*ready)
    return list((found | by_path).values())


def _folders(path: str) -> list[str]:
    """The folders that a path is in."""
    names = path.split("/")
    return ["/".join(names[:depth]) for depth in range(1, len(names))]


def _is_within(before: Side | None, after: Side | None) -> bool:
    """Whether a file was renamed to what can only be there while it is not: one path is below the other."""
    if before is None or after is None:
        return False
    return f"{before.path}/".startswith(f"{after.path}/") != f"{after.path}/".startswith(f"{before.path}/")


class Hand(ABC):
    """Undoes changes, one at a time. Where earlier content comes from, a subclass says.

    Args:
        top: The folder that all full paths are from.
        closed: The host's own folder.
        notes: Where it is noted what is in the folder meanwhile.
        seen: What was seen of the files, by their full paths. What is otherwise by now stays as it is.
        keeps: Says of a folder whether it stays though it is empty.
        full: Makes a full path of that of a side.
        stays: So many folders on the way stay in any case.
    """

    def __init__(
        self,
        top: str,
        closed: Closed,
        notes: Path,
        seen: Mapping[str, Expected],
        keeps: Callable[[str], bool],
        *,
        full: Callable[[str], str] = lambda path: path,
        stays: int = 0,
    ) -> None:
        self._top = top
        self._closed = closed
        self._notes = notes
        self._seen = seen
        self._keeps = keeps
        self._full = full
        self._stays = stays

    def undo(self, change: Change) -> None:
        """Undo a change. Writes to the disk.

        Raises:
            FileInTheWay: It cannot be done. Both files of a rename are as they were.
            OSError: The same.
        """
        before, after = change.before, change.after
        if before is not None and after is not None and before.path != after.path:
            # Both or neither: when one of the two cannot be done, everything stays where it is.
            path = self._full(after.path)
            is_within = _is_within(before, after)
            with taken_away(
                self._top,
                path,
                self._closed,
                stays=self._stays if is_within else None,
                keeps=self._keeps,
                expected=self._seen[path],
                notes=self._notes,
            ):
                try:
                    self._put(before)
                except BaseException:
                    if is_within:  # folders for it may have come to where the later file goes back
                        earlier = self._full(before.path)
                        remove_empty_folders(self._top, earlier, self._closed, stays=path.count("/"))
                    raise
        elif before is not None:
            self._put(before)
        elif after is not None:
            path = self._full(after.path)
            take_away(self._top, path, self._closed, expected=self._seen[path], notes=self._notes)
        if after is not None and (before is None or before.path != after.path):
            path = self._full(after.path)
            remove_empty_folders(self._top, path, self._closed, stays=self._stays, keeps=self._keeps)

    @abstractmethod
    def _put(self, side: Side) -> None:
        """Put an earlier file in its place."""


class _GitHand(Hand):
    """Puts back what git has written into a folder."""

    def __init__(
        self,
        mirror: Mirror,
        files: Path,
        seen: Mapping[str, Expected],
        keeps: Callable[[str], bool],
        folders: FolderPermissions,
    ) -> None:
        repository = mirror.repository
        super().__init__(
            *(repository.top, mirror.closed, mirror.folder / NOTES, seen, keeps),
            full=repository.full,
            stays=repository.prefix.count("/"),
        )
        self._files = files
        self._folders = folders
        self._has_modes = not mirror.settings.is_off("core.filemode")

    def _put(self, side: Side) -> None:
        path = self._full(side.path)
        source = self._files / path
        expected = self._seen[path]
        if source.is_symlink():
            target = os.fsencode(source.readlink())
            put_link(
                self._top,
                path,
                target,
                self._closed,
                folders=self._folders,
                expected=expected,
                notes=self._notes,
            )
        else:
            put_file(
                self._top,
                path,
                source,
                side.mode if self._has_modes else None,
                self._closed,
                permissions=side.permissions,
                folders=self._folders,
                expected=expected,
                notes=self._notes,
            )
