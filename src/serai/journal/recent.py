"""The last envelopes, kept in memory: most clients that come back have missed little."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import NamedTuple

__all__ = ["MAX_BYTES", "MAX_ENVELOPES", "Recent", "RecentEnvelope"]

MAX_ENVELOPES = 10_000
MAX_BYTES = 4 * 1024 * 1024


class RecentEnvelope(NamedTuple):
    """An envelope as JSON, with what is needed to find it."""

    seq: int
    channel: str
    envelope: bytes


class Recent:
    """The newest envelopes, up to a bound in number and in bytes."""

    def __init__(self) -> None:
        self._envelopes: deque[RecentEnvelope] = deque()
        self._bytes = 0
        self._complete_after = 0

    def start_after(self, seq: int) -> None:
        """Nothing up to this number is known here."""
        self._complete_after = seq

    def add(self, seq: int, channel: str, envelope: bytes) -> None:
        """Keep an envelope, and let the oldest go where there are too many."""
        self._envelopes.append(RecentEnvelope(seq, channel, envelope))
        self._bytes += len(envelope)
        while len(self._envelopes) > MAX_ENVELOPES or self._bytes > MAX_BYTES:
            oldest = self._envelopes.popleft()
            self._bytes -= len(oldest.envelope)
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
                found.append(recent.envelope)
        found.reverse()
        return found
