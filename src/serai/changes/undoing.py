"""Bringing files that tools edited back to what was noted of them, in a folder without git.

Order and manner are those of `restoring`. What is not recorded is not touched: a file that was moved to a
noted path, or over a noted file, and what is not as it was when it was looked at.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from serai.changes.closed import Closed
from serai.changes.notes import Scope
from serai.changes.reaching import Expected, parent
from serai.changes.records import LINK_MODE, Change, ChangeKind, Side, shown
from serai.changes.restoring import Hand, in_order
from serai.changes.sightings import sighted
from serai.changes.snapshots import Snapshots
from serai.changes.writing import put_file, put_link
from serai.errors import FileInTheWay, FileUnreadable

__all__ = ["Undoing"]

_ANOTHER_NAME = "it was there before as {}, which does not come back"


class Undoing:
    """Undoes what the notes of a turn, or of the session, say.

    Args:
        directory: The working directory.
        snapshots: The notes of the session, with the content.
        scope: What the notes of that turn say, or those of the session.
        closed: The host's own folder.
        notes: Where it is noted what is in the directory meanwhile.
    """

    def __init__(
        self, directory: str, snapshots: Snapshots, scope: Scope, *, closed: Closed, notes: Path
    ) -> None:
        self._directory = directory
        self._snapshots = snapshots
        self._scope = scope
        self._closed = closed
        self._notes = notes

    def discard(
        self, found: Sequence[Change], paths: Collection[str] | None, *, is_live: bool
    ) -> tuple[list[Change], dict[str, str]]:
        """Bring files back. Writes to the disk.

        Args:
            found: What changed.
            paths: The files, by the path that they have now, or had; all when absent.
            is_live: Whether that is what there is now; else it is looked whether it still is.

        Returns:
            The changes that were discarded, and the paths of those that were not, with the reason.
        """
        changes = [change for change in found if paths is None or change.path in paths]
        refused: dict[str, str] = {}
        for change in changes:
            why = self._why_not(change, is_live=is_live)
            if why is not None:
                refused[change.path] = why
        names = {change.path: self._names(change) for change in changes}
        self._refuse_the_only_ones(found, names, refused)
        parts = _joined([change for change in changes if change.path not in refused], names)
        done: list[Change] = []
        hand = _Hand(self._directory, self._snapshots, self._scope, self._closed, self._notes, _seen(changes))
        for change in in_order(list(parts)):
            try:
                hand.undo(change)
            except (FileInTheWay, FileUnreadable) as error:
                refused |= {part.path: error.message for part in parts[change]}
            except OSError as error:
                refused |= {part.path: error.strerror or str(error) for part in parts[change]}
            else:
                done += parts[change]
        return done, {path: refused[path] for path in sorted(refused, key=os.fsencode)}

    def _why_not(self, change: Change, *, is_live: bool) -> str | None:
        try:
            if not is_live and not self._is_as_noted(change):
                return "it has changed since that turn"
            if change.before is not None and not self._snapshots.keeps(change.before.content):
                return "this content is not kept, or no longer"
        except FileInTheWay as error:
            return error.message
        if change.after is None or change.kind is ChangeKind.RENAMED:
            return None  # what is there, if anything, comes back to where it was
        seen = sighted(self._place(change.path))
        if seen is None:
            return None
        return self._scope.sightings.doubt(change.path, seen, is_new=change.before is None)

    def _refuse_the_only_ones(
        self, found: Sequence[Change], names: Mapping[str, Collection[str]], refused: dict[str, str]
    ) -> None:
        """Refuse what is a noted file under another name, unless that one is there, or comes back as well."""
        while True:
            coming = {one.before.path for one in found if one.before and one.path not in refused}
            more = {
                path: _ANOTHER_NAME.format(shown(min(known)))
                for path, known in names.items()
                if known and path not in refused and coming.isdisjoint(known) and not self._is_back(known)
            }
            if not more:
                return
            refused |= more

    def _names(self, change: Change) -> frozenset[str]:
        """Where a file was when it was recorded, if a discard of a change takes it away from elsewhere."""
        if change.after is None or change.kind is ChangeKind.RENAMED:
            return frozenset()
        seen = sighted(self._place(change.path))
        names = self._scope.sightings.names(seen) if seen is not None else frozenset[str]()
        return names if change.path not in names else frozenset()

    def _is_back(self, paths: Iterable[str]) -> bool:
        """Whether one of some files is as it was before."""
        for path in paths:
            before = self._scope.files[path].before
            with suppress(FileInTheWay):
                found = self._snapshots.now(path)
                if before is not None and found is not None and found.digest == before.content:
                    return True
        return False

    def _place(self, path: str) -> bytes:
        return os.fsencode(f"{self._directory}/{path}")

    def _is_as_noted(self, change: Change) -> bool:
        """Whether the files are as they were when the turn was over."""
        for path in change.paths:
            found = self._snapshots.now(path)
            noted = change.after if change.after is not None and change.after.path == path else None
            if (found is None) != (noted is None):
                return False
            if found is not None and noted is not None and found.digest != noted.content:
                return False
        return True


def _joined(
    changes: Sequence[Change], names: Mapping[str, Collection[str]]
) -> dict[Change, tuple[Change, ...]]:
    """The changes, with what each is in the changeset: a file that was moved and edited is two there.

    It is one here, so that both are undone or neither is.
    """
    gone = {change.path: change for change in changes if change.after is None}
    joined: dict[Change, tuple[Change, ...]] = {}
    for change in changes:
        old = min(gone.keys() & names[change.path], default=None) if change.before is None else None
        if old is not None:
            earlier = gone.pop(old)
            joined[Change(earlier.before, change.after)] = (earlier, change)
    taken = {part.path for parts in joined.values() for part in parts}
    return joined | {change: (change,) for change in changes if change.path not in taken}


def _seen(changes: Iterable[Change]) -> dict[str, Expected]:
    """What is where a discard puts or takes away something."""
    seen: dict[str, Expected] = {}
    for change in changes:
        if change.before is not None:
            seen[change.before.path] = Expected(None)
        if change.after is not None:
            seen[change.after.path] = Expected(change.after.content, change.after.mode == LINK_MODE)
    return seen


class _Hand(Hand):
    """Puts back what was kept."""

    def __init__(
        self,
        directory: str,
        snapshots: Snapshots,
        scope: Scope,
        closed: Closed,
        notes: Path,
        seen: Mapping[str, Expected],
    ) -> None:
        super().__init__(directory, closed, notes, seen, scope.had_folder)
        self._snapshots = snapshots
        self._scope = scope

    def undo(self, change: Change) -> None:
        """Undo a change. A folder that was at the path of a new file is there again.

        Raises:
            FileInTheWay: It cannot be done. Both files of a rename are as they were.
            FileUnreadable: The earlier content is not kept; the same.
            OSError: The same.
        """
        super().undo(change)
        permissions = self._scope.permissions_of(change.path) if change.after is not None else None
        if permissions is not None:
            with (
                suppress(OSError, FileInTheWay),  # only it is missing, and nothing in it
                parent(self._top, change.path, self._closed, make=False) as (above, name),
            ):
                os.mkdir(name, permissions | 0o700, dir_fd=above)

    def _put(self, side: Side) -> None:
        expected, folders = self._seen[side.path], self._scope.permissions_of
        if side.mode == LINK_MODE:
            put_link(
                self._top,
                side.path,
                self._snapshots.content(side.content),
                self._closed,
                folders=folders,
                expected=expected,
                notes=self._notes,
            )
            return
        if side.permissions is None and expected.content is None:
            side = side.for_its_owner()
        put_file(
            self._top,
            side.path,
            self._snapshots.place(side.content),
            side.mode,
            self._closed,
            permissions=side.permissions,
            folders=folders,
            expected=expected,
            notes=self._notes,
        )
