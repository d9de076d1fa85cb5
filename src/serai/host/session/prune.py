"""Pruning: old actions are deleted after some days, where a person has asked for it.

State never needs old actions: a session is read from its head, its turns and the actions since that head.
A session that was idle may have had no reason for a new head, so it gets one first.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

from serai.ahp.types import ROOT
from serai.errors import SeraiError
from serai.host.session.sessions import Sessions
from serai.journal.journal import Journal
from serai.store.contract import day_of

_log = logging.getLogger(__name__)

_AT_FIRST = 10.0
"""Delay after the start of the host, in seconds: clients come back then."""
_EVERY = 3600.0
"""Seconds between two checks for a new day. A machine that sleeps counts no time."""


async def prune_daily(
    journal: Journal,
    sessions: Sessions,
    days: int,
    now: Callable[[], int],
    *,
    at_first: float = _AT_FIRST,
    every: float = _EVERY,
) -> None:
    """Delete old actions soon and then once a day, until this is cancelled."""
    await asyncio.sleep(at_first)
    done: int | None = None
    while True:
        today = day_of(now() / 1000)
        if today != done:
            try:
                await prune(journal, sessions, days)
                done = today
            except SeraiError as error:
                _log.warning("old actions could not be deleted now, and stay for the time being: %s", error)
        await asyncio.sleep(every)


async def prune(journal: Journal, sessions: Sessions, days: int) -> None:
    """Delete actions that are older than some days. Cancelling leaves some of them for the next time.

    Raises:
        SeraiError: The store cannot be read or written.
    """
    behind = await journal.store.prune(days, whole=[ROOT])
    renewed = [await _renew_head(journal, sessions, uri) for uri in behind]
    if any(renewed):
        await journal.store.prune(days, whole=[ROOT])


async def _renew_head(journal: Journal, sessions: Sessions, uri: str) -> bool:
    """Write the head of a session anew. Returns whether it was written."""
    was_loaded = sessions.is_loaded(uri)
    try:
        async with sessions.held(uri) as session:
            if session is None:
                return False  # it was disposed of, and its head was written then
            session.kept.renew_head()
            journal.touch(session.kept)
            await journal.committed()
    except SeraiError as error:
        _log.warning("the actions of %s stay: it could not be read (%s)", uri, error)
        return False
    finally:
        if not was_loaded:
            sessions.put_out(uri)
    return True
