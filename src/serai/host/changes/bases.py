"""The records of a session's folder: when it began, and before and after each of its turns.

Nothing here may stop a turn. A failure is kept, and shown in the changeset that lacks the record.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Collection, Coroutine
from typing import TYPE_CHECKING, Any

from serai.ahp.commands import AhpErrorCode, SessionForkSource
from serai.ahp.types import ErrorInfo
from serai.changes.folder import FolderChanges, open_folder, place_of
from serai.errors import FileUnreadable, GitTimedOut, ProtocolError, SeraiError, SessionGone
from serai.host.changes.changesets import changes_folder, id_of_session
from serai.host.surroundings.files import directory_of
from serai.redact import Redactor

if TYPE_CHECKING:
    from serai.host.changes.session_changes import SessionChanges

_log = logging.getLogger(__name__)

FAILURES = (SeraiError, OSError)
"""Errors of a folder, or of git."""

_PATIENCE = 10.0
"""Longest wait of a turn for the record before it, in seconds."""
STOPPING = 2.0
"""Time in seconds for a cancelled agent to stop, and for running work to end when the host does."""


def error_for_followers(error: SeraiError | OSError, redactor: Redactor) -> ErrorInfo:
    """Return an error for the followers of a changeset."""
    code = error.code if isinstance(error, SeraiError) else FileUnreadable.code
    if isinstance(error, ProtocolError) and error.number == AhpErrorCode.NOT_FOUND:
        code = "not_recorded"
    return ErrorInfo(error_type=code, message=redactor.redact(str(error)))


class Bases:
    """The records of one session's folder.

    Args:
        owner: The changes of the session. One without a folder of this machine has nothing recorded.
    """

    def __init__(self, owner: SessionChanges) -> None:
        session = owner.session
        head = session.live.head
        self.directory = directory_of(head.summary.working_directory)
        self.changes: FolderChanges | None = None
        """The folder's changes, as they were last opened."""
        self.missed: dict[str, ErrorInfo] = {}
        """Errors that prevented the record before a turn, by the turn's id."""
        self._session = session
        self._home = owner.changesets.host.home
        self._owner = owner
        self._opening = asyncio.Lock()
        self._turn: str | None = None
        """The running turn, once its beginning is recorded: its end is recorded in the same place."""
        self._may_begin = not head.turns and session.live.turn is None
        """True until something happens that belongs to the session's changeset."""
        self._forked_from: SessionForkSource | None = None
        self._recording: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def is_busy(self) -> bool:
        """True while something is being recorded."""
        return bool(self._recording) or self._opening.locked()

    # -- opening -------------------------------------------------------------------------------------------

    async def current(self) -> FolderChanges:
        """Return the changes of the folder; between turns anew, when it or its repository is another one.

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
        uri, home = self._session.uri, self._home
        changes = await open_folder(
            str(self.directory or ""),
            id_of_session(uri),
            folder=changes_folder(home, uri),
            home=home,
        )
        with contextlib.suppress(SeraiError):  # told in every changeset; the next turn tries again
            await changes.begin_session(late=not self._may_begin)
        if self._forked_from is not None:
            await self._inherit(changes, self._forked_from)
            self._forked_from = None
        return changes

    async def _inherit(self, changes: FolderChanges, fork: SessionForkSource) -> None:
        """Take over the records of the turns that this session has from another one."""
        turns = [turn.id for turn in self._session.live.head.turns]
        inherited = turns[: turns.index(fork.turn_id) + 1] if fork.turn_id in turns else []
        try:
            async with self._owner.changesets.held(fork.session) as source:
                if source is not None:
                    await source.changes.bases.settled()
                await changes.adopt(changes_folder(self._home, fork.session), inherited)
        except FAILURES as error:
            self._log_unrecorded(error)

    async def settled(self) -> None:
        """Wait a short time for the records that are being written."""
        if self._recording:
            await asyncio.wait(self._recording, timeout=_PATIENCE / 2)  # a turn may be waiting for this

    # -- turns ---------------------------------------------------------------------------------------------

    def begin(self, forked_from: SessionForkSource | None) -> None:
        """Begin the records of a new session with its folder as it is. A fork has turns already."""
        self._may_begin = True
        self._forked_from = forked_from

    async def turn_begins(self, turn_id: str) -> None:
        """Record the folder before a turn. It returns in time, whatever happens."""
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
            self.missed[turn_id] = error_for_followers(GitTimedOut(problem), self._session.redactor)
        except FAILURES as error:
            self.missed[turn_id] = error_for_followers(error, self._session.redactor)
        finally:
            self._may_begin = False

    def turn_ended(self, turn_id: str, task: asyncio.Task[None] | None = None) -> None:
        """Record the folder after a turn that is over, or was taken back.

        Args:
            turn_id: The turn.
            task: The task that answers it; it may still be stopping.
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
        """Forget the records of turns that were taken back."""
        if self.directory is not None and turn_ids:
            self._forget(turn_ids)

    def _forget(self, turn_ids: Collection[str], task: asyncio.Task[None] | None = None) -> None:
        for turn_id in turn_ids:
            self.missed.pop(turn_id, None)
        self._record(self._forget_turns(turn_ids), task)
        self._owner.turns_taken_back()

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
        self._owner.look_again()

    def _log_unrecorded(self, error: SeraiError | OSError) -> None:
        told = error_for_followers(error, self._session.redactor)
        _log.debug("a turn of %s was not recorded: %s", self._session.uri, told.message)

    def knows(self, turn_id: str) -> bool:
        """Tell whether the session has a turn of that id."""
        session = self._session
        turn = session.live.turn
        return session.kept.turn_at(turn_id) is not None or (turn is not None and turn.id == turn_id)

    # -- ending --------------------------------------------------------------------------------------------

    async def close(self) -> None:
        """Record the end of the turn that is cut off by this, and then nothing any more.

        Running work may end first, for a short time.
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
