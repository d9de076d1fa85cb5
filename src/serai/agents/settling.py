"""What is left of a turn that nobody follows any more."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing

from serai.acp import Item
from serai.agents.asked import PermissionAsked
from serai.agents.running import RunningTurn

__all__ = ["take_rest"]

_log = logging.getLogger(__name__)


async def take_rest(running: RunningTurn, rest: AsyncGenerator[Item, None]) -> None:
    """Take all up to the turn's end, so that the next begins at its own. Who asks is answered by nobody here.

    Args:
        running: The turn.
        rest: What comes.
    """
    async with aclosing(rest) as items:
        async for item in items:
            try:
                event = running.take(item)
            except Exception:  # noqa: BLE001 - a callback: the end has to be met all the same
                _log.exception("something in the rest of a turn was not dealt with")
                continue
            if running.end is not None:
                break
            if isinstance(event, PermissionAsked):
                event.reach(is_for_stream=False)
