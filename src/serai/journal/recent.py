"""The last envelopes, kept in memory: most clients that come back have missed little."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from typing import NamedTuple

from serai.journal.envelopes import envelope
from serai.journal.items import Item

__all__ = ["MAX_BYTES", "MAX_ENVELOPES", "Recent"]

MAX_ENVELOPES = 10_000
MAX_BYTES = 4 * 1024 * 1024
_AROUND = 128
"""About what an envelope has around its action."""


class _Envelope(NamedTuple):
    """What an envelope is made of. It is put together when someone asks for it: few are."""

    seq: int
    channel: str
    origin: bytes | None
    action: bytes | Item
    """Its JSON; or the item, when nobody was told of it so far and it is not written."""
    size: int


class Recent:
    """The newest envelopes, up to a bound in number and in bytes."""

    def __init__(self) -> None:
        self._envelopes: deque[_Envelope] = deque()
        self._bytes = 0
        self._complete_after = 0

    def start_after(self, seq: int) -> None:
        """Nothing up to this number is known here."""
        self._complete_after = seq

    def add(self, seq: int, item: Item) -> None:
        """Keep an action with its number, and let the oldest go where there are too many."""
        envelopes = self._envelopes
        size = item.size + _AROUND
        envelopes.append(_Envelope(seq, item.channel, item.origin, item.json or item, size))
        self._bytes += size
        while len(envelopes) > MAX_ENVELOPES or self._bytes > MAX_BYTES:
            oldest = envelopes.popleft()
            self._bytes -= oldest.size
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
                action = recent.action.write() if isinstance(recent.action, Item) else recent.action
                found.append(envelope(recent.channel, action, recent.seq, recent.origin))
        found.reverse()
        return found
