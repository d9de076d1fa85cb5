"""The pruning of old rows of the journal, a little at a time, between the batches that hosts write.

A *piece* is one short transaction, which also moves the marks of the channels: up to the mark their rows are
gone. So pruning may end after any piece, also by a crash, and start again from the beginning: deleted rows
are not found again.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import dataclass, field

import msgspec

from serai.store.sqlite.connection import SQL, Database, table_of

_PIECE_BYTES, _PIECE_ROWS = 128 * 1024, 256
"""Largest piece, in bytes and in rows, but at least one row: no batch waits for long."""


@dataclass(slots=True)
class Piece:
    """A few of the rows that are old enough."""

    until: int | None
    """Number up to which all rows were looked at; `None` when there are no more."""
    numbers: array[int] = field(default_factory=lambda: array("q"))
    """Numbers of the rows that go."""
    last: dict[int, int] = field(default_factory=dict[int, int])
    """The last number that goes, by channel. All before it go, or are gone."""
    behind: set[str] = field(default_factory=set[str])
    """Sessions whose old rows stay, because no head reflects them."""
    seconds: float = 0.0
    """Duration of its deletion, in seconds."""


def find(db: Database, first_day: int, whole: Collection[str], after: int) -> Piece:
    """Find the next piece of the rows before a day, after a number.

    Args:
        db: The database, only read from.
        first_day: The first day whose rows stay.
        whole: Channels whose old rows nothing needs.
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
