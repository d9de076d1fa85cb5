"""The last envelopes, kept in memory: most clients that come back have missed little."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from serai.journal.envelopes import envelope

__all__ = ["MAX_BYTES", "MAX_ENVELOPES", "Recent", "RecentEnvelope"]

MAX_ENVELOPES = 10_000
MAX_BYTES = 4 * 1024 * 1024
_AROUND = 128
"""About what an envelope has around its action."""


class RecentEnvelope(NamedTuple):
    """What an envelope is made of. It is put together when someone asks for it: few are."""

    seq: int
    channel: str
    action: bytes
    origin: bytes | None


class Recent:
    """The newest envelopes, up to a bound in number and in bytes."""

    def __init__(self) -> None:
        self._envelopes: deque[RecentEnvelope] = deque()
        self._bytes = 0
        self._complete_after = 0

    def start_after(self, seq: int) -> None:
        """Nothing up to this number is known here."""
        self._complete_after = seq

    def add(self, seq: int, channel: str, action: bytes, origin: bytes | None) -> None:
        """Keep an envelope, and let the oldest go where there are too many."""
        envelopes = self._envelopes
        envelopes.append(RecentEnvelope(seq, channel, action, origin))
        self._bytes += len(action) + _AROUND
        while len(envelopes) > MAX_ENVELOPES or self._bytes > MAX_BYTES:
            oldest = envelopes.popleft()
            self._bytes -= len(oldest.action) + _AROUND
            self._complete_after = oldest.seq

    def after(self, seq: int, channels: Collection[str]) -> list[bytes] | None:
        """All envelopes of some channels above a number; `None` when some of them are no longer here."""
        if seq < self._complete_after:
            return None
        found: list[bytes] = []
        for recent in reversed(self._envelopes):
            if recent.seq <= seq:
                break
            if recent.channel in channels:
                found.append(envelope(recent.channel, recent.action, recent.seq, recent.origin))
        found.reverse()
        return found
