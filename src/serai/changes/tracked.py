"""The changesets of a working directory that is in a git repository.

A *base* is a tree: the work tree as it was at a moment, new files included. It is recorded in the private
side (`trees`), and with it what else was there (`margins`). A base shares with the person's repository what
was there already; should the person have git delete commits for good, a base that needs them cannot be
compared any more, and says so. Others are not concerned by that.

A turn has a base from before it and one from after it. While it runs, what was seen last of the work tree is
kept as well: that is all there is to be known of a turn when the host is killed in it.
"""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path

from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import URI
from serai.changes.catalogue import ChangesetKind, Which
from serai.changes.closed import Closed
from serai.changes.contents import kept_at, read_now
from serai.changes.discarding import discard
from serai.changes.elsewhere import Elsewhere
from serai.changes.git import Git
from serai.changes.leftovers import NOTES, clean_up
from serai.changes.lingering import Lingering
from serai.changes.margins import Margins
from serai.changes.mirror import Mirror
from serai.changes.noted import NotedChanges
from serai.changes.preparing import Preparing
from serai.changes.quiet import quiet_in
from serai.changes.reaching import Found
from serai.changes.recording import Recording
from serai.changes.records import Change, Changes, Limits, Outcome
from serai.changes.repository import Repository, head_tree, see_same_repository
from serai.changes.restoring import filtered
from serai.changes.scanning import Scanner
from serai.changes.showing import path_below
from serai.changes.staging import of_the_host, stage
from serai.changes.telling import Telling, base_of
from serai.changes.trees import RecordedTrees
from serai.errors import GitFailed, ProtocolError, SeraiError

__all__ = ["TrackedChanges"]


