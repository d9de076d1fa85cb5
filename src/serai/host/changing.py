"""What changes in one session's folder: recorded around its turns, counted, and shown to those who follow it.

Nothing here may stop a turn. What cannot be recorded or computed is told in the changeset that lacks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import shutil
import time
from collections.abc import AsyncGenerator, Collection, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from serai.ahp import actions as a
from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import URI, ErrorInfo
from serai.changes.catalogue import SESSION, UNCOMMITTED, ChangesetKind, Which, summaries, uri_of
from serai.changes.comparing import Counts
from serai.changes.noted import NotedChanges
from serai.changes.opening import SessionChanges, open_changes
from serai.changes.operations import operations_for
from serai.changes.records import Changes, told
from serai.changes.showing import show
from serai.errors import FileUnreadable, GitTimedOut, ProtocolError, SeraiError
from serai.host.changeset_channel import MOST_FILES, ChangesetChannel
from serai.host.changesets import changes_folder, id_of_session
from serai.host.folder_watch import FolderWatch, places_to_watch
from serai.host.project import directory_of

if TYPE_CHECKING:
    from serai.host.session import Session

__all__ = ["Changing"]

_log = logging.getLogger(__name__)

_GATHER = 0.3
"""So long changes of files are gathered before they are looked at, in seconds."""
_SHARE = 4
"""After a look there is a pause of so many times its length, so that looking takes a fifth of the time."""
_PATIENCE = 10.0
"""So long a turn waits until it is recorded what there is before it, in seconds."""
_STOPPING = 2.0
"""So long an agent that was cancelled may take to stop, and a recording to end when the host does."""
_WATCHED_WITHIN = 0.1
"""So long the first look waits for the watch. When that takes longer, there is another look."""

_Found: TypeAlias = dict[Which, Changes | ErrorInfo]
_FAILURES = (SeraiError, OSError)


class Changing:
    """The changes in the folder of one session. Sessions without a folder of this machine have none."""

    def __init__(self, session: Session) -> None:
        head = session.live.head
        self._session = session
        self._host = session.host
        self._id = id_of_session(session.uri)
        self._directory = directory_of(head.summary.working_directory)
        self._changes: SessionChanges | None = None
        self._opening: asyncio.Task[None] | None = None
        self._may_begin = not head.turns and session.live.turn is None
        """Whether nothing has happened yet that would belong into the session's changeset."""
        self._missed: dict[str, ErrorInfo] = {}
        """Why it was not recorded what there was before a turn."""
        self._recording: set[asyncio.Task[None]] = set()
        self._looking: asyncio.Task[None] | None = None
        self._is_stale = False
        self._hurry = asyncio.Event()
        self._rested_at = 0.0
        self._channels: dict[URI, ChangesetChannel] = {}
        self._watch: FolderWatch | None = None
        self._is_attending = False
        self._looked_unwatched = False
        self._closed = False
        self._ended = False

    @property
    def is_busy(self) -> bool:
        """Whether something is being recorded or looked at."""
        return bool(self._recording or self._looking or self._opening or self._channels)

    # -- opening -------------------------------------------------------------------------------------------

    async def opened(self) -> SessionChanges:
        """The changes, as `serai.changes` has them. Cancelling does not stop others who wait for them.

        Raises:
            SeraiError: There is no folder, or the changes cannot be recorded anywhere.
        """
        if self._ended:
            raise FileUnreadable(f"the session {self._session.uri} is closed")
        if self._changes is None:
            if self._opening is None:
                self._opening = asyncio.create_task(self._open(), name=f"changes of {self._session.uri}")
                self._opening.add_done_callback(self._has_opened)
            await asyncio.shield(self._opening)
        if self._changes is None:
            raise AssertionError
        return self._changes

    def _has_opened(self, task: asyncio.Task[None]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # those who waited for it may have gone

    async def _open(self) -> None:
        directory = self._directory
        if directory is None or not await asyncio.to_thread(directory.is_dir):
            raise FileUnreadable(f"the working directory {directory or ''} is not there")
        changes = await open_changes(
            str(directory),
            self._id,
            folder=changes_folder(self._host.home, self._session.uri),
            trusted=lambda: self._is_trusted(directory),
        )
        if self._may_begin:
            await changes.begin_session()
        elif turns := self._session.live.head.turns:
            last = turns[-1].id
            if changes.has_git and changes.is_live(Which(ChangesetKind.TURN, last)):
                await changes.end_turn(last)  # the host was stopped before that was recorded
        self._changes = changes

    def _is_trusted(self, directory: Path) -> bool:
        try:
            return self._host.is_trusted(directory)
        except SeraiError:
            return False

    # -- the session and its turns -------------------------------------------------------------------------

    def begin(self) -> None:
        """The session is new: record what it begins with."""
        self._may_begin = True
        if self._directory is not None:
            self.look_again()

    async def turn_begins(self, turn_id: str) -> None:
        """Record what there is before a turn. It returns, and in time, whatever happens."""
        if self._directory is None:
            return
        try:
            async with asyncio.timeout(_PATIENCE):
                if self._recording:
                    await asyncio.wait(self._recording)  # the end of the turn before this one
                changes = await self.opened()
                await changes.begin_turn(turn_id)
        except TimeoutError:
            problem = f"it took more than {_PATIENCE:g} s to record what there was before this turn"
            self._missed[turn_id] = self._told(GitTimedOut(problem))
        except _FAILURES as error:
            self._missed[turn_id] = self._told(error)
        finally:
            self._may_begin = False

    def turn_ended(self, turn_id: str, task: asyncio.Task[None] | None = None) -> None:
        """A turn is over, or was taken back: record what there is now.

        Args:
            turn_id: The turn.
            task: What answers it; it may still be stopping.
        """
        if self._directory is not None:
            self._record(self._end(turn_id, task))

    async def _end(self, turn_id: str, task: asyncio.Task[None] | None) -> None:
        if task is not None:
            await asyncio.wait({task}, timeout=_STOPPING)
        changes = await self.opened()
        if self._knows(turn_id):
            await changes.end_turn(turn_id)
        else:
            await changes.forget_turn(turn_id)

    def truncated(self, turn_ids: Collection[str]) -> None:
        """Turns were taken back: forget what was recorded for them."""
        if self._directory is not None and turn_ids:
            self._record(self._forget_turns(turn_ids))

    async def _forget_turns(self, turn_ids: Collection[str]) -> None:
        changes = await self.opened()
        for turn_id in turn_ids:
            self._missed.pop(turn_id, None)
            await changes.forget_turn(turn_id)

    def _record(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._recorded(work))
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    async def _recorded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except _FAILURES as error:
            _log.debug("a turn of %s was not recorded: %s", self._session.uri, error)
        self.look_again()

    @contextlib.asynccontextmanager
    async def editing(self, turn_id: str, paths: Iterable[str | Path]) -> AsyncGenerator[None]:
        """Note files before and after a block that may change them, where git does not see that by itself."""
        names = [str(path) for path in paths]
        await self._note(turn_id, names, before=True)
        try:
            yield
        finally:
            await self._note(turn_id, names, before=False)

    async def _note(self, turn_id: str, paths: list[str], *, before: bool) -> None:
        if self._directory is None:
            return
        try:
            changes = await self.opened()
            if isinstance(changes, NotedChanges):
                note = changes.note_before if before else changes.note_after
                for path in paths:
                    await note(turn_id, path)
        except _FAILURES as error:
            _log.warning("an edit in %s is not among its changes: %s", self._session.uri, self._told(error))
        if not before and self._is_followed:
            self.look_again(_GATHER)

    def _knows(self, turn_id: str) -> bool:
        session = self._session
        turn = session.live.turn
        return session.kept.turn_at(turn_id) is not None or (turn is not None and turn.id == turn_id)

    # -- followers -----------------------------------------------------------------------------------------

    @property
    def _is_followed(self) -> bool:
        return bool(self._channels) or self._host.journal.subscriptions.is_followed(self._session.uri)

    def attend(self) -> None:
        """Watch the folder while someone follows the session. To be called when that may have changed."""
        wanted = self._directory is not None and not self._closed and self._is_followed
        if wanted == self._is_attending:
            return
        self._is_attending = wanted
        if wanted:
            self.look_again()
        else:
            self._unwatch()

    async def offers(self, which: Which) -> bool:
        """Whether the session has such a changeset."""
        if self._directory is None or (which.turn_id is not None and not self._knows(which.turn_id)):
            return False
        listed = self._session.live.head.summary.changesets
        if self._changes is None and listed is None:
            try:
                await self.opened()
            except _FAILURES:
                return False
        return not self._closed and (which != UNCOMMITTED or self._has_git())

    def _has_git(self) -> bool:
        """Whether the folder is in a repository, or was when that was last known."""
        if self._changes is not None:
            return self._changes.has_git
        template = uri_of(self._id, UNCOMMITTED)
        return any(one.uri_template == template for one in self._session.live.head.summary.changesets or ())

    async def follow(self, uri: URI, which: Which) -> ChangesetChannel | None:
        """Show a changeset from now on; `None` when there is none. Channels know when it is left."""
        if not await self.offers(which):
            return None
        release = self._host.hold([self._session.uri])

        def left(channel: ChangesetChannel) -> None:
            self._channels.pop(uri, None)
            self._host.channels.remove(channel.uri)
            release()
            self.attend()

        channel = self._channels[uri] = ChangesetChannel(self._host, uri, which, left)
        channel.offer(operations_for(which.kind, has_git=self._has_git()))
        self._is_attending = True
        self.look_again()
        return channel

    def _unwatch(self) -> None:
        watch, self._watch = self._watch, None
        if watch is not None:
            self._host.run(watch.close())

    async def _follow_files(self, changes: SessionChanges) -> None:
        """Watch what is to be watched, if anyone wants to know."""
        places = await asyncio.to_thread(places_to_watch, changes, self._host.home)
        if self._closed or not self._is_followed:
            return
        if self._watch is None or self._watch.places != places:
            self._unwatch()
            self._looked_unwatched = False
            self._watch = FolderWatch(
                self._host.watches, places, self._is_watched, lambda: self.look_again(_GATHER)
            )
        if not self._watch.is_ready.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_WATCHED_WITHIN):
                    await self._watch.is_ready.wait()

    def _is_watched(self) -> None:
        if self._looked_unwatched:
            self.look_again()

    # -- looking -------------------------------------------------------------------------------------------

    def look_again(self, delay: float = 0.0) -> None:
        """Something may have changed: look, once for all that happens within the delay."""
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
            _log.exception("the changes of %s cannot be shown", self._session.uri)
        finally:
            self._looking = None

    async def _look(self) -> None:
        try:
            changes = await self.opened()
        except _FAILURES as error:
            self._show_problem(self._told(error))
            return
        if self._is_followed:
            await self._follow_files(changes)
        self._looked_unwatched = self._watch is None or not self._watch.is_ready.is_set()
        listed = [UNCOMMITTED, SESSION] if changes.has_git else [SESSION]
        shown = [one for one in self._channels.values() if not (changes.has_git and one.is_final)]
        found = await self._computed(changes, list(dict.fromkeys([*listed, *(one.which for one in shown)])))
        self._list(found, has_git=changes.has_git)
        for channel in shown:
            await self._show(channel, changes, found[channel.which])

    async def _computed(self, changes: SessionChanges, wanted: list[Which]) -> _Found:
        found: _Found = {}
        try:
            for which in wanted:
                if not changes.has_git and which.turn_id is not None:
                    await changes.begin_turn(which.turn_id)  # a turn in which nothing was noted is no error
            found.update(await changes.compute_all(wanted))
        except ProtocolError:  # one of them was not recorded: the others are known all the same
            for which in wanted:
                try:
                    found[which] = await changes.compute(which)
                except _FAILURES as error:
                    found[which] = self._missed.get(which.turn_id or "") or self._told(error)
        except _FAILURES as error:
            return dict.fromkeys(wanted, self._told(error))
        return found

    async def _show(
        self, channel: ChangesetChannel, changes: SessionChanges, found: Changes | ErrorInfo
    ) -> None:
        channel.offer(operations_for(channel.which.kind, has_git=changes.has_git))
        if isinstance(found, ErrorInfo):
            channel.fail(found)
            return
        is_live = changes.is_live(channel.which)
        chosen = found.changes[:MOST_FILES]
        files = [show(change, changes.directory, self._id, live=is_live) for change in chosen]
        await channel.show(files, final=not is_live)

    def _show_problem(self, problem: ErrorInfo) -> None:
        """The folder is gone, for instance. A session that never had changesets is not told of any."""
        if self._session.live.head.summary.changesets is not None:
            has_git = self._has_git()
            self._list({UNCOMMITTED: problem, SESSION: problem}, has_git=has_git)
        for channel in self._channels.values():
            channel.fail(problem)

    def _list(self, found: _Found, *, has_git: bool) -> None:
        """Tell which changesets there are, if that is news."""
        counts: dict[Which, Counts] = {}
        notes: dict[Which, str | None] = {}
        for which, one in found.items():
            if isinstance(one, ErrorInfo):
                notes[which] = one.message
                continue
            counts[which] = Counts(
                len(one.changes),
                sum(change.added or 0 for change in one.changes),
                sum(change.removed or 0 for change in one.changes),
            )
            notes[which] = self._note_on(one)
        catalogue = summaries(self._id, has_git=has_git, counts=counts, notes=notes)
        catalogue = self._host.redactor.redact_value(catalogue, observed=True)
        if not self._closed and catalogue != self._session.live.head.summary.changesets:
            self._session.act(a.SessionChangesetsChangedAction(changesets=catalogue))

    def _note_on(self, changes: Changes) -> str | None:
        more = len(changes.changes) - MOST_FILES
        why = self._changes.why if isinstance(self._changes, NotedChanges) else None
        said = [
            f"What tools edited, since {why}" if why else None,
            f"{more:,} more files changed than are shown" if more > 0 else None,
            told(changes.left_out),
        ]
        return ". ".join(filter(None, said)) or None

    def _told(self, error: SeraiError | OSError) -> ErrorInfo:
        code = error.code if isinstance(error, SeraiError) else "file_unreadable"
        if isinstance(error, ProtocolError) and error.number == AhpErrorCode.NOT_FOUND:
            code = "not_recorded"
        return ErrorInfo(error_type=code, message=self._host.redactor.redact(str(error)))

    # -- ending --------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Look and watch no more. What is being recorded may end first, for a short while."""
        self._closed = True
        if self._recording:
            await asyncio.wait(self._recording, timeout=_STOPPING)
        self._ended = True
        tasks = [task for task in (*self._recording, self._looking, self._opening) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        watch, self._watch = self._watch, None
        if watch is not None:
            await watch.close()

    async def forget(self) -> None:
        """The session was disposed of, and is closed: delete what was recorded for it."""
        for channel in list(self._channels.values()):
            channel.left()
        folder = changes_folder(self._host.home, self._session.uri)
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)
