"""The changes in one session's folder as they happen: counted for all, in full for followers."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import Coroutine
from typing import Any, TypeAlias, TypeVar

from serai.ahp import actions as a
from serai.ahp.commands import SessionForkSource
from serai.ahp.types import URI, ErrorInfo
from serai.changes.diff import Changes, left_out_note
from serai.changes.folder import FolderChanges, Place, place_of
from serai.changes.operations import operations_for
from serai.changes.view import SESSION, UNCOMMITTED, Counts, Which, show, summaries, uri_of
from serai.errors import FolderMoved, GitUnavailable, SeraiError, SessionGone
from serai.host.changes.bases import FAILURES, STOPPING, Bases, error_for_followers
from serai.host.changes.changesets import (
    MOST_FILES,
    ChangesetChannel,
    Changesets,
    changes_folder,
    id_of_session,
)
from serai.host.changes.folder_watch import ChangesWatch
from serai.host.session.core import SessionCore

T = TypeVar("T")

_log = logging.getLogger(__name__)

_GATHER = 0.3
"""Seconds during which changes of files are gathered before a look."""
_SHARE = 4
"""Length of the pause after a look, in lengths of the look: looking takes a fifth of the time."""

_Found: TypeAlias = dict[Which, Changes | ErrorInfo]


class SessionChanges:
    """The changes in the folder of one session. Sessions without a folder of this machine have none."""

    def __init__(self, session: SessionCore, changesets: Changesets) -> None:
        self.session = session
        self.changesets = changesets
        self._host = changesets.host
        self.bases = Bases(self)
        self._id = id_of_session(session.uri)
        self.operations: set[asyncio.Task[Any]] = set()
        """The running operations of changesets."""
        self._looking: asyncio.Task[None] | None = None
        self._is_stale = False
        self._hurry = asyncio.Event()
        self._rested_at = 0.0
        self._channels: dict[URI, ChangesetChannel] = {}
        self._looked_at: FolderChanges | None = None
        self._can_undo = False
        self._watch: ChangesWatch | None = None
        self._is_attending = False
        self._closed = False

    @property
    def is_busy(self) -> bool:
        """True while something is recorded, looked at, followed or done."""
        return bool(self._looking or self._channels or self.operations or self.bases.is_busy)

    def begin(self, forked_from: SessionForkSource | None) -> None:
        """Begin the records of a new session, and list its changesets."""
        self.bases.begin(forked_from)
        if self.bases.directory is not None:
            self.look_again()

    def turns_taken_back(self) -> None:
        """Close the changesets of turns that the session no longer has."""
        for channel in list(self._channels.values()):
            if channel.which.turn_id is not None and not self.bases.knows(channel.which.turn_id):
                channel.take_back()

    # -- followers -----------------------------------------------------------------------------------------

    @property
    def _is_followed(self) -> bool:
        return bool(self._channels) or self._host.journal.subscriptions.is_followed(self.session.uri)

    def attend(self) -> None:
        """Watch the folder while someone follows the session. Call this when that may have changed."""
        wanted = self.bases.directory is not None and not self._closed and self._is_followed
        if wanted == self._is_attending:
            return
        self._is_attending = wanted
        if wanted:
            self.look_again()
        else:
            self._unwatch()

    async def offers(self, which: Which) -> bool:
        """Tell whether the session has such a changeset."""
        is_unknown = which.turn_id is not None and not self.bases.knows(which.turn_id)
        if is_unknown or self.bases.directory is None:
            return False
        listed = self.session.live.head.summary.changesets
        if self.bases.changes is None and listed is None:
            try:
                await self.bases.current()
            except GitUnavailable:
                return which != UNCOMMITTED
            except FAILURES:
                return False
        return not self._closed and (which != UNCOMMITTED or self._has_git())

    def _has_git(self) -> bool:
        """Tell whether the folder is in a repository, or was when that was last known."""
        if self.bases.changes is not None:
            return self.bases.changes.has_git
        template = uri_of(self._id, UNCOMMITTED)
        return any(one.uri_template == template for one in self.session.live.head.summary.changesets or ())

    async def follow(self, uri: URI, which: Which) -> ChangesetChannel | None:
        """Open a changeset for its followers; return `None` when there is none."""
        if not await self.offers(which):
            return None
        channel = self._channels[uri] = ChangesetChannel(self._host, uri, which, self)
        self._offer(channel)
        self._is_attending = True
        self.look_again()
        return channel

    def left(self, channel: ChangesetChannel) -> None:
        """Forget a changeset that nobody follows any more."""
        self._channels.pop(channel.uri, None)
        self._host.channels.remove(channel.uri)
        self.attend()

    def _unwatch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            self._host.run(watch.close())

    async def _follow_files(self, here: Place | None, changes: FolderChanges | None = None) -> None:
        """Watch the folder, if anyone follows."""
        if self._closed or not self._is_followed:
            return
        if self._watch is None or self._watch.changes is not changes or self._watch.has_ended:
            self._unwatch()
            host, directory = self._host, str(self.bases.directory)
            self._watch = ChangesWatch(
                host.watches, directory, here, changes, host.home, lambda: self.look_again(_GATHER)
            )
            await self._watch.begin()

    # -- looking -------------------------------------------------------------------------------------------

    def look_again(self, delay: float = 0.0) -> None:
        """Look at the files, once for all changes within the delay."""
        if self._closed:
            return
        self._is_stale = True
        if not delay:
            self._hurry.set()
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_while_stale(delay))

    async def _look_while_stale(self, delay: float) -> None:
        try:
            while self._is_stale:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(max(delay, self._rested_at - time.monotonic())):
                        await self._hurry.wait()
                self._hurry.clear()
                self._is_stale = False
                begun = time.monotonic()
                await self._look()
                ended = time.monotonic()
                self._rested_at = ended + _SHARE * (ended - begun)
                delay = _GATHER
        except Exception:  # noqa: BLE001 - whatever it is, it is not the session's fault
            _log.exception("the changes of %s cannot be shown", self.session.uri)
        finally:
            self._looking = None

    async def _look(self) -> None:
        here = await asyncio.to_thread(place_of, str(self.bases.directory or ""))
        try:
            changes = await self.bases.current()
        except FAILURES as error:
            self._show_problem(error)
            await self._follow_files(here)
            return
        is_new = changes is not self._looked_at
        self._looked_at = changes
        await self._follow_files(here, changes)
        listed = [UNCOMMITTED, SESSION] if changes.has_git else [SESSION]
        shown = [one for one in self._channels.values() if is_new or not one.is_final]
        found = await self._computed(changes, list(dict.fromkeys([*listed, *(one.which for one in shown)])))
        self._can_undo = await asyncio.to_thread(changes.last_discard) is not None
        self._list({which: found[which] for which in listed}, has_git=changes.has_git)
        for channel in self._channels.values():
            self._offer(channel)
        for channel in shown:
            one = found[channel.which]
            if isinstance(one, ErrorInfo):
                channel.fail(one)
            else:
                await self._show(channel, changes.directory, one)

    async def _computed(self, changes: FolderChanges, wanted: list[Which]) -> _Found:
        try:
            found = await changes.compute_all(wanted)
        except FAILURES as error:
            return dict.fromkeys(wanted, error_for_followers(error, self._host.redactor))
        return {
            which: self.bases.missed.get(which.turn_id or "")
            or (one if isinstance(one, Changes) else error_for_followers(one, self._host.redactor))
            for which, one in found.items()
        }

    def _offer(self, channel: ChangesetChannel) -> None:
        changes = self.bases.changes
        channel.offer(
            operations_for(
                channel.which.kind,
                has_git=self._has_git(),
                has_commit=changes is None or changes.has_commit,
                can_undo=self._can_undo,
            )
        )

    async def _show(self, channel: ChangesetChannel, directory: str, changes: Changes) -> None:
        chosen = changes.changes[:MOST_FILES]
        files = [show(change, directory, self._id, live=not changes.settled) for change in chosen]
        await channel.show(files, final=changes.settled)

    def _show_problem(self, error: SeraiError | OSError) -> None:
        """Show an error of the folder, or of git. A session that never had a folder shows none."""
        problem = error_for_followers(error, self._host.redactor)
        if self.session.live.head.summary.changesets is not None or isinstance(error, GitUnavailable):
            self._list({UNCOMMITTED: problem, SESSION: problem}, has_git=self._has_git())
        for channel in self._channels.values():
            channel.fail(problem)

    def _list(self, found: _Found, *, has_git: bool) -> None:
        """Publish the list of changesets, if it has changed."""
        known = {which: _counted(one) for which, one in found.items()}
        catalogue = summaries(self._id, known, has_git=has_git)
        catalogue = self._host.redactor.redact_value(catalogue, observed=True)
        if not self._closed and catalogue != self.session.live.head.summary.changesets:
            self.session.act(a.SessionChangesetsChangedAction(changesets=catalogue))

    # -- operations ----------------------------------------------------------------------------------------

    async def current_for_writing(self) -> FolderChanges:
        """Return the changes for an operation that writes.

        Raises:
            FolderMoved: A turn is running, and the folder is another one than it began in.
            SeraiError: There is no folder, or no git.
        """
        await self.bases.settled()
        changes = await self.bases.current()
        place = await asyncio.to_thread(place_of, changes.directory)
        if place is None or place[:2] != changes.place[:2]:
            raise FolderMoved("the folder is another one by now", remedy="Try again when no turn is running")
        return changes

    async def operate(self, work: Coroutine[Any, Any, T]) -> T:
        """Run an operation. Cancelling this does not stop the operation.

        It may write a person's files: half of it would be worse than all or nothing.

        Raises:
            SessionGone: The session was closed, and did not wait for it any longer.
        """
        task = asyncio.create_task(work)
        self.operations.add(task)
        task.add_done_callback(self._is_done)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise SessionGone(f"the session {self.session.uri} is closed") from None
            raise

    def _is_done(self, task: asyncio.Task[Any]) -> None:
        self.operations.discard(task)
        if not task.cancelled():
            task.exception()  # whoever asked for it may have gone
        self.look_again()  # also one that failed may have done something

    # -- ending --------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Stop looking and watching. Records and operations have a short time to end.

        An operation that takes longer is stopped. It leaves each file as it was, or as it was to be.
        """
        self._closed = True
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)
        await self._end_operations()
        await self.bases.close()
        watch, self._watch = self._watch, None
        if watch is not None:
            await watch.close()

    async def _end_operations(self) -> None:
        operations = [*self.operations]
        if operations:
            _, late = await asyncio.wait(operations, timeout=STOPPING)
            for task in late:
                task.cancel()
            await asyncio.gather(*late, return_exceptions=True)

    async def forget(self) -> None:
        """Delete the records of a session that was disposed of."""
        for channel in list(self._channels.values()):
            channel.left()
        folder = changes_folder(self._host.home, self.session.uri)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _counted(found: Changes | ErrorInfo) -> tuple[Counts, str | None]:
    """Count the changes, and describe what is left out."""
    if isinstance(found, ErrorInfo):
        return Counts(None, None, None), found.message
    changes = found.changes
    more = len(changes) - MOST_FILES
    said = [
        f"{more:,} more files changed than are shown" if more > 0 else None,
        found.lacks,
        left_out_note(found.left_out),
    ]
    added, removed = sum(one.added or 0 for one in changes), sum(one.removed or 0 for one in changes)
    return Counts(len(changes), added, removed), ". ".join(filter(None, said)) or None
