"""What is kept, and how long: sessions in memory up to a budget, old actions on disk up to some days.

State never needs old actions: a session comes back from its head, its turns and the actions since that head.
A session that was left alone may have had no reason for a new head, so it gets one first.
"""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from serai.ahp.types import ROOT
from serai.errors import SeraiError
from serai.host.session.session import Session
from serai.host.session.sessions import Sessions
from serai.journal.journal import Journal
from serai.store.contract import day_of

__all__ = ["Eviction", "Retention"]

_log = logging.getLogger(__name__)

_COLLECT_AFTER = 8 * 1024 * 1024
"""Bytes of state that were put out of memory before they are really freed."""
_AT_FIRST = 10.0
"""How long after its start the host is left alone, in seconds: clients come back then."""
_EVERY = 3600.0
"""How often it is looked whether a day has gone by, in seconds. A machine that sleeps counts no time."""


class Eviction:
    """Keeps the sessions in memory within a budget.

    Args:
        sessions: The sessions.
        budget: About how many bytes may stay in memory that nobody watches and nothing runs in.
        is_watched: Whether someone follows a session, or has still to be told of it.
        run: Does something in the background.
    """

    def __init__(
        self,
        sessions: Sessions,
        budget: int,
        is_watched: Callable[[str], bool],
        run: Callable[[Coroutine[Any, Any, None]], None],
    ) -> None:
        self._sessions = sessions
        self._budget = budget
        self._is_watched = is_watched
        self._run = run
        self._let_go_bytes = 0

    def evict(self) -> None:
        """Put sessions out of memory that nobody needs, above the budget, the least recently used first."""
        sessions = self._sessions.in_memory()
        total = sum(session.kept.size for session in sessions)
        for session in sessions[:-1]:
            if total <= self._budget:
                return
            if self.put_out(session.uri):
                total -= session.kept.size

    def put_out(self, uri: str) -> bool:
        """Forget the state of a session, unless someone watches it or something runs in it."""
        session = self._sessions.peek(uri)
        if session is None or session.is_busy or session.kept.is_unsaved:
            return False
        if self._sessions.is_wanted(uri) or self._is_watched(uri):
            return False
        self._sessions.put_out(uri)
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


class RetentionHost(Protocol):
    """Whose old actions are deleted."""

    journal: Journal
    sessions: Sessions
    eviction: Eviction
    now: Callable[[], int]


class Retention:
    """Deletes actions that are old enough, in the background, once a day.

    Args:
        host: Whose actions.
        days: How long they stay.
        at_first: How long after the start to begin, in seconds.
        every: How often to look whether a day has gone by, in seconds.
    """

    def __init__(
        self, host: RetentionHost, days: int, *, at_first: float = _AT_FIRST, every: float = _EVERY
    ) -> None:
        self._host = host
        self._days = days
        self._at_first = at_first
        self._every = every
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, soon, and go on every day."""
        self._task = asyncio.create_task(self._prune_daily(), name="retention")

    async def close(self) -> None:
        """Stop. What is not deleted yet is left for the next time."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def prune(self) -> None:
        """Delete what is old enough now. Cancelling leaves some of it for the next time.

        Raises:
            SeraiError: The store cannot be read or written.
        """
        store = self._host.journal.store
        behind = await store.prune(self._days, whole=[ROOT])
        renewed = [await self._renew(uri) for uri in behind]
        if any(renewed):
            await store.prune(self._days, whole=[ROOT])

    async def _prune_daily(self) -> None:
        await asyncio.sleep(self._at_first)
        done: int | None = None
        while True:
            today = day_of(self._host.now() / 1000)
            if today != done:
                try:
                    await self.prune()
                    done = today
                except SeraiError as error:
                    _log.warning(
                        "old actions could not be deleted now, and stay for the time being: %s", error
                    )
            await asyncio.sleep(self._every)

    async def _renew(self, uri: str) -> bool:
        """Have the head of a session written anew. Returns whether it was."""
        was_loaded = self._host.sessions.is_loaded(uri)
        release = self._host.sessions.hold([uri])
        try:
            session = await self._host.sessions.bring(uri)
            if session is None:
                return False  # it was disposed of, and its head was written then
            session.kept.renew_head()
            self._host.journal.touch(session.kept)
            await self._host.journal.committed()
        except SeraiError as error:
            _log.warning("the actions of %s stay: it could not be read (%s)", uri, error)
            return False
        finally:
            release()
            if not was_loaded:
                self._host.eviction.put_out(uri)
        return True
