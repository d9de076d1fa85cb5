"""Changesets as channels: what changed in a session's folder, and what can be done about it.

A changeset is open while someone follows it. What it shows is numbered and published, not stored: the files
themselves, and the bases that `serai.changes` records, are there after a restart.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import shutil
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec.structs import replace

from serai.ahp.channels import is_run
from serai.ahp.commands import AhpErrorCode, ChangesetOperationTarget, InvokeChangesetOperationResult
from serai.ahp.types import URI
from serai.changes.operations import invoke
from serai.changes.undo import Trash
from serai.changes.view import Address, address_of, content_address
from serai.errors import ProtocolError, SeraiError
from serai.host.channels import Channel

if TYPE_CHECKING:
    from serai.host.host import Host
    from serai.host.session.session import Session

_log = logging.getLogger(__name__)

_SCHEME = "ahp-session:"


def id_of_session(uri: URI) -> str:
    """What stands for a session in the URIs of its changesets and of their content."""
    short = uri.removeprefix(f"{_SCHEME}/")
    return uri if short in {uri, ""} or short.startswith(_SCHEME) else short


def session_of_id(session_id: str) -> URI:
    """The session that an id stands for."""
    return session_id if session_id.startswith(_SCHEME) or is_run(session_id) else f"{_SCHEME}/{session_id}"


def changes_folder(home: Path, session: URI) -> Path:
    """Where the bases of a session's changesets are kept. A URI may have letters that a file cannot have."""
    return home / "changes" / hashlib.sha256(session.encode()).hexdigest()[:32]


def erase_changes(home: Path, session: URI) -> None:
    """Delete all that was recorded of a session's changes, and what its discards took away."""
    shutil.rmtree(changes_folder(home, session), ignore_errors=True)
    trash = Trash(home)
    for discard in trash.discards(id_of_session(session)):
        trash.forget(discard)


class Changesets:
    """The changesets of a host's sessions."""

    def __init__(self, host: Host) -> None:
        self._host = host
        host.channels.open_changeset = self._open

    async def open(self) -> None:
        """Undo the discards that a kill cut short, and delete those that are older than a week."""
        await asyncio.to_thread(self._clean_up)

    def _clean_up(self) -> None:
        trash = Trash(self._host.home)
        for discard in trash.undo_unfinished():
            _log.warning("the discard %s was cut short, and is undone", discard.id)
        trash.prune()

    async def _open(self, uri: URI) -> Channel | None:
        """Someone wants to follow a changeset; `None` when there is no such session or turn."""
        address = address_of(uri)
        if address is None:
            return None
        async with self._session(address.session_id) as session:
            return await session.changes.follow(uri, address.which) if session else None

    @contextlib.asynccontextmanager
    async def _session(self, session_id: str) -> AsyncGenerator[Session | None]:
        """A session, kept in memory for the length of a block."""
        uri = session_of_id(session_id)
        release = self._host.sessions.hold([uri])
        try:
            yield await self._host.sessions.bring(uri)
        finally:
            release()

    async def invoke(
        self, uri: URI, operation_id: str, target: ChangesetOperationTarget | None
    ) -> InvokeChangesetOperationResult:
        """Do something with a changeset, or with one of its files. Nobody need follow it.

        Cancelling this does not stop what has begun. The end of the session or of the host does, if it takes
        long.

        Raises:
            InvalidParams: There is no such operation, or it does not work on such a target.
            ProtocolError: There is no such changeset or file, or the operation was not possible.
        """
        address = address_of(uri)
        if address is None:
            raise _unknown(uri)
        async with self._session(address.session_id) as session:
            if session is None or not await session.changes.offers(address.which):
                raise _unknown(uri)
            return await session.changes.operate(self._operate(session, address, operation_id, target))

    async def _operate(
        self, session: Session, address: Address, operation_id: str, target: ChangesetOperationTarget | None
    ) -> InvokeChangesetOperationResult:
        try:
            changes = await session.changes.in_hand()
            result = await invoke(changes, address.which, operation_id, target)
        except ProtocolError:
            raise
        except (SeraiError, OSError) as error:
            told = self._host.redactor.redact(str(error))
            data = error.to_wire() if isinstance(error, SeraiError) else None
            raise ProtocolError(told, data=data, number=AhpErrorCode.CONFLICT) from None
        if result.message is None:
            return result
        return replace(result, message=self._host.redactor.redact_value(result.message, observed=True))

    async def read(self, uri: URI) -> bytes:
        """The content before or after a change, at a `serai-change:` URI. Secrets in text are masked.

        Raises:
            ProtocolError: There is no such session or content.
        """
        address = content_address(uri)
        if address is None:
            raise _unknown(uri)
        async with self._session(address.session_id) as session:
            if session is None:
                raise _unknown(uri)
            try:
                data = await (await session.changes.bases.current()).read(uri)
            except ProtocolError:
                raise
            except (SeraiError, OSError) as error:
                told = self._host.redactor.redact(str(error))
                raise ProtocolError(told, number=AhpErrorCode.CONTENT_NOT_FOUND) from None
            return await asyncio.to_thread(session.core.redactor.redact_bytes, data)


def _unknown(uri: URI) -> ProtocolError:
    return ProtocolError(f"there is no {uri}", number=AhpErrorCode.NOT_FOUND)
