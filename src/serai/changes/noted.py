"""The changesets of a working directory without git: what tools edited."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import URI
from serai.changes.beginnings import Beginnings
from serai.changes.catalogue import ChangesetKind, Which
from serai.changes.closed import Closed
from serai.changes.contents import kept_at, read_now
from serai.changes.elsewhere import Elsewhere
from serai.changes.leftovers import NOTES, clean_up
from serai.changes.reaching import Found
from serai.changes.records import UNSEEN, Change, Changes, Limits, Outcome
from serai.changes.scanning import is_beyond_a_link
from serai.changes.showing import ContentAddress, path_below
from serai.changes.snapshots import Snapshots, place_of
from serai.changes.undoing import Undoing
from serai.errors import FileInTheWay, FileUnreadable, ProtocolError, SeraiError
from serai.machine.processes.uninterrupted import to_its_end

__all__ = ["NotedChanges"]

_SEEN_SINCE = "Since the folder's repository is gone, only what agents edit through the host is seen"
_SEEN_HERE = "What agents edited while the folder was in another place is not among this"
_CUT = "the folder's repository went away in this turn: these are the edits that came after that"
_ELSEWHERE = (
    "this turn was in the session that this one was forked from, and what changed in it is not recorded here"
)


class NotedChanges:
    """What tools changed in a working directory. It has the same methods as `TrackedChanges`, and two more.

    Args:
        directory: The working directory, as the session names it.
        session_id: The session, for the URIs of content.
        folder: Where notes and content are kept.
        limits: How large a file may be, and how much is kept in all.
        why: Why git is not used, when that is worth telling.
        closed: The host's own folder; by default the one where notes are kept.
    """

    has_git = False

    def __init__(
        self,
        directory: str,
        session_id: str,
        *,
        folder: Path,
        limits: Limits | None = None,
        why: str | None = None,
        closed: Closed | None = None,
    ) -> None:
        self.directory = directory
        self.session_id = session_id
        self.why = why
        self.place = os.path.realpath(directory)
        """Where the directory is without any link: that is where files are looked at and undone."""
        self.elsewhere: Elsewhere | None = None
        """What was recorded in other places, or while the directory was in a repository, if anything was."""
        self._limits = limits or Limits()
        self._closed = closed or Closed(folder)
        self._notes = folder / NOTES
        clean_up(self._notes, self._closed)
        self._snapshots = Snapshots(self.place, folder, self._limits, self._closed)
        self._running: set[str] = set()
        self._beginnings: dict[str, Beginnings] = {}
        """What there was when the running turns began."""
        self._lock = asyncio.Lock()
        self._led: dict[tuple[str, str], list[str]] = {}
        """Where a path led when a tool began with it, by the turn and the path,"""
        self._held: Counter[tuple[str, str]] = Counter()
        """and how many are at it."""

    # -- notes ---------------------------------------------------------------------------------------------

    async def note_before(self, turn_id: str, path: str, *, since: int | None = None) -> bool:
        """Note a file that a tool is about to change, or has changed. Says whether it could be noted.

        What there is now was there before the tool, unless it has come since then. Then it was what was noted
        of it in the turn, or else what there was when the turn began, if that is known (`Beginnings`).

        Args:
            turn_id: The turn.
            path: The file; absolute, or from the working directory.
            since: When the tool was first heard of, in nanoseconds, if it may have changed the file already.
        """
        async with self._lock:
            places = self._led[turn_id, path] = await asyncio.to_thread(self._places, path)
            self._held[turn_id, path] += 1
            note = partial(self._snapshots.note_before, since=since, began=self._beginnings.get(turn_id))
            return await asyncio.to_thread(_all_noted, note, turn_id, places)

    async def note_again(self, turn_id: str, path: str) -> None:
        """Note anew what there is before a tool, which may begin only now; unless others are at it."""
        if self._held[turn_id, path] == 1:
            await self.note_nothing(turn_id, path)
            await self.note_before(turn_id, path)

    async def note_nothing(self, turn_id: str, path: str) -> None:
        """Note that a tool did not change a file after all; unless others are at it."""
        async with self._lock:
            if self._release(turn_id, path):
                for place in self._led.pop((turn_id, path), ()):
                    await asyncio.to_thread(self._snapshots.note_nothing, turn_id, place)

    def _release(self, turn_id: str, path: str) -> bool:
        """One tool less is at a file. Says whether it was the last one."""
        self._held[turn_id, path] -= 1
        if self._held[turn_id, path] > 0:
            return False
        del self._held[turn_id, path]
        return True

    async def note_after(self, turn_id: str, path: str) -> bool:
        """Note a file that a tool has changed. Says whether it could be noted."""
        async with self._lock:
            self._release(turn_id, path)
            places = self._led.pop((turn_id, path), None) or await asyncio.to_thread(self._places, path)
            return await asyncio.to_thread(_all_noted, self._snapshots.note_after, turn_id, places)

    def _places(self, path: str) -> list[str]:
        """Where in the directory a tool may change something when it is given a path.

        That is the path itself and, when it leads over links, the file that is there: a tool may write to
        that, or put another in the place of a link.
        """
        full = os.path.normpath(os.path.join(self.directory, path))  # noqa: PTH118 - text, not a Path
        named = _below(self.directory, full) or _below(self.place, full)
        real = _below(self.place, os.path.realpath(full))
        if named is not None and real is not None and is_beyond_a_link(self.place, named):
            return [real]
        return list(dict.fromkeys(filter(None, (named, real))))

    @property
    def noted(self) -> list[str]:
        """The files that tools edited."""
        return self._snapshots.noted

    def at_first(self) -> dict[str, Found | None]:
        """The files that tools edited, as they were before. Reads the disk."""
        return self._snapshots.at_first()

    @property
    def has_begun(self) -> bool:
        """Whether it is known what tools have edited since the session began."""
        return self._snapshots.has_begun

    async def begin_session(self) -> None:
        """Note that all edits will be noted: the first note of a file is what the session began with."""
        async with self._lock:
            await asyncio.to_thread(self._snapshots.begin_session)

    async def begin_turn(self, turn_id: str) -> None:
        """Note that a turn begins, and what there is. One without any note of a file has no changes."""
        async with self._lock:
            self._running.add(turn_id)
            await asyncio.to_thread(self._snapshots.begin_turn, turn_id)
        # Not under the lock: who wants to see changes need not wait for a slow disk.
        began = await asyncio.to_thread(Beginnings.take, self.place, self._closed)
        if turn_id in self._running:
            self._beginnings[turn_id] = began

    async def end_turn(self, turn_id: str) -> None:
        """Notes that come later are still part of the turn that they name."""
        self._let_go(turn_id)

    def _let_go(self, turn_id: str) -> None:
        self._running.discard(turn_id)
        self._beginnings.pop(turn_id, None)

    async def forget_turn(self, turn_id: str) -> None:
        """Drop the notes of a turn. Content is kept for as long as the session is."""
        async with self._lock:
            self._let_go(turn_id)
            await asyncio.to_thread(self._snapshots.forget_turn, turn_id)
            if self.elsewhere is not None:
                await self.elsewhere.forget_turn(turn_id)

    async def adopt(self, folder: Path, turn_ids: Sequence[str]) -> None:
        """Take over what another session noted of its turns. Of all others it is noted that they were there.

        Args:
            folder: Where that session's notes are kept. If they are of another place they mean nothing here.
            turn_ids: The turns.
        """
        async with self._lock:
            await asyncio.to_thread(self._adopt, folder, turn_ids)

    def _adopt(self, folder: Path, turn_ids: Sequence[str]) -> None:
        if place_of(folder) == self.place:
            self._snapshots.adopt(folder, turn_ids)
        for turn_id in turn_ids:
            if not self._snapshots.knows_turn(turn_id):
                self._snapshots.miss(turn_id)

    def knows_turn(self, turn_id: str | None) -> bool:
        """Whether a turn was noted, if only that it was in another session."""
        return turn_id is not None and (
            self._snapshots.knows_turn(turn_id) or turn_id in self._snapshots.elsewhere
        )

    def keeps(self, content: str) -> bool:
        """Whether content with that digest is kept. Reads the disk."""
        return self._snapshots.keeps(content)

    async def forget(self) -> None:
        """Delete everything that was kept. Nothing can be asked afterwards."""
        async with self._lock:
            await asyncio.to_thread(self._snapshots.forget)

    # -- what changed --------------------------------------------------------------------------------------

    def is_live(self, which: Which) -> bool:
        """Whether a changeset follows the files as they change; a turn does not, it is made of notes."""
        return which.kind is ChangesetKind.SESSION

    async def compute(self, which: Which) -> Changes:
        """What changed.

        Raises:
            ProtocolError: There is nothing that could be uncommitted, or no such turn.
            GitFailed: It was recorded in a repository that is gone.
            FileUnreadable: The directory is gone.
        """
        async with self._lock:
            elsewhere = await self._computed_elsewhere(which)
            if elsewhere is not None:
                return elsewhere
            found = await asyncio.to_thread(self._compute, which)
            return replace(found, lacks=await self._gap_in(which) or found.lacks)

    async def _computed_elsewhere(self, which: Which) -> Changes | None:
        """A turn that was in another place, or before the repository went away; nothing was noted here."""
        if self.elsewhere is None or which.turn_id is None or self.knows_turn(which.turn_id):
            return None
        return await self.elsewhere.in_turn(which.turn_id)

    async def _gap_in(self, which: Which) -> str | None:
        """What notes lack, if the directory was in another place, or in a repository, when it began."""
        if self.elsewhere is None:
            return None
        if which.kind is ChangesetKind.SESSION:
            return _SEEN_SINCE if self.elsewhere.has_git else _SEEN_HERE
        return _CUT if await self.elsewhere.knows(which.turn_id) else None

    async def compute_all(self, which: Iterable[Which]) -> dict[Which, Outcome]:
        """The same for several changesets. What is wrong with one is its own."""
        found: dict[Which, Outcome] = {}
        for one in which:
            try:
                found[one] = await self.compute(one)
            except SeraiError as error:
                found[one] = error
        return found

    def _compute(self, which: Which) -> Changes:
        if which.kind is ChangesetKind.SESSION:
            if not os.path.isdir(self.place):  # noqa: PTH112 - text, not a Path
                raise FileUnreadable("the folder is gone")
            return self._snapshots.since_the_session_began()
        turn_id = which.turn_id or ""
        if which.kind is ChangesetKind.UNCOMMITTED:
            raise ProtocolError(
                "the working directory is in no git repository", number=AhpErrorCode.NOT_FOUND
            )
        if turn_id in self._snapshots.elsewhere:
            raise ProtocolError(_ELSEWHERE, number=AhpErrorCode.NOT_FOUND)
        if not self._snapshots.knows_turn(turn_id):
            raise ProtocolError("nothing was noted of this turn", number=AhpErrorCode.NOT_FOUND)
        changes = self._snapshots.in_turn(turn_id)
        is_cut = turn_id not in self._running and self._snapshots.is_open(turn_id)
        return replace(changes, settled=True, lacks=UNSEEN if is_cut else None)

    async def read(self, uri: URI) -> bytes:
        """The content that a change refers to: kept, or a file of the working directory as it is now.

        Raises:
            ProtocolError: There is no such content.
        """
        path = path_below(self.directory, uri)
        if path is not None:
            return await asyncio.to_thread(read_now, self.place, path, self._limits.file_bytes, self._closed)
        address = kept_at(uri, self.session_id)
        try:
            return await asyncio.to_thread(self._content, address)
        except (FileInTheWay, FileUnreadable) as error:
            if self.elsewhere is not None:
                return await self.elsewhere.read(address)
            raise ProtocolError(error.message, number=AhpErrorCode.CONTENT_NOT_FOUND) from None

    def _content(self, address: ContentAddress) -> bytes:
        try:
            return self._snapshots.content(address.content)
        except FileUnreadable:
            # What came after the last note is not kept, but may be there.
            found = self._snapshots.now(address.path)
            if found is None or found.digest != address.content:
                raise
            return found.data

    # -- operations ----------------------------------------------------------------------------------------

    async def stage(self, changes: Sequence[Change]) -> dict[str, str]:
        """There is no index: every file is refused."""
        return {change.path: "the working directory is in no git repository" for change in changes}

    async def discard(
        self, which: Which, paths: Collection[str] | None
    ) -> tuple[list[Change], dict[str, str]]:
        """Bring files back to what they were before a changeset; a file that is new in it is deleted.

        Args:
            which: The changeset.
            paths: The files, by the path that they have now, or had; all when absent.

        Returns:
            The changes that were discarded, and the paths of those that were not, with the reason.

        Raises:
            ProtocolError: There is no such turn here.

        Cancelling it waits for its end.
        """
        async with self._lock:
            return await to_its_end(asyncio.to_thread(self._discard, which, paths))

    def _discard(self, which: Which, paths: Collection[str] | None) -> tuple[list[Change], dict[str, str]]:
        undoing = Undoing(
            self.place,
            self._snapshots,
            self._snapshots.scope(which.turn_id),
            closed=self._closed,
            notes=self._notes,
        )
        done, refused = undoing.discard(self._compute(which).changes, paths, is_live=self.is_live(which))
        for path in dict.fromkeys(path for change in done for path in change.paths):
            self._snapshots.note_undone(path)
        return done, refused


def _all_noted(note: Callable[[str, str], bool], turn_id: str, places: Sequence[str]) -> bool:
    noted = [note(turn_id, place) for place in places]
    return bool(noted) and all(noted)


def _below(directory: str, full: str) -> str | None:
    """A path from the directory that it is in."""
    base = directory.rstrip("/") + "/"
    return full.removeprefix(base) if full.startswith(base) else None
