"""How much one client may have waiting for the disk: what it did, and the answers that it asked for.

A commit may take long, or for ever. All that a client does meanwhile waits in memory.
"""

from __future__ import annotations

from contextlib import suppress

from serai.errors import SeraiError
from serai.journal.journal import Journal

__all__ = ["EACH", "Burden"]

_MOST_BYTES = 8 * 1024 * 1024
EACH = 256
"""What a message takes beside its text, at the least."""


class Burden:
    """What of one client waits for the journal's next batch, by its size."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._batch = journal.gathering
        self._bytes = 0

    def add(self, size: int) -> None:
        """Something of so many bytes may wait from now on."""
        if self._batch != self._journal.gathering:
            self._batch, self._bytes = self._journal.gathering, 0
        self._bytes += size + EACH

    @property
    def is_too_much(self) -> bool:
        """Whether nothing should be added before the next batch is begun.

        Not so while nothing can be written: there is no telling how long that lasts, and who asks is told so.
        """
        is_much = self._bytes > _MOST_BYTES and self._batch == self._journal.gathering
        return is_much and self._journal.unavailable is None

    async def lessened(self) -> None:
        """Wait until all that waits now is written, or it turns out that it cannot be."""
        try:
            with suppress(SeraiError):
                await self._journal.committed(patient=False)
        finally:
            self._bytes = 0
