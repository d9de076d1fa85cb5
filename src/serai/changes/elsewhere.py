"""What was recorded of a session while its directory was in other places. It can only be looked at."""

from __future__ import annotations

import asyncio
from pathlib import Path

from serai.ahp.errors import AhpErrorCode
from serai.changes.closed import Closed
from serai.changes.git import Git
from serai.changes.mirror import Mirror, prefix_of
from serai.changes.records import Changes, Limits
from serai.changes.repository import Repository
from serai.changes.showing import ContentAddress
from serai.changes.sides import Others
from serai.changes.snapshots import Snapshots, place_of
from serai.changes.trees import RecordedTrees, is_lost, names_of
from serai.errors import FileUnreadable, GitFailed, ProtocolError

__all__ = ["Elsewhere"]

_GONE = "the repository in which this was recorded is gone, and with it what there was before"
_NOT_KEPT = "this content is not kept, or was in a repository that is gone"


class Elsewhere:
    """The turns of a session that were in other places. Nothing is read before someone asks for a turn.

    All methods take turns with each other; cancelling any of them is safe.

    Args:
        others: The private sides for those places.
        git: The git to run; without one, only notes can be read.
        limits: How large a file may be.
        closed: The host's own folder.
    """

    def __init__(self, others: Others, git: Git | None, limits: Limits, closed: Closed) -> None:
        self._others = others
        self._git = git
        self._limits = limits
        self._closed = closed
        self._trees: list[RecordedTrees] = []
        self._notes: list[Snapshots] = []
        self._is_loaded = False
        self._lock = asyncio.Lock()

    @property
    def has_git(self) -> bool:
        """Whether the directory was in a repository in one of them."""
        return bool(self._others.tracked)

    async def knows(self, turn_id: str | None) -> bool:
        """Whether a turn was in one of the places.

        Raises:
            GitFailed: What was recorded there cannot be read.
        """
        async with self._lock:
            return await self._side_of(turn_id) is not None

    async def in_turn(self, turn_id: str) -> Changes | None:
        """What changed in a turn; `None` for one that was in no other place.

        Raises:
            ProtocolError: Its end was not seen.
            GitFailed: It was recorded in a repository that is gone.
        """
        async with self._lock:
            side = await self._side_of(turn_id)
            if side is None:
                return None
            if isinstance(side, Snapshots):
                found = await asyncio.to_thread(side.in_turn, turn_id)
            else:
                found = await _in_turn(side, turn_id)
            return found.only_to_be_seen()

    async def read(self, address: ContentAddress) -> bytes:
        """Content that was kept in one of the places.

        Raises:
            ProtocolError: There is none.
        """
        async with self._lock:
            await self._load()
            for notes in self._notes:
                try:
                    return await asyncio.to_thread(notes.content, address.content)
                except FileUnreadable:
                    continue
            for trees in self._trees:
                try:
                    return await trees.read(address)
                except GitFailed:
                    continue
        raise ProtocolError(_NOT_KEPT, number=AhpErrorCode.CONTENT_NOT_FOUND)

    async def forget_turn(self, turn_id: str) -> None:
        """Drop what was recorded for a turn.

        Raises:
            GitFailed: It could not be dropped.
        """
        async with self._lock:
            await self._load()
            for notes in self._notes:
                await asyncio.to_thread(notes.forget_turn, turn_id)
            for trees in self._trees:
                await trees.drop(*names_of(turn_id))

    async def _side_of(self, turn_id: str | None) -> RecordedTrees | Snapshots | None:
        if turn_id is None:
            return None
        await self._load()
        trees = (one for one in self._trees if one.has(f"turn/{turn_id}"))
        notes = (one for one in self._notes if one.knows_turn(turn_id))
        return next(trees, None) or next(notes, None)

    async def _load(self) -> None:
        if self._is_loaded:
            return
        git = self._git
        self._trees = [await self._trees_in(git, one) for one in self._others.tracked] if git else []
        self._notes = await asyncio.to_thread(self._notes_of_others)
        self._is_loaded = True

    async def _trees_in(self, git: Git, folder: Path) -> RecordedTrees:
        # That repository may be gone. The private side has all of its own settings.
        prefix = await asyncio.to_thread(prefix_of, folder) or ""
        repository = Repository(str(folder), str(folder), str(folder), "sha1", prefix)
        trees = RecordedTrees(Mirror(git, repository, folder, lambda: False, self._closed))
        await trees.load()
        return trees

    def _notes_of_others(self) -> list[Snapshots]:
        return [
            Snapshots(place_of(folder) or str(folder), folder, self._limits, self._closed)
            for folder in self._others.noted
        ]


async def _in_turn(trees: RecordedTrees, turn_id: str) -> Changes:
    try:
        return await trees.in_turn(turn_id)
    except GitFailed as error:
        raise GitFailed(_GONE, words=error.words) if is_lost(error) else error from None
