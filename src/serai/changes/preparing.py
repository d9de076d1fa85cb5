"""What a discard goes by: which changes can be undone, and with what."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace

from serai.changes.attributes import entries_in
from serai.changes.guarding import Began, guarded, guarded_from_commit, there_before, undone_in_part
from serai.changes.margins import PLAIN, Margin, Margins
from serai.changes.mirror import Mirror
from serai.changes.reaching import FolderPermissions, as_usual
from serai.changes.recording import LATE
from serai.changes.records import LINK_MODE, Change, Side
from serai.changes.trees import RecordedTrees

__all__ = ["Prepared", "Preparing"]


@dataclass(frozen=True, slots=True)
class Prepared:
    """What `discarding.discard` needs."""

    changes: list[Change]
    """Those that can be undone, with the permissions that the files had, as far as they are known."""
    refused: dict[str, str]
    """The paths of the others, with the reason."""
    plain: dict[str, Side]
    """The files whose earlier bytes are kept, by paths from the root of the work tree."""
    keeps: Callable[[str], bool]
    """Says of a folder, by such a path, whether it stays though it is empty."""
    folders: FolderPermissions
    """Says who may enter and read the folders that are made at most, by such paths."""


class Preparing:
    """Prepares what is to be discarded.

    Args:
        mirror: The private side.
        trees: What was recorded,
        margins: and what was beside it.
    """

    def __init__(self, mirror: Mirror, trees: RecordedTrees, margins: Margins) -> None:
        self._mirror = mirror
        self._trees = trees
        self._margins = margins

    async def prepare(
        self,
        base: str,
        changes: Sequence[Change],
        tree: str,
        since: Sequence[Change] | None,
        *,
        is_uncommitted: bool,
    ) -> Prepared:
        """Say which changes can be undone.

        Args:
            base: The name of the base that they are since; for what is not committed, that of the session.
            changes: What changed.
            tree: What it changed from.
            since: All that changed since the base, if that is known.
            is_uncommitted: Whether that is the last commit.

        Raises:
            GitFailed: What was recorded is no longer there.
        """
        recorded = self._trees.margin_of(base)
        found = await self._margins.read(recorded) if recorded is not None else None
        began = Began(self._trees.of(base), base.partition("/")[0], *found, since) if found else None
        margin = began.margin if began else None
        guard = guarded_from_commit if is_uncommitted else guarded
        refused = await guard(self._mirror, changes, tree, began)
        if is_uncommitted and self._trees.has(LATE):
            refused |= await there_before(self._mirror, changes, self._trees.of(base), began)
        possible = [change for change in changes if change.path not in refused]
        possible += undone_in_part(changes, refused)
        plain: dict[str, Side] = {}
        if not is_uncommitted:
            plain = await self._plain(recorded, possible) if margin is not None and recorded else {}
            possible = [self._with_permissions(change, plain, margin) for change in possible]

        def keeps(_folder: str) -> bool:
            return not is_uncommitted  # nobody knows whether it was there; a commit has no empty folders

        if margin is None:
            return Prepared(possible, refused, plain, keeps, as_usual)
        return Prepared(possible, refused, plain, margin.folders(), margin.permissions_of_folder)

    async def _plain(self, recorded: str, changes: Sequence[Change]) -> dict[str, Side]:
        full = self._mirror.repository.full
        paths = sorted(full(change.before.path) for change in changes if change.before)
        found = await entries_in(self._mirror, f"{recorded}:{PLAIN}", paths) if paths else {}
        return {path: Side(path, content, int(mode, 8)) for path, (mode, content) in found.items()}

    def _with_permissions(self, change: Change, plain: Collection[str], margin: Margin | None) -> Change:
        before = change.before
        if before is None or before.mode == LINK_MODE:
            return change
        full = self._mirror.repository.full(before.path)
        if margin is not None and (full in plain or margin.knows_permissions_of(full)):
            permissions = margin.permissions_of(full, before.mode)
            return replace(change, before=replace(before, permissions=permissions))
        is_gone = change.after is None or change.after.path != before.path
        return replace(change, before=before.for_its_owner()) if margin is None and is_gone else change
