"""Changesets as channels: the changes in a session's folder, and the operations on them.

A changeset is open while someone follows it. Its actions are numbered and published, not stored: the files
themselves, and the bases that `serai.changes` records, are there after a restart.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import shutil
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from serai.ahp import actions as a
from serai.ahp.channels import is_run
from serai.ahp.commands import AhpErrorCode, ChangesetOperationTarget, InvokeChangesetOperationResult
from serai.ahp.reducers import LiveChangeset
from serai.ahp.types import (
    URI,
    ChangesetFile,
    ChangesetOperation,
    ChangesetState,
    ChangesetStatus,
    ErrorInfo,
)
from serai.changes.operations import invoke
from serai.changes.undo import Trash
from serai.changes.view import Which, actions_between, address_of, content_address
from serai.errors import ProtocolError, SeraiError
from serai.host.channels import Channel
from serai.host.core import HostCore

if TYPE_CHECKING:
    from serai.host.changes.session_changes import SessionChanges

_log = logging.getLogger(__name__)

_SCHEME = "ahp-session:"
MOST_FILES = 2_000
"""Most files that a changeset shows. All are counted, and its operations work on all."""
_AT_ONCE = 100
"""Number of actions after which other tasks get their turn."""


def id_of_session(uri: URI) -> str:
    """Return the id of a session in the URIs of its changesets and of their content."""
    short = uri.removeprefix(f"{_SCHEME}/")
    return uri if short in {uri, ""} or short.startswith(_SCHEME) else short


def session_of_id(session_id: str) -> URI:
    """Return the session of an id."""
    return session_id if session_id.startswith(_SCHEME) or is_run(session_id) else f"{_SCHEME}/{session_id}"


def changes_folder(home: Path, session: URI) -> Path:
    """Return the folder of a session's records. A URI may have letters that a file name cannot have."""
    return home / "changes" / hashlib.sha256(session.encode()).hexdigest()[:32]


def erase_changes(home: Path, session: URI) -> None:
    """Delete all records of a session's changes, and the files that its discards took away."""
    shutil.rmtree(changes_folder(home, session), ignore_errors=True)
    trash = Trash(home)
    for discard in trash.discards(id_of_session(session)):
        trash.forget(discard)


class ChangedSession(Protocol):
    """The part of a session that changesets use."""

    changes: SessionChanges


class Changesets:
    """The changesets of a host's sessions; `held` keeps a session in memory for the length of a block."""

    def __init__(
        self, host: HostCore, held: Callable[[URI], AbstractAsyncContextManager[ChangedSession | None]]
    ) -> None:
        self.host = host
        self.held = held
        host.channels.open_changeset = self._open

    async def open(self) -> None:
        """Undo the discards that a kill cut short, and delete those that are older than a week."""
        await asyncio.to_thread(self._clean_up)

    def _clean_up(self) -> None:
        trash = Trash(self.host.home)
        for discard in trash.undo_unfinished():
            _log.warning("the discard %s was cut short, and is undone", discard.id)
        trash.prune()

    async def _open(self, uri: URI) -> Channel | None:
        """Open a changeset for a follower; return `None` when there is no such session or turn."""
        address = address_of(uri)
        if address is None:
            return None
        async with self.held(session_of_id(address.session_id)) as session:
            return await session.changes.follow(uri, address.which) if session else None

    async def invoke(
        self, uri: URI, operation_id: str, target: ChangesetOperationTarget | None
    ) -> InvokeChangesetOperationResult:
        """Run an operation of a changeset, or of one of its files. The changeset need not be followed.

        Cancelling this does not stop the operation. The end of the session or of the host does, if it takes
        long.

        Raises:
            InvalidParams: There is no such operation, or it does not work on such a target.
            ProtocolError: There is no such changeset or file, or the operation was not possible.
        """
        address = address_of(uri)
        if address is None:
            raise _unknown(uri)
        async with self.held(session_of_id(address.session_id)) as session:
            if session is None or not await session.changes.offers(address.which):
                raise _unknown(uri)
            changes = session.changes
            return await changes.operate(self._operate(changes, address.which, operation_id, target))

    async def _operate(
        self, changes: SessionChanges, which: Which, operation: str, target: ChangesetOperationTarget | None
    ) -> InvokeChangesetOperationResult:
        try:
            current = await changes.current_for_writing()
            result = await invoke(current, which, operation, target)
        except ProtocolError:
            raise
        except (SeraiError, OSError) as error:
            told = self.host.redactor.redact(str(error))
            data = error.to_wire() if isinstance(error, SeraiError) else None
            raise ProtocolError(told, data=data, number=AhpErrorCode.CONFLICT) from None
        if result.message is None:
            return result
        return replace(result, message=self.host.redactor.redact_value(result.message, observed=True))

    async def read(self, uri: URI) -> bytes:
        """Return the content before or after a change, at a `serai-change:` URI. Secrets in text are masked.

        Raises:
            ProtocolError: There is no such session or content.
        """
        address = content_address(uri)
        if address is None:
            raise _unknown(uri)
        async with self.held(session_of_id(address.session_id)) as session:
            if session is None:
                raise _unknown(uri)
            try:
                data = await (await session.changes.bases.current()).read(uri)
            except ProtocolError:
                raise
            except (SeraiError, OSError) as error:
                told = self.host.redactor.redact(str(error))
                raise ProtocolError(told, number=AhpErrorCode.CONTENT_NOT_FOUND) from None
            return await asyncio.to_thread(self.host.redactor.redact_bytes, data)


