"""Updates of sessions that nobody knows yet.

Several agents tell of a session before they answer the request that makes it.
"""

from __future__ import annotations

from collections.abc import Callable

from serai.acp.updates import Update

__all__ = ["Limbo"]

MOST = 16 * 1024 * 1024
"""How much is kept, in bytes of lines."""
_OVERHEAD = 256


class Limbo:
    """What waits for its session. When it is too much, the session that was heard of first loses all of it.

    Args:
        lost: Is told the id of a session whose updates were given up.
    """

    def __init__(self, lost: Callable[[str], None]) -> None:
        self._lost = lost
        self._updates: dict[str, list[tuple[Update, int]]] = {}
        self._weight = 0

    def put(self, session_id: str, update: Update, size: int) -> None:
        """Keep an update."""
        self._updates.setdefault(session_id, []).append((update, size))
        self._weight += size + _OVERHEAD
        while self._weight > MOST and self._updates:
            oldest = next(iter(self._updates))
            self.take(oldest)
            self._lost(oldest)

    def take(self, session_id: str) -> list[tuple[Update, int]]:
        """What waits for a session, with the sizes. It is taken."""
        taken = self._updates.pop(session_id, [])
        self._weight -= sum(size + _OVERHEAD for _, size in taken)
        return taken
