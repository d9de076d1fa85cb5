"""Batches: made of what has gathered, and measured once they are written."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from serai.journal.items import Barrier, Item
from serai.store.contract import Batch

if TYPE_CHECKING:
    from serai.journal.sessions import KeptSession

__all__ = ["Measured", "fill", "size_of"]


class Measured(NamedTuple):
    """What a batch took."""

    items: int
    size: int
    """The bytes of its actions."""
    commit_seconds: float
    publish_seconds: float


def fill(batch: Batch, items: list[Item | Barrier], touched: Iterable[KeptSession]) -> None:
    """Put into a batch the rows of items, and what is new of the sessions that they changed."""
    sizes: dict[str, int] = {}
    for item in items:
        if isinstance(item, Item):
            batch.items.append(row := item.row())
            if row is not None:
                sizes[row.channel] = sizes.get(row.channel, 0) + len(row.action)
    for session in touched:
        session.wrote(sizes.get(session.uri, 0))
        session.save(batch, len(batch.items) - 1)


def size_of(batch: Batch) -> int:
    """The bytes of its actions."""
    return sum(len(row.action) for row in batch.items if row is not None)
