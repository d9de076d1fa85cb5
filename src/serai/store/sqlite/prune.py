"""Deleting old rows of the journal, a little at a time, between the batches that hosts write.

A *piece* is one short transaction, which also moves the marks of the channels: up to there their rows are
gone. So it may end after any piece, also by a crash, and be begun again from the start: what is gone is not
met again.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import dataclass, field

import msgspec

from serai.store.sqlite.connection import SQL, Database, table_of

_PIECE_BYTES, _PIECE_ROWS = 128 * 1024, 256
"""So much is looked at and goes at once, but at least one row: no batch waits for long."""


@dataclass(slots=True)
class Piece:
    """A few of the rows that are old enough."""

    until: int | None
    """Up to which number all rows were looked at; `None` when there are no more."""
    numbers: array[int] = field(default_factory=lambda: array("q"))
    """The rows that go."""
    last: dict[int, int] = field(default_factory=dict[int, int])
    """By channel: the last number that goes. All before it go, or are gone."""
    behind: set[str] = field(default_factory=set[str])
    """Sessions of which old rows stay, because no head reflects them."""
    seconds: float = 0.0
    """How long it took to delete it."""


def find(db: Database, first_day: int, whole: Collection[str], after: int) -> Piece:
    """The next piece of what was written before a day, after a number.

    Args:
        db: Only read from.
        first_day: The first day whose rows stay.
        whole: Channels whose old rows are needed by nothing.
        after: The number.
    """
    piece = Piece(until=None)
    size = looked_at = 0
    names = msgspec.json.encode(sorted(whole)).decode()
    for seq, channel, name, length, goes in db.execute(
        SQL["old_rows"], (after, first_day, names, _PIECE_ROWS)
    ):
        if size >= _PIECE_BYTES:
            return piece
        looked_at += 1
        piece.until = seq
        if goes:
            piece.numbers.append(seq)
            piece.last[channel] = seq
            size += length
        elif goes is not None:
            piece.behind.add(name)
    if looked_at < _PIECE_ROWS:
        piece.until = None
    return piece


def delete(db: Database, piece: Piece) -> None:
    """Delete the rows of a piece, within a transaction of the caller's.

    A locator goes with the last row that it lists. Until then it also lists rows that are gone: those up to
    the channel's mark.
    """
    db.execute(SQL["prune_rows"], (table_of(piece.numbers),))
    lasts = sorted(piece.last.items())
    db.executemany(SQL["prune_locators"], lasts)
    db.executemany(SQL["set_pruned"], [(last, channel) for channel, last in lasts])
