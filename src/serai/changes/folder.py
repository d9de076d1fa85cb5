"""Changes in a session's folder: uncommitted, since the session began, and in each turn.

    changes = await open_folder("/home/me/project", "s", folder=private, home=home)
    await changes.begin_session()
    await changes.begin_turn("t1")
    ...
    await changes.end_turn("t1")
    found = await changes.compute(SESSION)

A base is a tree in the session's private git directory; a changeset is the difference between two trees. A
turn in which the host was killed ends with the next tree that is recorded.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import stat
from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from serai.ahp.commands import AhpErrorCode
from serai.ahp.types import URI
from serai.changes.diff import Change, ChangeKind, Changes, Outcome
from serai.changes.discard import discard
from serai.changes.git import find_git
from serai.changes.recorder import FolderRecorder, Recorded
from serai.changes.repository import Repository, find_repository, read_settings
from serai.changes.undo import Discard, Trash
from serai.changes.view import SESSION, UNCOMMITTED, ChangesetKind, Which, content_address
from serai.errors import FileUnreadable, GitFailed, ProtocolError, SeraiError

LATE = "Recorded only since the folder was replaced, or could first be recorded"
_UNKNOWN = (
    "the state before this turn is not recorded: the folder was another one, it could not be "
    "recorded, or the turn is of the session that this one was forked from"
)

Place: TypeAlias = tuple[str, int, tuple[int, int] | None]
"""The real path of a folder, its inode, and what identifies a repository around it."""


def place_of(directory: str) -> Place | None:
    """Return what identifies a folder, to notice another one; `None` when it is gone. Reads the disk."""
    path = os.path.realpath(directory)
    try:
        inode = Path(path).stat().st_ino
    except OSError:
        return None
    for above in (Path(path), *Path(path).parents):
        try:
            info = (above / ".git").lstat()
        except OSError:
            continue
        is_file = stat.S_ISREG(info.st_mode)  # a file that names another place
        return path, inode, (info.st_ino, info.st_mtime_ns if is_file else (above / ".git/HEAD").exists())
    return path, inode, None


async def open_folder(directory: str, session_id: str, *, folder: Path, home: Path) -> FolderChanges:
    """Open the changes of a session's folder.

    Args:
        directory: The absolute working directory, as the session names it.
        session_id: The session.
        folder: A private folder for this session. The records of an earlier host in it are used again.
        home: The host's own folder: nothing in it counts as a change, or is touched.

    Raises:
        FileUnreadable: The directory is gone, or in the host's own folder.
        GitUnavailable: There is no git, or it is too old.
        GitFailed: The private folder cannot be made.
    """
    place = await asyncio.to_thread(place_of, directory)
    if place is None:
        raise FileUnreadable("the folder is gone")
    real = place[0]
    trash = Trash(home)
    if f"{real}/".startswith(f"{trash.home}/"):
        raise FileUnreadable("the working directory is in the host's own folder, whose changes are not shown")
    git = await find_git()
    problem: str | None = None
    repository: Repository | None = None
    try:
        repository = await find_repository(git, real)
    except GitFailed as error:
        problem = str(error)
    settings = await read_settings(git, real) if problem is None else {}
    known = f"{real}\0{place[1]}\0{repository.object_format if repository else 'sha1'}"
    private = folder / hashlib.sha256(os.fsencode(known)).hexdigest()[:16]
    recorder = FolderRecorder(git, private, real, repository=repository, settings=settings, home=trash.home)
    changes = FolderChanges(directory, session_id, place, recorder, repository, trash)
    changes.problem = problem
    is_same = await recorder.open()
    base = recorder.bases.get("session")
    if base and not is_same and not await recorder.has(base):
        await recorder.keep({"session": None})
    return changes


class FolderChanges:
    """The changes of one folder in one session. Made by `open_folder`.

    All methods may be cancelled, and leave no process behind.
    """

    def __init__(
        self,
        directory: str,
        session_id: str,
        place: Place,
        recorder: FolderRecorder,
        repository: Repository | None,
        trash: Trash,
    ) -> None:
        self.directory = directory
        """Path of the folder, as the session names it."""
        self.session_id = session_id
        self.place = place
        self.repository = repository
        self.trash = trash
        self.has_commit = True
        """False while nothing is committed in the folder."""
        self.problem: str | None = None
        """Reason why the repository of the folder cannot be used; `None` when it can."""
        self._recorder = recorder
        self._lock = asyncio.Lock()

    @property
    def has_git(self) -> bool:
        """True when the folder is in a repository of the person."""
        return self.repository is not None

    # -- bases ---------------------------------------------------------------------------------------------

    async def begin_session(self, *, late: bool = False) -> None:
        """Record the folder as the base of the session, unless there is one.

        Args:
            late: The session began earlier, when this could not be recorded.
        """
        async with self._lock:
            if "session" not in self._recorder.bases:
                tree = (await self._recorder.record()).tree
                await self._recorder.keep({"session": tree, "late": tree if late else None})

    async def begin_turn(self, turn_id: str) -> None:
        """Record the folder before a turn."""
        async with self._lock:
            tree = (await self._recorder.record()).tree
            begun = [key.removesuffix("/start") for key in self._recorder.bases if key.endswith("/start")]
            unended = [key for key in begun if f"{key}/end" not in self._recorder.bases]
            ends = {f"{key}/end": tree for key in unended}
            await self._recorder.keep({**ends, f"{_key(turn_id)}/start": tree, f"{_key(turn_id)}/end": None})

    async def end_turn(self, turn_id: str) -> None:
        """Record the folder after a turn, if its beginning is recorded, and its end is not."""
        async with self._lock:
            start, end = self._ends(turn_id)
            if start is not None and end is None:
                await self._recorder.keep({f"{_key(turn_id)}/end": (await self._recorder.record()).tree})

    def _ends(self, turn_id: str) -> tuple[str | None, str | None]:
        key = _key(turn_id)
        return self._recorder.bases.get(f"{key}/start"), self._recorder.bases.get(f"{key}/end")

    async def forget_turn(self, turn_id: str) -> None:
        """Forget the trees of a turn."""
        async with self._lock:
            await self._recorder.keep({f"{_key(turn_id)}/{end}": None for end in ("start", "end")})

    async def adopt(self, folder: Path, turn_ids: Sequence[str]) -> None:
        """Take over the trees that another session recorded for turns, for a session that was forked from it.

        This is possible when both have the same folder; other turns stay unknown.
        """
        other = folder / self._recorder.folder.name
        if not await asyncio.to_thread((other / "git").is_dir):
            return
        async with self._lock:
            await self._recorder.copy_from(other, [f"{_key(turn_id)}/" for turn_id in turn_ids])

    # -- changesets ----------------------------------------------------------------------------------------

    async def compute(self, which: Which) -> Changes:
        """Compute a changeset.

        Raises:
            ProtocolError: There is nothing recorded to compare with.
            SeraiError: The folder or git failed.
        """
        found = (await self.compute_all([which]))[which]
        if isinstance(found, SeraiError):
            raise found
        return found

    async def compute_all(self, wanted: Collection[Which]) -> dict[Which, Outcome]:
        """Compute several changesets at once: for each, the changes or an error.

        Raises:
            SeraiError: The folder cannot be recorded.
        """
        async with self._lock:
            now, head = await asyncio.gather(self._recorder.record(), self._head(wanted))
            found: dict[Which, Outcome] = {}
            for which in wanted:
                try:
                    found[which] = await self._computed(which, now, head)
                except SeraiError as error:
                    found[which] = error
            return found

    async def _head(self, wanted: Collection[Which]) -> str | None:
        return await self.repository.head_tree() if self.repository and UNCOMMITTED in wanted else None

    async def _computed(self, which: Which, now: Recorded, head: str | None) -> Changes:
        bases = self._recorder.bases
        if which == UNCOMMITTED:
            return await self._uncommitted(now, head)
        if which == SESSION:
            if "session" not in bases:
                raise _not_recorded("the state at the beginning of the session is not recorded")
            lacks = LATE if "late" in bases else self.problem
            return await self._since(bases["session"], now, lacks)
        start, end = self._ends(which.turn_id or "")
        if start is None:
            raise _not_recorded(_UNKNOWN)
        if end is None:
            return await self._since(start, now)
        return Changes(await self._recorder.diff(start, end), settled=True)

    async def _since(self, base: str, now: Recorded, lacks: str | None = None) -> Changes:
        found = await self._recorder.diff(base, now.tree)
        return Changes(await self._without_ignored(found), now.left_out, lacks=lacks)

    async def _without_ignored(self, found: tuple[Change, ...]) -> tuple[Change, ...]:
        """Leave out new files that are ignored by now, although they were recorded before."""
        new = [change.path for change in found if change.kind is ChangeKind.ADDED]
        ignored = await self._recorder.ignored(new)
        return tuple(one for one in found if one.before or one.path not in ignored)

    async def _uncommitted(self, now: Recorded, head: str | None) -> Changes:
        repository = self.repository
        if repository is None:
            raise _not_recorded("the folder is in no repository")
        self.has_commit = head is not None
        index = await repository.index_facts()
        found = await self._recorder.diff(head or self._recorder.empty_tree, now.tree)
        found = await self._without_ignored(found)
        filtered, converted = await repository.conversions([path for one in found for path in one.paths])
        same = await self._recorder.same_for_git(found, converted)
        hidden = index.absent.union(now.left_out, same, filtered)
        return Changes(
            tuple(
                replace(one, conflicted=one.path in index.conflicts)
                for one in found
                if not hidden.intersection(one.paths)
            ),
            now.left_out,
        )

    async def read(self, uri: URI) -> bytes:
        """Return recorded content.

        Raises:
            ProtocolError: The session has no such content.
        """
        address = content_address(uri)
        if address is None or address.session_id != self.session_id:
            raise ProtocolError("this session has no content at that URI", number=AhpErrorCode.NOT_FOUND)
        try:
            return await self._recorder.read(address.blob)
        except GitFailed as error:
            raise ProtocolError(error.message, number=AhpErrorCode.CONTENT_NOT_FOUND) from None

    # -- operations ----------------------------------------------------------------------------------------

    async def stage(self, changes: Sequence[Change]) -> dict[str, str]:
        """Put files into the person's index. Returns the reasons why some were left out, by path."""
        if self.repository is None:
            raise GitFailed("the folder is in no repository")
        return await self.repository.stage([path for change in changes for path in change.paths])

    async def discard(self, which: Which, changes: Sequence[Change]) -> dict[str, str]:
        """Bring files back. Returns the reasons why some were not brought back, by path."""
        async with self._lock:
            return await discard(
                self._recorder,
                self.trash,
                changes,
                session=self.session_id,
                directory=self.place[0],
                converted=which.kind is ChangesetKind.UNCOMMITTED,
            )

    def last_discard(self) -> Discard | None:
        """Return the last discard of this session that can be undone. Reads the disk."""
        found = self.trash.discards(self.session_id)
        return next((one for one in found if one.undoes is None and one.is_done), None)


def _key(turn_id: str) -> str:
    """Return the beginning of the names of a turn's trees."""
    return f"turn {turn_id}"


def _not_recorded(message: str) -> ProtocolError:
    return ProtocolError(message, number=AhpErrorCode.NOT_FOUND)
