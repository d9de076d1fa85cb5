"""What there was when a session began, and before and after each of its turns: recorded, to compare with.

Nothing here may stop a turn. Why something was not recorded is kept, and told in the changeset that lacks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable, Collection, Coroutine, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from serai.ahp.commands import SessionForkSource
from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import ErrorInfo
from serai.changes.noted import NotedChanges
from serai.changes.opening import SessionChanges, inherit, open_changes
from serai.changes.tracked import TrackedChanges
from serai.changes.whereabouts import Whereabouts, may_be_tracked, whereabouts
from serai.errors import FileUnreadable, GitTimedOut, ProtocolError, SeraiError, SessionGone
from serai.host.changes.changesets import changes_folder, id_of_session
from serai.host.changes.edit import Edit
from serai.host.changes.seen import look_at
from serai.host.project import directory_of
from serai.redact import Redactor

if TYPE_CHECKING:
    from serai.host.session.session import Session

__all__ = ["FAILURES", "STOPPING", "Bases", "told_of"]

_log = logging.getLogger(__name__)

FAILURES = (SeraiError, OSError)
"""What can be the matter with a folder, or with git."""

_PATIENCE = 10.0
"""So long a turn waits until it is recorded what there is before it, in seconds,"""
_IMPATIENCE = 1.0
"""and so long after that was not enough, until it is again."""
GONE = "the folder is gone"
STOPPING = 2.0
"""So long an agent that was cancelled may take to stop, and what is under way to end when the host does."""


def told_of(error: SeraiError | OSError, redactor: Redactor) -> ErrorInfo:
    """What is the matter, for those who follow a changeset."""
    code = error.code if isinstance(error, SeraiError) else FileUnreadable.code
    if isinstance(error, ProtocolError) and error.number == AhpErrorCode.NOT_FOUND:
        code = "not_recorded"
    return ErrorInfo(error_type=code, message=redactor.redact(str(error)))


async def _stopped(task: asyncio.Task[None] | None) -> None:
    """Wait for an agent that may still be stopping, not for long."""
    if task is not None:
        await asyncio.wait({task}, timeout=STOPPING)


class Bases:
    """What was recorded of the folder of one session.

    Args:
        session: The session. One without a folder of this machine has nothing recorded.
        recorded: Is called when a turn has ended, or was taken back, and that has been recorded.
        edited: Is called when a tool has edited something.
        taken_back: Is called when the session no longer has some turns.
    """

    def __init__(
        self,
        session: Session,
        *,
        recorded: Callable[[], None],
        edited: Callable[[], None],
        taken_back: Callable[[], None],
    ) -> None:
        head = session.live.head
        self.directory = directory_of(head.summary.working_directory)
        self.changes: SessionChanges | None = None
        """What `opened` has opened."""
        self.missed: dict[str, ErrorInfo] = {}
        """Why it was not recorded what there was before a turn, by its id."""
        self.has_lost = False
        """Whether the folder was away, or its repository is: something else may come in its place."""
        self._session = session
        self._host = session.host
        self._recorded = recorded
        self._edited = edited
        self._taken_back = taken_back
        self._opening: asyncio.Task[SessionChanges] | None = None
        self._renewing = asyncio.Lock()
        self._whereabouts: Whereabouts | None = None
        """Where the folder was when the changes were opened."""
        self._begun: set[str] = set()
        """The turns that began in these changes: there they end, wherever the folder is by then."""
        self._may_begin = not head.turns and session.live.turn is None
        """Whether nothing has happened yet that would belong into the session's changeset."""
        self._forked_from: SessionForkSource | None = None
        self._patience = _PATIENCE
        self._recording: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def is_busy(self) -> bool:
        """Whether something is being recorded."""
        return bool(self._recording or self._opening)

    # -- opening -------------------------------------------------------------------------------------------

    async def opened(self) -> SessionChanges:
        """The changes, as `serai.changes` has them. Cancelling does not stop others who wait for them.

        Raises:
            SeraiError: There is no folder, or the changes cannot be recorded anywhere.
        """
        if self._closed:
            raise self._gone()
        if self.changes is not None:
            return self.changes
        if self._opening is None:
            self._opening = asyncio.create_task(self._open(), name=f"changes of {self._session.uri}")
            self._opening.add_done_callback(self._has_opened)
        opening = self._opening
        try:
            return await asyncio.shield(opening)
        except asyncio.CancelledError:
            if opening.cancelled():
                raise self._gone() from None
            raise

    def _gone(self) -> SessionGone:
        return SessionGone(f"the session {self._session.uri} is closed")

    def _has_opened(self, task: asyncio.Task[SessionChanges]) -> None:
        self._opening = None
        if not task.cancelled():
            task.exception()  # those who waited for it may have gone

    async def _open(self) -> SessionChanges:
        directory = self.directory
        if directory is None or not await asyncio.to_thread(directory.is_dir):
            raise FileUnreadable(f"the working directory {directory or ''} is not there")
        changes = await self._opened_now(directory)
        if self._may_begin:
            await changes.begin_session()
        if self._forked_from is not None:
            await self._inherit(changes, self._forked_from)
            self._forked_from = None
        self.changes = changes
        return changes

    async def _inherit(self, changes: SessionChanges, fork: SessionForkSource) -> None:
        """Take over what was recorded of the turns that this session has from another one."""
        turns = [turn.id for turn in self._session.live.head.turns]
        inherited = turns[: turns.index(fork.turn_id) + 1] if fork.turn_id in turns else []
        release = self._host.sessions.hold([fork.session])
        try:
            source = await self._host.sessions.bring(fork.session)
            if source is not None:
                await source.changing.bases.settled()
            await inherit(changes, changes_folder(self._host.home, fork.session), inherited)
        except FAILURES as error:
            self._log_unrecorded(error)
        finally:
            release()

    async def settled(self) -> None:
        """Wait until what is being recorded is recorded, not for long."""
        if self._recording:
            await asyncio.wait(self._recording, timeout=_PATIENCE / 2)  # a turn may be waiting for this

    async def current(self) -> SessionChanges:
        """The same as `opened`; but when the repository of the folder is gone, by the means that are left.

        When one of them has come back they are opened anew, and when the folder is in another repository, or
        is another one, since it is a link for instance; but not within a turn.

        Raises:
            SeraiError: There is no folder, or the changes cannot be recorded anywhere.
        """
        async with self._renewing:
            changes = await self.opened()
            seen = await asyncio.to_thread(look_at, changes)
            self.has_lost |= seen.is_gone or not seen.is_there
            if seen.leads_nowhere:
                raise FileUnreadable(GONE)
            has_moved = seen.is_there and seen.whereabouts != self._whereabouts and not self._begun
            if seen.is_gone or has_moved:
                if self.changes is changes:
                    self.changes = None
                changes = await self.opened()
                self.has_lost = not changes.has_git
            elif seen.is_there and self.has_lost and self._session.live.turn is None:
                changes = await self._with_git(changes)
        return changes

    async def is_in_place(self, changes: SessionChanges) -> bool:
        """Whether the folder is the one that was opened, and in the same repository.

        Raises:
            FileUnreadable: There is none.
        """
        now = await asyncio.to_thread(whereabouts, changes.directory)
        if now.place.number is None:
            raise FileUnreadable(GONE)
        return now.digest(has_git=changes.has_git) == self.digest

    @property
    def digest(self) -> str:
        """Stands for the folder that was opened last (`Whereabouts.digest`); nothing if none was."""
        has_git = self.changes is not None and self.changes.has_git
        return self._whereabouts.digest(has_git=has_git) if self._whereabouts is not None else ""

    async def _opened_now(self, directory: Path) -> SessionChanges:
        place = await asyncio.to_thread(whereabouts, str(directory))
        changes = await open_changes(
            str(directory),
            id_of_session(self._session.uri),
            folder=changes_folder(self._host.home, self._session.uri),
            trusted=lambda: self._is_trusted(directory),
            home=self._host.home,
        )
        self._whereabouts = place
        return changes

    async def _notice_git(self) -> SessionChanges:
        """The changes, as git sees them if the directory has become part of a repository."""
        changes = await self.current()
        async with self._renewing:
            return await self._with_git(self.changes or changes)

    async def _with_git(self, changes: SessionChanges) -> SessionChanges:
        """The changes, as git sees them if it can by now; else the same ones."""
        directory = changes.directory
        if changes.has_git or not await asyncio.to_thread(may_be_tracked, directory):
            return changes
        found = await self._opened_now(Path(directory))
        if not found.has_git:
            return changes
        self.changes, self.has_lost = found, False
        return found

    def _is_trusted(self, directory: Path) -> bool:
        try:
            return self._host.is_trusted(directory)
        except SeraiError:
            return False

    # -- turns ---------------------------------------------------------------------------------------------

    def begin(self) -> None:
        """The session is new, also when it has turns of another one: what there is now is what it has."""
        self._may_begin = True
        self._forked_from = self._session.seat.forked_from

    async def turn_begins(self, turn_id: str) -> None:
        """Record what there is before a turn. It returns, and in time, whatever happens."""
        if self.directory is None:
            return
        self.missed.pop(turn_id, None)
        try:
            async with asyncio.timeout(self._patience):
                if self._recording:
                    await asyncio.wait(self._recording)  # the end of the turn before this one
                changes = await self._notice_git()
                self._begun.add(turn_id)
                await changes.begin_turn(turn_id)
            self._patience = _PATIENCE
        except TimeoutError:
            self._begun.discard(turn_id)
            problem = f"it took more than {self._patience:g} s to record what there was before this turn"
            self.missed[turn_id] = told_of(GitTimedOut(problem), self._host.redactor)
            self._patience = min(_PATIENCE, _IMPATIENCE)
        except FAILURES as error:
            self._begun.discard(turn_id)
            self.missed[turn_id] = told_of(error, self._host.redactor)
        finally:
            self._may_begin = False

    def turn_ended(self, turn_id: str, task: asyncio.Task[None] | None = None) -> None:
        """A turn is over, or was taken back: record what there is now.

        Args:
            turn_id: The turn.
            task: What answers it; it may still be stopping.
        """
        if self.directory is None:
            return
        if self.knows(turn_id):
            self._record(self._end(turn_id, task))
        else:
            self._forget([turn_id], task)

    async def _end(self, turn_id: str, task: asyncio.Task[None] | None) -> None:
        await _stopped(task)
        try:
            await (await self.opened()).end_turn(turn_id)
        finally:
            self._begun.discard(turn_id)
            await self._notice_git()

    async def seen(self) -> None:
        """The files have been looked at: when a turn is running, that may be the last that is seen of it."""
        turn = self._session.live.turn
        if turn is None or not isinstance(self.changes, TrackedChanges):
            return
        try:
            await self.changes.see_turn(turn.id)
        except FAILURES as error:
            self._log_unrecorded(error)

    def truncated(self, turn_ids: Collection[str]) -> None:
        """Turns were taken back: forget what was recorded for them."""
        if self.directory is not None and turn_ids:
            self._forget(turn_ids)

    def _forget(self, turn_ids: Collection[str], task: asyncio.Task[None] | None = None) -> None:
        for turn_id in turn_ids:
            self.missed.pop(turn_id, None)
        self._record(self._forget_turns(turn_ids, task))
        self._taken_back()

    async def _forget_turns(self, turn_ids: Collection[str], task: asyncio.Task[None] | None) -> None:
        await _stopped(task)
        self._begun.difference_update(turn_ids)
        changes = await self.current()
        for turn_id in turn_ids:
            await changes.forget_turn(turn_id)

    def _record(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._do(work))
        self._recording.add(task)
        task.add_done_callback(self._recording.discard)

    async def _do(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except FAILURES as error:
            self._log_unrecorded(error)
        self._recorded()

    def _log_unrecorded(self, error: SeraiError | OSError) -> None:
        told = told_of(error, self._host.redactor)
        _log.debug("a turn of %s was not recorded: %s", self._session.uri, told.message)

    def is_over(self, turn_id: str | None) -> bool:
        """Whether nothing more will be recorded of a turn."""
        return turn_id not in self._begun

    def knows(self, turn_id: str) -> bool:
        """Whether the session has a turn of that id."""
        session = self._session
        turn = session.live.turn
        return session.kept.turn_at(turn_id) is not None or (turn is not None and turn.id == turn_id)

    # -- edits ---------------------------------------------------------------------------------------------

    @contextlib.asynccontextmanager
    async def editing(
        self, turn_id: str, paths: Iterable[str | Path], since: int | None = None
    ) -> AsyncGenerator[Edit]:
        """Note files before and after a block that may change them, where git does not see that by itself.

        Args:
            turn_id: The turn.
            paths: The files.
            since: When it was first heard of what may have changed them already, in nanoseconds.
        """
        names = [str(path) for path in paths]

        async def note_again() -> None:
            await self._note(names, lambda changes, name: changes.note_again(turn_id, name))

        edit = Edit(note_again)
        await self._note(names, lambda changes, name: changes.note_before(turn_id, name, since=since))
        try:
            yield edit
        finally:
            if edit.is_off:
                await self._note(names, lambda changes, name: changes.note_nothing(turn_id, name))
            else:
                await self._note(names, lambda changes, name: changes.note_after(turn_id, name))
            self._edited()

    async def _note(
        self, names: list[str], note: Callable[[NotedChanges, str], Coroutine[Any, Any, object]]
    ) -> None:
        if self.directory is None:
            return
        try:
            changes = await self.current()
            if isinstance(changes, NotedChanges):
                for name in names:
                    await note(changes, name)
        except FAILURES as error:
            told = told_of(error, self._host.redactor)
            _log.warning("an edit in %s is not among its changes: %s", self._session.uri, told.message)

    # -- ending --------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Record how the turn ends that is cut off by this, and nothing any more.

        What is being recorded may end first, for a short while.
        """
        turn = self._session.live.turn
        if turn is not None and self.changes is not None:
            self._record(self.changes.end_turn(turn.id))
        if self._recording:
            await asyncio.wait(self._recording, timeout=STOPPING)
        self._closed = True
        tasks: list[asyncio.Task[Any]] = [*self._recording]
        if self._opening is not None:
            tasks.append(self._opening)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
