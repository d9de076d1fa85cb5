"""Files that are gone for git, and are there all the same: no longer tracked, or ignored since."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from serai.changes.diff import diff_to_index
from serai.changes.mirror import Mirror
from serai.changes.records import Change, LeftOutReason, Limits, shown
from serai.changes.scanning import Scanner, is_beyond_a_link, judge_file, take_entries

__all__ = ["Lingering"]


class Lingering:
    """Finds such files in a working directory.

    Args:
        mirror: The private side.
        scanner: What keeps its index up to date.
        limits: How much is looked at.
    """

    def __init__(self, mirror: Mirror, scanner: Scanner, limits: Limits) -> None:
        self._mirror = mirror
        self._scanner = scanner
        self._limits = limits

    async def among(self, paths: Iterable[str]) -> tuple[list[str], set[str]]:
        """Which of the paths are files: those that can be looked at, and those that are too large."""
        return await asyncio.to_thread(self._among, list(paths))

    def _among(self, paths: Iterable[str]) -> tuple[list[str], set[str]]:
        small: list[str] = []
        large: set[str] = set()
        top = self._mirror.repository.top
        for path in paths:
            full = self._mirror.repository.full(path)
            reason, size, _ = judge_file(top, full, self._limits)
            if size is not None and not is_beyond_a_link(top, full):
                if reason is None:
                    small.append(path)
                elif reason is LeftOutReason.TOO_LARGE:
                    large.add(path)
        return small, large

    async def behind(self, changes: Iterable[Change]) -> list[str]:
        """Where git sees a file no more, and there is one that can be looked at."""
        return (await self.among(path for change in changes for path in _gone(change)))[0]

    async def seen(self, tree: str, changes: tuple[Change, ...]) -> tuple[Change, ...]:
        """What changed since a tree, but such a file does not count as deleted.

        Args:
            tree: The tree.
            changes: What changed as git sees it.

        Raises:
            GitFailed: git could not compare.
        """
        small, large = await self.among(path for change in changes for path in _gone(change))
        if small:
            async with self._mirror.copied_index() as index:
                full = [self._mirror.repository.full(path) for path in small]
                await take_entries(self._mirror, full, self._mirror.environment(index))
                changes = await diff_to_index(self._mirror, tree, self._scanner.conflicts, index=index)
        if not large:
            return changes
        return tuple(change for change in changes if change.after is not None or change.path not in large)

    async def refused(self, changes: Iterable[Change]) -> dict[str, str]:
        """The changes, with a reason, whose earlier file must not come back: such a one is in its place."""
        gone = {path: change.path for change in changes for path in _gone(change)}
        small, large = await self.among(gone)
        return {gone[path]: f"the file at {shown(path)} is not tracked any more" for path in (*small, *large)}


def _gone(change: Change) -> tuple[str, ...]:
    """Where git sees no file any more: it was deleted, or renamed."""
    after = change.after.path if change.after else None
    return (change.before.path,) if change.before and change.before.path != after else ()
