"""From one list of files to another, in as few actions as possible. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from serai.ahp.actions import (
    ChangesetAction,
    ChangesetClearedAction,
    ChangesetFileRemovedAction,
    ChangesetFileSetAction,
)
from serai.ahp.types import ChangesetFile

__all__ = ["Counts", "actions_between", "count"]


@dataclass(frozen=True, slots=True)
class Counts:
    """How much changed. Files that are not text have no lines."""

    files: int
    additions: int
    deletions: int


def actions_between(before: Sequence[ChangesetFile], after: Sequence[ChangesetFile]) -> list[ChangesetAction]:
    """The fewest actions that bring one list to the other.

    Files are told apart by their ids. Their order means nothing: what is new comes to the end.
    """
    old = {file.id: file for file in before}
    wanted = {file.id: file for file in after}
    removed: list[ChangesetAction] = [
        ChangesetFileRemovedAction(file_id=file_id) for file_id in old if file_id not in wanted
    ]
    changed: list[ChangesetAction] = [
        ChangesetFileSetAction(file=file) for file in wanted.values() if old.get(file.id) != file
    ]
    if removed and (not wanted or len(removed) + len(changed) > 1 + len(wanted)):
        return [ChangesetClearedAction(), *(ChangesetFileSetAction(file=file) for file in wanted.values())]
    return removed + changed


def count(files: Iterable[ChangesetFile]) -> Counts:
    """How much changed in all of them together."""
    number = additions = deletions = 0
    for file in files:
        number += 1
        if file.edit.diff is not None:
            additions += int(file.edit.diff.added or 0)
            deletions += int(file.edit.diff.removed or 0)
    return Counts(number, additions, deletions)
