"""The sessions of a host: all of them are known, and those in use are in memory.

Above a budget, idle sessions without followers are put out of memory, the least recently used first.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager

from msgspec.structs import replace

from serai.ahp.channels import is_run
from serai.ahp.commands import AhpErrorCode
from serai.ahp.types import SessionStatus, SessionSummary
from serai.errors import ProtocolError, SeraiError
from serai.host.ledger import record_of
from serai.host.session.recovery import recover
from serai.host.session.session import Session, SessionHost
from serai.host.surroundings.files import folders_of
from serai.journal.sessions import KeptSession, summary_of
from serai.store.contract import SessionRow

_log = logging.getLogger(__name__)


_COLLECT_AFTER = 8 * 1024 * 1024
"""Bytes of state that leave memory before the garbage is collected."""


class Sessions:
    """Knows all sessions, brings them into memory, and puts them out of it.

    Args:
        host: The host.
        released: Called when a session need not stay in memory any more.
    """

    def __init__(self, host: SessionHost, released: Callable[[str], None]) -> None:
        self._host = host
        self._journal = host.journal
        self._identities = host.identities
        self._released = released
        self._rows: dict[str, SessionRow] = {}
        """The rows of the sessions that are not in memory."""
        self._sessions: dict[str, Session] = {}
        """The sessions in memory, the least recently used one first."""
        self._loading: dict[str, asyncio.Task[Session]] = {}
        self._unrecovered: set[str] = set()
        """Sessions that have not been in memory since the host started."""
        self._wanted: Counter[str] = Counter()
        """Sessions that have to stay in memory, or are about to be used there."""
        self._let_go_bytes = 0

    async def open(self) -> None:
        """Read the list of sessions, and bring those into memory that were doing something."""
        for row in await self._journal.store.sessions():
            self._rows[row.uri] = row
        self._unrecovered.update(self._rows)
        await self._identities.open((row.uri, summary_of(row).provider) for row in self._rows.values())
        for row in list(self._rows.values()):
            summary = summary_of(row)
            self._host.folders[row.uri] = (summary.working_directory, [])
            if summary.status & SessionStatus.IN_PROGRESS:
                try:
                    await self.bring(row.uri)
                except Exception as error:  # noqa: BLE001 - no session may keep all others from their host
                    _log.error(
                        "%s could not be brought back, and is left for later: %s",
                        row.uri,
                        error,
                        exc_info=not isinstance(error, SeraiError),
                    )

    async def close(self) -> None:
        """Close all sessions in memory."""
        await asyncio.gather(*(session.close() for session in self._sessions.values()))

    def knows(self, uri: str) -> bool:
        """Tell whether there is a session of that URI."""
        return uri in self._sessions or uri in self._rows

    def find(self, name: str) -> str | None:
        """Find the URI of a session by that or its last part; `None` when none or several match."""
        if self.knows(name):
            return name
        found = [uri for uri in (*self._sessions, *self._rows) if uri.rpartition("/")[2] == name]
        return found[0] if len(found) == 1 else None

    def is_loaded(self, uri: str) -> bool:
        """Tell whether a session is in memory."""
        return uri in self._sessions

    def is_wanted(self, uri: str) -> bool:
        """Tell whether a session has to stay in memory, or is about to be used there."""
        return uri in self._wanted

    def in_memory(self) -> list[Session]:
        """Return the sessions in memory, the least recently used one first."""
        return list(self._sessions.values())

    async def signed_in(self, provider: str) -> None:
        """Continue the sessions that an agent has refused for want of a sign-in."""
        theirs = [one for one in self.in_memory() if one.live.head.summary.provider == provider]
        await asyncio.gather(*(session.signed_in() for session in theirs))

    def count(self) -> int:
        """Return the number of sessions."""
        return len(self._sessions) + len(self._rows)

    def summaries(self, *, runs: bool = False) -> list[SessionSummary]:
        """Return the summaries of all sessions, or of all workflow runs, the last modified one first."""
        summaries = [replace(session.live.head.summary) for session in self._sessions.values()]
        summaries += [summary_of(row) for row in self._rows.values()]
        summaries = [summary for summary in summaries if is_run(summary.resource) == runs]
        return sorted(summaries, key=lambda summary: summary.modified_at, reverse=True)

    def provider_of(self, uri: str) -> str | None:
        """Return the kind of agent of a session, also of one that is not in memory."""
        if (session := self._sessions.get(uri)) is not None:
            return session.live.head.summary.provider
        return summary_of(self._rows[uri]).provider if uri in self._rows else None

    def peek(self, uri: str) -> Session | None:
        """Return the session, if it is in memory. That does not count as a use."""
        return self._sessions.get(uri)

    def get(self, uri: str) -> Session | None:
        """The session, if it is in memory."""
        session = self._sessions.get(uri)
        if session is not None:
            self._sessions[uri] = self._sessions.pop(uri)  # the most recently used one is last
        return session

    async def bring(self, uri: str) -> Session | None:
        """Return the session, read from the store if need be. Cancelling does not stop other waiters."""
        session = self.get(uri)
        if session is not None or uri not in self._rows:
            return session
        task = self._loading.get(uri)
        if task is None:
            task = self._loading[uri] = asyncio.create_task(self._load(uri))
            task.add_done_callback(lambda _task: self._loading.pop(uri, None))
        return await asyncio.shield(task)

    def hold(self, uris: Iterable[str]) -> Callable[[], None]:
        """Keep sessions in memory, also future ones, until the returned function is called."""
        held = set(uris)
        self._wanted.update(held)

        def release() -> None:
            self._wanted.subtract(held)
            for uri in held:
                if self._wanted[uri] <= 0:
                    del self._wanted[uri]
                    self._released(uri)
            held.clear()

        return release

    @asynccontextmanager
    async def held(self, uri: str) -> AsyncGenerator[Session | None]:
        """Return the session, read from the store if need be. It stays in memory until the block ends."""
        release = self.hold([uri])
        try:
            yield await self.bring(uri)
        finally:
            release()

    async def add(self, kept: KeptSession) -> Session:
        """Add a new session.

        Raises:
            ProtocolError: There is one of that URI, or was.
        """
        uri, journal = kept.uri, self._journal
        await journal.committed(patient=False)
        if await journal.store.head(uri) is not None or self.knows(uri):
            # The URI of a session that was disposed of stays taken: its rows are still there.
            gone = "was disposed of and is kept: only 'serai sessions purge' on the host frees its URI"
            why = "exists already" if self.knows(uri) else gone
            raise ProtocolError(f"{uri} {why}", number=AhpErrorCode.SESSION_ALREADY_EXISTS)
        kept.epoch = journal.last_seq + 1
        return self._enter(kept)

    async def _load(self, uri: str) -> Session:
        journal, store = self._journal, self._journal.store
        if uri not in self._unrecovered:
            # It was in memory not long ago, and its last changes may still be on the way to the disk.
            await journal.committed(patient=False)
        head = await store.head(uri)
        if head is None:
            raise ProtocolError(f"{uri} has no head in the store", number=AhpErrorCode.SESSION_NOT_FOUND)
        turns = await store.turns(uri)
        rows = await store.rows(uri, head.seq)
        is_unrecovered = uri in self._unrecovered
        agent = self._identities.of_session(uri).number
        entries = await store.relay("entries_of_session", agent) if is_unrecovered else []
        kept = KeptSession.restore(self._rows[uri], head, turns, rows)
        session = self._enter(kept)
        del self._rows[uri]
        if uri in self._unrecovered:
            self._unrecovered.discard(uri)
            recover(session, session.turns, [record_of(row) for row in entries])
        self.evict()
        return session

    def _enter(self, kept: KeptSession) -> Session:
        session = self._sessions[kept.uri] = Session(self._host, kept)
        head = kept.live.head
        self._host.folders[kept.uri] = (head.summary.working_directory, folders_of(head))
        return session

    def remove(self, uri: str) -> bool:
        """Remove a session that is disposed of. Returns whether it was still in memory."""
        self._host.folders.pop(uri, None)
        return self._sessions.pop(uri, None) is not None

    def evict(self) -> None:
        """Put unused sessions out of memory, above the budget, the least recently used first."""
        sessions = self.in_memory()
        total = sum(session.kept.size for session in sessions)
        for session in sessions[:-1]:
            if total <= self._host.settings.idle_memory_bytes:
                return
            if self.put_out(session.uri):
                total -= session.kept.size

    def put_out(self, uri: str) -> bool:
        """Put a session out of memory, unless it is used. Returns whether it has left."""
        session = self._sessions.get(uri)
        if session is None or session.is_busy or session.kept.is_unsaved:
            return False
        if self.is_wanted(uri) or self._journal.subscriptions.is_followed(uri):
            return False
        if self._host.root.is_to_tell_of(uri):
            return False
        del self._sessions[uri]
        self._rows[uri] = session.kept.row()
        session.is_closed = True  # from now on: it is let go in the background
        self._host.run(self._let_go(session))
        return True

    async def _let_go(self, session: Session) -> None:
        """Close a session that has left memory, and collect its garbage."""
        await session.close()
        self._let_go_bytes += session.kept.size
        if self._let_go_bytes > _COLLECT_AFTER:
            # A session and its parts refer to each other, and Python would find that out much later.
            self._let_go_bytes = 0
            gc.collect()
