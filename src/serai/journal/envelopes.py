"""Envelopes as bytes: an action is encoded once, its number is spliced in, and the newest are kept.

Most clients that reconnect have missed little, and that is still in memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from functools import lru_cache
from typing import NamedTuple

import msgspec

from serai.journal.batches import Item

_PREFIX = b'{"jsonrpc":"2.0","method":"action","params":'


def envelope(
    channel: str, action: bytes, server_seq: int, origin: bytes | None = None, rejection: str | None = None
) -> bytes:
    """Return the JSON of an `ActionEnvelope` from the JSON of its action."""
    return b"".join(_pieces(channel, action, server_seq, origin, rejection))


def notification(
    channel: str, action: bytes, server_seq: int, origin: bytes | None = None, rejection: str | None = None
) -> bytes:
    """Return the JSON of the notification that carries an envelope."""
    pieces = _pieces(channel, action, server_seq, origin, rejection)
    pieces.insert(0, _PREFIX)
    pieces.append(b"}")
    return b"".join(pieces)


def _pieces(
    channel: str, action: bytes, server_seq: int, origin: bytes | None, rejection: str | None
) -> list[bytes]:
    pieces = [_head(channel), action, b',"serverSeq":%d' % server_seq]
    if origin is not None:
        pieces += (b',"origin":', origin)
    if rejection is not None:
        pieces += (b',"rejectionReason":', msgspec.json.encode(rejection))
    pieces.append(b"}")
    return pieces


@lru_cache(maxsize=4096)
def _head(channel: str) -> bytes:
    return b'{"channel":%b,"action":' % msgspec.json.encode(channel)


MAX_ENVELOPES = 10_000
MAX_BYTES = 4 * 1024 * 1024
_AROUND = 128
"""Assumed size of an envelope around its action, in bytes."""


class _Envelope(NamedTuple):
    """The parts of an envelope. It is put together when it is needed, which is rare."""

    seq: int
    channel: str
    origin: bytes | None
    action: bytes | Item
    """Its JSON; or the item, when it was not published and is not encoded."""
    size: int


class Recent:
    """The newest envelopes, up to a bound in number and in bytes."""

    def __init__(self) -> None:
        self._envelopes: deque[_Envelope] = deque()
        self._bytes = 0
        self._complete_after = 0

    def start_after(self, seq: int) -> None:
        """Set the number up to which nothing is known here."""
        self._complete_after = seq

    def add(self, seq: int, item: Item) -> None:
        """Keep an action with its number, and drop the oldest ones above the bounds."""
        envelopes = self._envelopes
        size = item.size + _AROUND
        envelopes.append(_Envelope(seq, item.channel, item.origin, item.json or item, size))
        self._bytes += size
        while len(envelopes) > MAX_ENVELOPES or self._bytes > MAX_BYTES:
            oldest = envelopes.popleft()
            self._bytes -= oldest.size
            self._complete_after = oldest.seq

    def after(self, seq: int, channels: Collection[str]) -> list[bytes] | None:
        """Return all envelopes of some channels above a number; `None` when some of them are gone."""
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
