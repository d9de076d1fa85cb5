"""When Python looks for garbage in a host.

Left alone, it looks through all objects whenever a quarter more of them are there, in the middle of whatever
happens. With some hundred sessions in memory that takes 16 to 30 ms, in which everyone waits. What a host
lets go is nearly always found without a search, by counting references. So the search through all objects
waits for a moment in which nothing happens, or until there is a reason not to wait.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable

__all__ = ["collect_in_pauses", "is_due", "settle"]

_YOUNG, _MIDDLE = 20_000, 10
"""With so many more objects the youngest are looked through; each tenth time, the middle ones too."""
_NEVER = 1 << 30
_PAUSE = 2.0
"""So long nothing has happened when all are looked through, in seconds."""
_ENOUGH, _TOO_MANY = 1, 50
"""How often the middle ones were looked through before it pays, and before it waits no longer."""


def settle() -> None:
    """Begin: what is there now stays, and is not looked at again. All that is old is left to the pauses."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_YOUNG, _MIDDLE, _NEVER)


async def collect_in_pauses(moves: Callable[[], object]) -> None:
    """Look through all objects when nothing happens. Goes on until it is cancelled.

    Args:
        moves: Something that is different after anything has happened.
    """
    before = moves()
    while True:
        await asyncio.sleep(_PAUSE)
        now = moves()
        if is_due(gc.get_count()[2], is_pause=now == before):
            gc.collect()
        before = now


def is_due(looks: int, *, is_pause: bool) -> bool:
    """Whether to look through all objects now.

    Args:
        looks: How often all but the oldest were looked through since.
        is_pause: Whether nothing happens at the moment.
    """
    return looks >= (_ENOUGH if is_pause else _TOO_MANY)
