"""Deleting old rows of the journal, a little at a time, between the batches that hosts write.

A *plan* says how far the rows of each channel may go. A *piece* of it is one short transaction, which also
moves the marks of the channels: up to there their rows are gone. So it may end after any piece, also by a
crash, and be begun again from the start: what is gone is not met again.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection
from dataclasses import dataclass, field

from serai.store.sqlite.connection import SQL, Database, table_of

__all__ = ["Piece", "Plan", "delete", "find", "make_plan"]

_PIECE_BYTES, _PIECE_ROWS = 128 * 1024, 256
"""So much is looked at and goes at once, but at least one row: no batch waits for long."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What may go."""

    until: int
    """The last number that is old enough."""
    limits: dict[int, int]
    """By channel: the last number that no state needs. Of a channel that is not listed all rows stay."""
    sessions: dict[int, str]
    """The names of those that are sessions: what their heads do not reflect stays."""


@dataclass(slots=True)
class Piece:
    """A few rows of a plan."""

    until: int | None
    """Up to which number all rows were looked at; `None` when there are no more."""
    numbers: array[int] = field(default_factory=lambda: array("q"))
    """The rows that go."""
    last: dict[int, int] = field(default_factory=dict[int, int])
    """By channel: the last number that goes. All before it go, or are gone."""
    behind: set[int] = field(default_factory=set[int])
    """Sessions of which old rows stay, because no head reflects them."""
    seconds: float = 0.0
    """How long it took to delete it."""


def make_plan(db: Database, *, first_day: int, whole: Collection[str]) -> Plan | None:
    """What may go of all that was written before a day; `None` when there is nothing so old.

    Args:
        db: Only read from.
        first_day: The first day whose rows stay.
        whole: Channels whose old rows are needed by nothing.
    """
    with db:  # one moment for all of it
        until: int = db.execute(SQL["last_before_day"], (first_day,)).get
        first: int | None = db.execute(SQL["first_number"]).get
        if first is None or first > until:
            return None
        plan = Plan(until, {}, {})
        for name in whole:
            known: int | None = db.execute(SQL["channel_id"], (name,)).get
            if known is not None:
                plan.limits[known] = until
        # A head only ever moves forward, so that what it reflects now it reflects for good.
        for channel, name, seq in db.execute(SQL["heads_of_channels"]):
            plan.limits[channel] = min(seq, until)
            plan.sessions[channel] = name
        return plan


def find(db: Database, plan: Plan, after: int) -> Piece:
    """The next piece of a plan, of the rows after a number."""
    piece = Piece(until=None)
    size = looked_at = 0
    for seq, channel, length in db.execute(SQL["old_rows"], (after, plan.until, _PIECE_ROWS)):
        if size >= _PIECE_BYTES:
            return piece
        looked_at += 1
        piece.until = seq
        limit = plan.limits.get(channel)
        if limit is None:
            continue
        if seq > limit:
            piece.behind.add(channel)
            continue
        piece.numbers.append(seq)
        piece.last[channel] = seq
        size += length
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