class ChangesetChannel(Channel):
    """A changeset that someone follows; `owner` has the changes of its session."""

    live: LiveChangeset

    def __init__(self, host: HostCore, uri: URI, which: Which, owner: SessionChanges) -> None:
        state = ChangesetState(status=ChangesetStatus.COMPUTING.value, files=[])
        super().__init__(host.journal, host.now, uri, LiveChangeset(state))
        self.which = which
        self.is_final = False
        """True when the files that it shows will not change any more."""
        self._owner = owner
        self._is_open = True
        # A client that followed it before may know other files, and hears of this when it comes back.
        self.act(a.ChangesetStatusChangedAction(status=ChangesetStatus.COMPUTING.value))
        self.act(a.ChangesetClearedAction())

    def offer(self, operations: list[ChangesetOperation]) -> None:
        """Publish the operations that it has."""
        if self._is_open and operations != self.live.head.operations:
            self.act(a.ChangesetOperationsChangedAction(operations=operations))

    async def show(self, files: list[ChangesetFile], *, final: bool) -> None:
        """Show these files, with as few actions as possible."""
        for number, action in enumerate(actions_between(self.live.head.files, files), start=1):
            if number % _AT_ONCE == 0:
                await self.journal.room()
                await asyncio.sleep(0)
            if not self._is_open:
                return
            self.act(action)
        if self.live.head.status != ChangesetStatus.READY:
            self.act(a.ChangesetStatusChangedAction(status=ChangesetStatus.READY.value))
        self.is_final = final

    def fail(self, error: ErrorInfo) -> None:
        """Show why the changes are not known. The files stay as they were last seen."""
        self.is_final = False
        if self._is_open and self.live.head.error != error:
            self.act(a.ChangesetStatusChangedAction(status=ChangesetStatus.ERROR.value, error=error))

    def take_back(self) -> None:
        """Close the changeset of a turn that was taken back."""
        if self._is_open:
            self.act(a.ChangesetClearedAction())
            self.fail(ErrorInfo(error_type="taken_back", message="this turn was taken back"))
            self.left()

    def left(self) -> None:
        """Close the changeset: nobody follows it any more."""
        if self._is_open:
            self._is_open = False
            self._owner.left(self)


def _unknown(uri: URI) -> ProtocolError:
    return ProtocolError(f"there is no {uri}", number=AhpErrorCode.NOT_FOUND)
