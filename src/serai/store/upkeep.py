"""The upkeep that every store shares: how old numbers are, and what is erased with a session.

Rows have no time: of each day the first number is known, at no cost per row. What the channels of the host as
a whole say of a session, which terminals it had and what ran in them, is erased with it: the rows stay, with
their numbers, and say nothing of it any more.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

__all__ = ["RECORDS", "ROOT", "day_of", "first_day_kept", "terminals_of", "without"]

_SECONDS = 86_400


def day_of(seconds: float) -> int:
    """The day of a moment: days since 1970, UTC."""
    return int(seconds // _SECONDS)


def first_day_kept(seconds: float, days: int) -> int:
    """The first day whose rows are all to stay, so that none goes before it is so many days old.

    Rows of a day go when the last of them is old enough: at most a day later than the first.

    Raises:
        ValueError: It is not at least one day.
    """
    if days < 1:
        raise ValueError(f"rows stay for at least one day, not {days}")
    return max(0, day_of(seconds) - days)


RECORDS = "serai-terminals"
"""The channel that says which terminals there are."""
ROOT = "ahp-root://"
"""The channel that lists them to clients."""

_NOTHING = b'{"type":"terminal.disposed","uri":""}'
_LISTING = b"root/terminalsChanged"


class _Claim(msgspec.Struct):
    session: str | None = None


class _Record(msgspec.Struct):
    uri: str
    claim: _Claim | None = None


_RECORD = msgspec.json.Decoder(_Record)


def terminals_of(session: str, records: Iterable[bytes]) -> set[str]:
    """The terminals that a session has ever claimed, also those that were handed over since."""
    decoded = map(_RECORD.decode, records)
    return {record.uri for record in decoded if record.claim and record.claim.session == session}


def without(channel: str, action: bytes, terminals: set[str]) -> bytes:
    """A row of one of the two channels as it is without some terminals."""
    if channel == ROOT and _LISTING not in action:
        return action
    if channel == RECORDS:
        return _NOTHING if _RECORD.decode(action).uri in terminals else action
    decoded: Any = msgspec.json.decode(action)
    left = [one for one in decoded["terminals"] if one["resource"] not in terminals]
    return (
        action
        if len(left) == len(decoded["terminals"])
        else msgspec.json.encode({**decoded, "terminals": left})
    )
