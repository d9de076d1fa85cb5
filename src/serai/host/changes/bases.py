"""Records what there was when a session began, and before and after each of its turns.

Nothing here may stop a turn. Why something was not recorded is kept, and told in the changeset that lacks it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Coroutine
from typing import TYPE_CHECKING, Any

from serai.ahp.commands import AhpErrorCode, SessionForkSource
from serai.ahp.types import ErrorInfo
from serai.changes.folder import FolderChanges, open_folder, place_of
from serai.errors import FileUnreadable, GitTimedOut, ProtocolError, SeraiError, SessionGone
from serai.host.changes.changesets import changes_folder, id_of_session
from serai.host.project import directory_of
from serai.redact import Redactor

if TYPE_CHECKING:
    from serai.host.session.session import Session

_log = logging.getLogger(__name__)

FAILURES = (SeraiError, OSError)
"""What can be the matter with a folder, or with git."""

_PATIENCE = 10.0
"""Seconds that a turn waits until its base is recorded."""
STOPPING = 2.0
"""Seconds that a cancelled agent has to stop, and that what is under way has to end when the host does."""


def told_of(error: SeraiError | OSError, redactor: Redactor) -> ErrorInfo:
    """What is the matter, for those who follow a changeset."""
    code = error.code if isinstance(error, SeraiError) else FileUnreadable.code
    if isinstance(error, ProtocolError) and error.number == AhpErrorCode.NOT_FOUND:
        code = "not_recorded"
    return ErrorInfo(error_type=code, message=redactor.redact(str(error)))


class Bases:
    """What is recorded of the folder of one session.

    Args:
        session: The session. One without a folder of this machine has nothing recorded.
        recorded: Is called when a turn has ended, or was taken back, and that has been recorded.
        taken_back: Is called when the session no longer has some turns.
    """

    def __init__(
        self, session: Session, *, recorded: Callable[[], None], taken_back: Callable[[], None]
    ) -> None:
        head = session.live.head
        self.directory = directory_of(head.summary.working_directory)
        self.changes: FolderChanges | None = None
        """What was last opened."""
        self.missed: dict[str, ErrorInfo] = {}
        """Why it was not recorded what there was before a turn, by its id."""
        self._session = session
        self._host = session.host
        self._recorded = recorded
        self._taken_back = taken_back
        self._opening = asyncio.Lock()
        self._turn: str | None = None
        """The turn that is running, once it is recorded where it began: there it ends as well."""
        self._may_begin = not head.turns and session.live.turn is None
        """True until something happens that belongs into the session's changeset."""
        self._forked_from: SessionForkSource | None = None
        self._recording: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def is_busy(self) -> bool:
        """Whether something is being recorded."""
        return bool(self._recording) or self._opening.locked()

    # -- opening -------------------------------------------------------------------------------------------

    async def current(self) -> FolderChanges:
        """The changes of the folder; anew when it or its repository is another one, between turns.

        Raises:
            SeraiError: There is no folder, or no git.
        """
        async with self._opening:
            if self._closed:
                raise SessionGone(f"the session {self._session.uri} is closed")
            changes = self.changes
            if changes is not None:
                place = await asyncio.to_thread(place_of, changes.directory)
                if place is None:
                    raise FileUnreadable("the folder is gone")
                if place == changes.place or self._turn is not None:
                    return changes
            self.changes = None
            self.changes = await self._open()
            return self.changes

    async def _open(self) -> FolderChanges:
        session, home = self._session, self._host.home
        changes = await open_folder(
            str(self.directory or ""),
            id_of_session(session.uri),
            folder=changes_folder(home, session.uri),
            home=home,
        )
        with contextlib.suppress(SeraiError):  # told in every changeset; the next turn tries again
            await changes.begin_session(late=not self._may_begin)
        if self._forked_from is not None:
            await self._inherit(changes, self._forked_from)
            self._forked_from = None
        return changes

    async def _inherit(self, changes: FolderChanges, fork: SessionForkSource) -> None:
        """Take over what was recorded of the turns that this session has from another one."""
        turns = [turn.id for turn in self._session.live.head.turns]
        inherited = turns[: turns.index(fork.turn_id) + 1] if fork.turn_id in turns else []
        release = self._host.sessions.hold([fork.session])
        try:
            source = await self._host.sessions.bring(fork.session)
            if source is not None:
                await source.changes.bases.settled()
            await changes.adopt(changes_folder(self._host.home, fork.session), inherited)
        except FAILURES as error:
            self._log_unrecorded(error)
        finally:
            release()

    async def settled(self) -> None:
        """Wait until what is being recorded is recorded, not for long."""
        if self._recording:
            await asyncio.wait(self._recording, timeout=_PATIENCE / 2)  # a turn may be waiting for this

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
            async with asyncio.timeout(_PATIENCE):
                if self._recording:
                    await asyncio.wait(self._recording)  # the end of the turn before this one
                changes = await self.current()
                await changes.begin_session(late=not self._may_begin)
                await changes.begin_turn(turn_id)
                self._turn = turn_id
            turn = self._session.live.turn
            if turn is None or turn.id != turn_id:  # it was cancelled meanwhile
                self.turn_ended(turn_id)
        except TimeoutError:
            problem = f"it took more than {_PATIENCE:g} s to record what there was before this turn"
            self.missed[turn_id] = told_of(GitTimedOut(problem), self._host.redactor)
        except FAILURES as error:
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
            self._record(self._end(turn_id), task)
        else:
            self._forget([turn_id], task)

    async def _end(self, turn_id: str) -> None:
        try:
            await (await self.current()).end_turn(turn_id)
        finally:
            self._over(turn_id)

    def _over(self, turn_id: str) -> None:
        if self._turn == turn_id:
            self._turn = None

    def truncated(self, turn_ids: Collection[str]) -> None:
        """Turns were taken back: forget what was recorded for them."""
        if self.directory is not None and turn_ids:
            self._forget(turn_ids)

    def _forget(self, turn_ids: Collection[str], task: asyncio.Task[None] | None = None) -> None:
        for turn_id in turn_ids:
            self.missed.pop(turn_id, None)
        self._record(self._forget_turns(turn_ids), task)
        self._taken_back()

    async def _forget_turns(self, turn_ids: Collection[str]) -> None:
        for turn_id in turn_ids:
            try:
                await (await self.current()).forget_turn(turn_id)
            finally:
                self._over(turn_id)

    def _record(self, work: Coroutine[Any, Any, None], task: asyncio.Task[None] | None = None) -> None:
        recording = asyncio.create_task(self._do(work, task))
        self._recording.add(recording)
        recording.add_done_callback(self._recording.discard)

    async def _do(self, work: Coroutine[Any, Any, None], task: asyncio.Task[None] | None) -> None:
        try:
            if task is not None:
                await asyncio.wait({task}, timeout=STOPPING)  # an agent may still be stopping
            await work
        except FAILURES as error:
            self._log_unrecorded(error)
        finally:
            work.close()
        self._recorded()

    def _log_unrecorded(self, error: SeraiError | OSError) -> None:
        told = told_of(error, self._host.redactor)
        _log.debug("a turn of %s was not recorded: %s", self._session.uri, told.message)

    def knows(self, turn_id: str) -> bool:
        """Whether the session has a turn of that id."""
        session = self._session
        turn = session.live.turn
        return session.kept.turn_at(turn_id) is not None or (turn is not None and turn.id == turn_id)

    # -- ending --------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Record how the turn ends that is cut off by this, and nothing any more.

        What is being recorded may end first, for a short while.
        """
        turn = self._session.live.turn
        if turn is not None and turn.id == self._turn:
            self._record(self._end(turn.id))
        if self._recording:
            await asyncio.wait(self._recording, timeout=STOPPING)
        self._closed = True
        for task in self._recording:
            task.cancel()
        await asyncio.gather(*self._recording, return_exceptions=True)
