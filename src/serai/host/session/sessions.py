"""The sessions of a host: all of them are known, and those that someone needs are in memory.

What nobody watches and nothing runs in is put out of memory above a budget, the least recently used first.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections import Counter
from collections.abc import Callable, Coroutine, Iterable
from typing import Any

from msgspec.structs import replace

from serai.ahp.channels import is_run
from serai.ahp.commands import AhpErrorCode
from serai.ahp.types import SessionStatus, SessionSummary
from serai.errors import ProtocolError, SeraiError
from serai.host.identities import Identities
from serai.host.ledger import record_of
from serai.host.session.deliveries import deferred_channel, still_deferred
from serai.host.session.recovery import recover
from serai.host.session.session import Session
from serai.host.surroundings.files import folders_of
from serai.journal.journal import Journal
from serai.journal.sessions import KeptSession, summary_of
from serai.store.contract import SessionRow

_log = logging.getLogger(__name__)


_COLLECT_AFTER = 8 * 1024 * 1024
"""Bytes of state that were put out of memory before they are really freed."""


class Sessions:
    """Brings sessions into memory and puts them out of it, and knows all that there are.

    Args:
        journal: Where they are kept.
        identities: Under which names their agents take part.
        new_session: Makes a session of its state, in memory.
        budget: About how many bytes may stay in memory that nobody watches and nothing runs in.
        is_watched: Whether someone follows a session, or has still to be told of it.
        known: Is told of each session and its folders.
        released: Is called when nobody needs a session in memory any more.
        run: Does something in the background.
    """

    def __init__(
        self,
        journal: Journal,
        identities: Identities,
        new_session: Callable[[KeptSession], Session],
        *,
        budget: int,
        is_watched: Callable[[str], bool],
        known: Callable[[str, str | None, list[str]], None],
        released: Callable[[str], None],
        run: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._journal = journal
        self._identities = identities
        self._new_session = new_session
        self._budget = budget
        self._is_watched = is_watched
        self._known = known
        self._released = released
        self._run = run
        self._rows: dict[str, SessionRow] = {}
        """What the store knew of each session when it was last written, for those that are not in memory."""
        self._sessions: dict[str, Session] = {}
        """The sessions in memory, the least recently used one first."""
        self._loading: dict[str, asyncio.Task[Session]] = {}
        self._unrecovered: set[str] = set()
        """Sessions that have not been in memory since the host started."""
        self._wanted: Counter[str] = Counter()
        """Sessions that someone is about to do something with, once they are in memory."""
        self._let_go_bytes = 0

    async def open(self) -> None:
        """Learn of all that are in the store, and bring those back that were doing something."""
        for row in await self._journal.store.sessions():
            self._rows[row.uri] = row
        self._unrecovered.update(self._rows)
        await self._identities.open((row.uri, summary_of(row).provider) for row in self._rows.values())
        for row in list(self._rows.values()):
            summary = summary_of(row)
            self._known(row.uri, summary.working_directory, [])
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
        """End what runs in them."""
        await asyncio.gather(*(session.close() for session in self._sessions.values()))

    def knows(self, uri: str) -> bool:
        """Whether there is a session of that URI."""
        return uri in self._sessions or uri in self._rows

    def find(self, name: str) -> str | None:
        """The URI of a session, given that or its last part; `None` when it is no session's, or several's."""
        if self.knows(name):
            return name
        found = [uri for uri in (*self._sessions, *self._rows) if uri.rpartition("/")[2] == name]
        return found[0] if len(found) == 1 else None

    def is_loaded(self, uri: str) -> bool:
        """Whether a session is in memory."""
        return uri in self._sessions

    def is_wanted(self, uri: str) -> bool:
        """Whether someone is about to do something with it."""
        return uri in self._wanted

    def in_memory(self) -> list[Session]:
        """The sessions in memory, the least recently used one first."""
        return list(self._sessions.values())

    def count(self) -> int:
        """How many sessions there are."""
        return len(self._sessions) + len(self._rows)

    def summaries(self, *, runs: bool = False) -> list[SessionSummary]:
        """All sessions, or all workflow runs, the last modified one first."""
        summaries = [replace(session.live.head.summary) for session in self._sessions.values()]
        summaries += [summary_of(row) for row in self._rows.values()]
        summaries = [summary for summary in summaries if is_run(summary.resource) == runs]
        return sorted(summaries, key=lambda summary: summary.modified_at, reverse=True)

    def provider_of(self, uri: str) -> str | None:
        """The kind of agent of a session, also of one that is not in memory."""
        if (session := self._sessions.get(uri)) is not None:
            return session.live.head.summary.provider
        return summary_of(self._rows[uri]).provider if uri in self._rows else None

    def peek(self, uri: str) -> Session | None:
        """The session, if it is in memory. That counts as no use of it."""
        return self._sessions.get(uri)

    def get(self, uri: str) -> Session | None:
        """The session, if it is in memory."""
        session = self._sessions.get(uri)
        if session is not None:
            self._sessions[uri] = self._sessions.pop(uri)  # the most recently used one is last
        return session

    async def bring(self, uri: str) -> Session | None:
        """The session, read from the store if need be. Cancelling does not stop others who wait for it."""
        session = self.get(uri)
        if session is not None or uri not in self._rows:
            return session
        task = self._loading.get(uri)
        if task is None:
            task = self._loading[uri] = asyncio.create_task(self._load(uri))
            task.add_done_callback(lambda _task: self._loading.pop(uri, None))
        return await asyncio.shield(task)

    def hold(self, uris: Iterable[str]) -> Callable[[], None]:
        """Keep sessions in memory that are there, or are brought there, until what this returns is called."""
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

    async def add(self, kept: KeptSession) -> Session:
        """A session has been made.

        Raises:
            ProtocolError: There is one of that URI, or was.
        """
        uri, journal = kept.uri, self._journal
        await journal.committed(patient=False)
        if await journal.store.head(uri) is not None or self.knows(uri):
            # A session that was disposed of keeps its URI: its rows are still there.
            gone = "was disposed of and is kept: only 'serai sessions purge' on the host frees its URI"
            why = "exists already" if self.knows(uri) else gone
            raise ProtocolError(f"{uri} {why}", number=AhpErrorCode.SESSION_ALREADY_EXISTS)
        kept.epoch = journal.last_seq + 1
        return self._enter(kept)

    async def _load(self, uri: str) -> Session:
        journal, store = self._journal, self._journal.store
        if uri not in self._unrecovered:
            # It was in memory not long ago, and may be on its way to the disk.
            await journal.committed(patient=False)
        head = await store.head(uri)
        if head is None:
            raise ProtocolError(f"{uri} has no head in the store", number=AhpErrorCode.SESSION_NOT_FOUND)
        turns = await store.turns(uri)
        rows = await store.rows(uri, head.seq)
        is_unrecovered = uri in self._unrecovered
        agent = self._identities.of_session(uri).number
        entries = await store.relay("entries_of_session", agent) if is_unrecovered else []
        deferred = await store.rows(deferred_channel(uri), 0) if is_unrecovered else []
        kept = KeptSession.restore(self._rows[uri], head, turns, rows)
        session = self._enter(kept)
        del self._rows[uri]
        if uri in self._unrecovered:
            self._unrecovered.discard(uri)
            open_ones = [record_of(row) for row in entries]
            recover(session.core, session.turns, session.questions, open_ones, still_deferred(deferred))
        self.evict()
        return session

    def _enter(self, kept: KeptSession) -> Session:
        session = self._sessions[kept.uri] = self._new_session(kept)
        head = kept.live.head
        self._known(kept.uri, head.summary.working_directory, folders_of(head))
        return session

    def remove(self, uri: str) -> bool:
        """A session is disposed of. Returns whether it was in memory still."""
        return self._sessions.pop(uri, None) is not None

    def evict(self) -> None:
        """Put sessions out of memory that nobody needs, above the budget, the least recently used first."""
        sessions = self.in_memory()
        total = sum(session.kept.size for session in sessions)
        for session in sessions[:-1]:
            if total <= self._budget:
                return
            if self.put_out(session.uri):
                total -= session.kept.size

    def put_out(self, uri: str) -> bool:
        """Forget the state of a session, unless someone needs it: from now on the store has it."""
        session = self._sessions.get(uri)
        if session is None or session.is_busy or session.kept.is_unsaved:
            return False
        if self.is_wanted(uri) or self._is_watched(uri):
            return False
        del self._sessions[uri]
        self._rows[uri] = session.kept.row()
        self._run(self._let_go(session))
        return True

    async def _let_go(self, session: Session) -> None:
        """End what belongs to a session that was put out of memory, and see to it that the memory is free."""
        await session.close()
        self._let_go_bytes += session.kept.size
        if self._let_go_bytes > _COLLECT_AFTER:
            # A session and its parts refer to each other, and Python would find that out much later.
            self._let_go_bytes = 0
            gc.collect()
