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

__all__ = ["Pace", "Piece", "Plan", "delete", "find", "make_plan"]

_PIECE_BYTES = 128 * 1024
"""So many bytes of rows go at once, but at least one row: what is deleted is overwritten, page by page."""


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
        limits: dict[int, int] = {}
        sessions: dict[int, str] = {}
        for name in whole:
            known: int | None = db.execute(SQL["channel_id"], (name,)).get
            if known is not None:
                limits[known] = until
        # A head only ever moves forward, so that what it reflects now it reflects for good.
        for channel, name, seq in db.execute(SQL["heads_of_channels"]):
            limits[channel] = min(seq, until)
            sessions[channel] = name
    return Plan(until, limits, sessions)


def find(db: Database, plan: Plan, after: int, rows: int) -> Piece:
    """The next piece of a plan: of the rows after a number, at most so many."""
    piece = Piece(until=None)
    size = looked_at = 0
    for seq, channel, length in db.execute(SQL["old_rows"], (after, plan.until, rows)):
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
    if looked_at < rows:
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


class Pace:
    """How much goes at once, so that no batch waits for long: it learns from what the last piece took."""

    _LONG, _SHORT = 0.002, 0.001
    _MOST, _FEWEST = 2_000, 16
    _SHORTEST_REST = 0.004

    def __init__(self) -> None:
        self.rows = 128
        """How many rows the next piece should look at."""

    def took(self, seconds: float) -> float:
        """A piece took so long. Returns how long to rest: at most a quarter of the time is spent deleting."""
        if seconds > self._LONG:
            self.rows = max(self._FEWEST, self.rows // 2)
        elif seconds < self._SHORT:
            self.rows = min(self._MOST, self.rows + self.rows // 4)
        return max(self._SHORTEST_REST, 3 * seconds)
