"""Letting old actions go, once a day, where a person has said for how long they stay.

State never needs them: a session comes back from its head, its turns and the actions since that head. A
session that was left alone may have had no reason for a new head, so it gets one first.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from serai.ahp.types import ROOT
from serai.errors import SeraiError
from serai.store.upkeep import day_of

if TYPE_CHECKING:
    from serai.host.host import Host

__all__ = ["Retention"]

_log = logging.getLogger(__name__)

_AT_FIRST = 10.0
"""How long after its start the host is left alone, in seconds: clients come back then."""
_EVERY = 3600.0
"""How often it is looked whether a day has gone by, in seconds. A machine that sleeps counts no time."""


class Retention:
    """Deletes actions that are old enough, in the background.

    Args:
        host: Whose actions.
        days: How long they stay.
        at_first: How long after the start to begin, in seconds.
        every: How often to look whether a day has gone by, in seconds.
    """

    def __init__(self, host: Host, days: int, *, at_first: float = _AT_FIRST, every: float = _EVERY) -> None:
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
        host = self._host
        was_loaded = host.is_loaded(uri)
        release = host.sessions.hold([uri])
        try:
            session = await host.sessions.bring(uri)
            if session is None:
                return False  # it was disposed of, and its head was written then
            session.kept.renew_head()
            host.journal.touch(session.kept)
            await host.journal.committed()
        except SeraiError as error:
            _log.warning("the actions of %s stay: it could not be read (%s)", uri, error)
            return False
        finally:
            release()
            if not was_loaded:
                host.sessions.put_out(uri)
        return True
