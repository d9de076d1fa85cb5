"""Envelopes as bytes: an action is encoded once, and its number is spliced in when it is known."""

from __future__ import annotations

from functools import lru_cache

import msgspec

from serai.ahp import wire
from serai.ahp.actions import ActionOrigin

__all__ = ["envelope", "notification", "origin_json"]

_PREFIX = b'{"jsonrpc":"2.0","method":"action","params":'


def envelope(
    channel: str, action: bytes, server_seq: int, origin: bytes | None = None, rejection: str | None = None
) -> bytes:
    """The JSON of an `ActionEnvelope`, from an action that is JSON already."""
    return b"".join(_pieces(channel, action, server_seq, origin, rejection))


def notification(
    channel: str, action: bytes, server_seq: int, origin: bytes | None = None, rejection: str | None = None
) -> bytes:
    """The JSON of the notification that an envelope travels as."""
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


def origin_json(origin: ActionOrigin) -> bytes:
    """The JSON of an origin."""
    return wire.encode(origin)


@lru_cache(maxsize=4096)
def _head(channel: str) -> bytes:
    return b'{"channel":%b,"action":' % msgspec.json.encode(channel)