class TrackedChanges:
    """What changed in a working directory, as git sees it.

    All methods take turns with each other; cancelling any of them is safe.

    Args:
        directory: The working directory, as the session names it.
        session_id: The session, for the URIs of content.
        repository: The repository that the directory is in.
        folder: Where the private side is kept.
        git: The git to run.
        trusted: Whether the person trusts the directory now.
        limits: How much is looked at.
        closed: The host's own folder; by default the one where the private side is.
        noted: What was noted before the directory was in a repository, if anything.
        elsewhere: What was recorded while the directory was in other places, or repositories, if anything.
    """

    has_git = True

    def __init__(
        self,
        directory: str,
        session_id: str,
        *,
        repository: Repository,
        folder: Path,
        git: Git,
        trusted: Callable[[], bool],
        limits: Limits | None = None,
        closed: Closed | None = None,
        noted: NotedChanges | None = None,
        elsewhere: Elsewhere | None = None,
    ) -> None:
        self.directory = directory
        self.session_id = session_id
        self._limits = limits or Limits()
        self.repository = repository
        self._closed = closed or Closed(folder)
        self._noted = noted
        self._elsewhere = elsewhere
        self._mirror = Mirror(git, repository, folder, trusted, self._closed)
        self._scanner = Scanner(self._mirror, self._limits)
        self._lingering = Lingering(self._mirror, self._scanner, self._limits)
        self._trees = RecordedTrees(self._mirror)
        self._margins = Margins(self._mirror, self._scanner)
        self._preparing = Preparing(self._mirror, self._trees, self._margins)
        self._lock = asyncio.Lock()
        self._quiet = quiet_in(repository.top)
        self._recording = Recording(
            self._mirror,
            self._scanner,
            self._lingering,
            self._trees,
            self._margins,
            quiet=self._quiet,
            limits=self._limits,
        )
        self._telling = Telling(
            self._mirror,
            self._scanner,
            self._lingering,
            self._trees,
            self._recording,
            noted=noted,
            elsewhere=elsewhere,
        )

    async def open(self) -> None:
        """Make the private side, or take up the one that is there.

        Raises:
            GitFailed: It cannot be made.
        """
        async with self._lock:
            await self._mirror.open()
            await asyncio.to_thread(clean_up, self._mirror.folder / NOTES, self._closed)
            await self._trees.load()
        if self._noted is not None and self._noted.has_begun:
            await self.begin_session(await asyncio.to_thread(self._noted.at_first))

    @property
    def has_commit(self) -> bool:
        """Whether anything was committed, when that was last looked at."""
        return self._telling.has_commit

    @property
    def place(self) -> str:
        """Where the directory is without any link, as it was found."""
        return f"{self.repository.top}/{self.repository.prefix}".rstrip("/") or "/"

    @property
    def git_dir(self) -> str:
        """Where the repository's HEAD and index are."""
        return self.repository.git_dir

    @property
    def above(self) -> list[str]:
        """The folders of the work tree that the directory is in, from the root."""
        names = self.repository.prefix.split("/")[:-1]
        return ["/".join((self.repository.top, *names[:depth])) for depth in range(len(names))]

    def is_gone(self) -> bool:
        """Whether the directory is there, and its repository no longer. Reads the disk."""
        is_there = os.path.isdir(self.directory)  # noqa: PTH112 - text, not a Path
        return is_there and not os.path.lexists(f"{self.git_dir}/HEAD")

    # -- bases ---------------------------------------------------------------------------------------------

    async def begin_session(self, earlier: Mapping[str, Found | None] | None = None) -> None:
        """Record what there is as what the session began with, unless that was done before.

        Args:
            earlier: When it began some time ago, the files that are known to have been otherwise then, or not
                to have been there, by their paths.
        """
        async with self._lock:
            await self._recording.begin_session(earlier)

    async def begin_turn(self, turn_id: str) -> None:
        """Record what there is before a turn. Nothing that was recorded for another of that id is left."""
        async with self._lock:
            await self._recording.begin_turn(turn_id)

    async def see_turn(self, turn_id: str) -> None:
        """Record what was seen at the last look, should this be the last one in a turn that is running."""
        async with self._lock:
            await self._recording.see_turn(turn_id)

    async def end_turn(self, turn_id: str) -> None:
        """Record what there is after a turn. What comes later is not part of it.

        Only a turn that began here can end here: when the host has been away meanwhile, what there is now is
        not what there was when the turn ended.
        """
        async with self._lock:
            await self._recording.end_turn(turn_id)

    async def forget_turn(self, turn_id: str) -> None:
        """Drop what was recorded for a turn, and delete what only it needed."""
        if self._noted is not None:
            await self._noted.forget_turn(turn_id)
        if self._elsewhere is not None:
            await self._elsewhere.forget_turn(turn_id)
        async with self._lock:
            await self._recording.forget_turn(turn_id)

    async def adopt(self, git: Path, noted: Path, turn_ids: Sequence[str]) -> None:
        """Take over what another session recorded of its turns, as far as it can be shown here.

        Args:
            git: The private side of that session.
            noted: Where its notes are kept.
            turn_ids: The turns.

        Raises:
            GitFailed: That could not be read, or not be recorded.
        """
        async with self._lock:
            await self._trees.adopt(git, turn_ids)
        if self._noted is not None:
            others = [turn_id for turn_id in turn_ids if not self._trees.has(f"turn/{turn_id}")]
            await self._noted.adopt(noted, others)

    async def forget(self) -> None:
        """Delete everything that was recorded. Nothing can be asked afterwards."""
        async with self._lock:
            await asyncio.to_thread(shutil.rmtree, self._mirror.folder, ignore_errors=True)

    # -- what changed --------------------------------------------------------------------------------------

    def is_live(self, which: Which) -> bool:
        """Whether a changeset follows the files as they change; a turn does only while it is running."""
        return self._telling.is_live(which)

    async def compute(self, which: Which) -> Changes:
        """What changed.

        Raises:
            ProtocolError: Nothing was recorded for that turn, or for the session.
            GitFailed: git could not tell.
        """
        async with self._lock:
            found = (await self._telling.all_of((which,)))[which]
        if isinstance(found, SeraiError):
            raise found
        return found

    async def compute_all(self, which: Iterable[Which]) -> dict[Which, Outcome]:
        """The same for several changesets, with one look at the files. What is wrong with one is its own.

        Raises:
            GitFailed: git could not look at the files, or takes too long.
        """
        async with self._lock:
            return await self._telling.all_of(tuple(which))

    # -- content -------------------------------------------------------------------------------------------

    async def read(self, uri: URI) -> bytes:
        """The content that a change refers to: kept, or a file of the working directory as it is now.

        Raises:
            ProtocolError: There is no such content.
        """
        path = path_below(self.directory, uri)
        if path is not None:
            size = self._limits.file_bytes
            return await asyncio.to_thread(read_now, self.place, path, size, self._closed)
        address = kept_at(uri, self.session_id)
        if self._noted is not None and await asyncio.to_thread(self._noted.keeps, address.content):
            return await self._noted.read(uri)
        async with self._lock:
            await self._scanner.renew()
            try:
                head = None if address.tree else await head_tree(self._mirror.git, self.repository)
                return await self._trees.read(address, head)
            except GitFailed as error:
                if self._elsewhere is not None:
                    return await self._elsewhere.read(address)
                raise ProtocolError(error.message, number=AhpErrorCode.CONTENT_NOT_FOUND) from None

    # -- operations ----------------------------------------------------------------------------------------

    async def stage(self, changes: Sequence[Change]) -> dict[str, str]:
        """Put files, as they are now, into the person's index. Returns those that were not, and why.

        Raises:
            GitFailed: The index could not be written.
        """
        async with self._lock:
            await see_same_repository(self._mirror.git, self.repository, self.directory)
            await self._scanner.renew()
            refused = await of_the_host(self._mirror, changes)
            refused |= await filtered(self._mirror, changes)
            await stage(self._mirror, [change for change in changes if change.path not in refused])
            return refused

    async def discard(
        self, which: Which, paths: Collection[str] | None
    ) -> tuple[list[Change], dict[str, str]]:
        """Bring files back to what they were before a changeset; a file that is new in it is deleted.

        For uncommitted changes the person's index goes back too; if all are meant, also where something is
        only staged. What is discarded stays in the private side for a while. No other file is touched, nor
        one that git ignores by now, nor one that was there before, or may have been, and is not recorded, nor
        one that was written since it was looked at.

        Args:
            which: The changeset.
            paths: The files, by the path that they have now, or had; all when absent.

        Returns:
            The changes that were discarded, and the paths of those that were not, with the reason.

        Raises:
            GitFailed: The earlier content could not be read, or the index not be written; nothing was done.
        """
        if self._noted is not None and self._telling.is_noted(which):
            return await self._noted.discard(which, paths)
        async with self._lock:
            await see_same_repository(self._mirror.git, self.repository, self.directory)
            await self._scanner.renew(force=True)  # a new file is deleted only if git sees it now
            head = await self._telling.look((which,))
            found = await self._telling.tried(which, head)
            if isinstance(found, SeraiError):
                raise found
            chosen = [change for change in found.changes if paths is None or change.path in paths]
            refused = await filtered(self._mirror, chosen)
            is_uncommitted = which.kind is ChangesetKind.UNCOMMITTED
            if is_uncommitted:
                refused |= await self._lingering.refused(chosen)
            elif not self.is_live(which):
                refused |= await self._telling.changed_since(which, chosen)
            prepared = await self._preparing.prepare(
                base_of(which),
                [change for change in chosen if change.path not in refused],
                found.start or head,
                await self._telling.since_session() if is_uncommitted else found.changes,
                is_uncommitted=is_uncommitted,
            )
            kept = {self.repository.full(path) for change in chosen for path in change.paths}
            kept |= {one.path for one in self._scanner.left_out}
            done, in_the_way = await discard(
                self._mirror,
                prepared.changes,
                found.start or head,
                quiet=self._quiet,
                unstages=is_uncommitted,
                also=lambda path: paths is None and path not in kept,
                plain=prepared.plain,
                keeps=prepared.keeps,
                folders=prepared.folders,
            )
            return done, refused | prepared.refused | in_the_way
