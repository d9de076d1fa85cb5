"""The contract between the journal and its database.

A store keeps rows in one order and gives them their numbers. Related changes are committed together: a
`Batch` is one transaction. Code above this contract does not depend on the database.

Numbers are the store's: consecutive within a batch, ascending from batch to batch, never used twice, also
not after a crash. Items of a batch that are not kept (a rejection, a terminal's output) take a number too.
"""

from __future__ import annotations

import asyncio
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from msgspec import Struct

if TYPE_CHECKING:
    from serai.store.sqlite.reader import Reader
    from serai.store.sqlite.writer import Tuning, Writer

T = TypeVar("T")

_SHORTEST_REST = 0.004
"""Shortest pause between two pieces of pruning, in seconds: deleting takes at most a quarter of the time."""


class Row(NamedTuple):
    """An action, or another record, on its way into the journal."""

    channel: str
    action: bytes
    """JSON."""
    origin: bytes | None = None
    """JSON of the client and its own number, when a client dispatched it."""


class StoredRow(NamedTuple):
    """A row with its number."""

    seq: int
    channel: str
    action: bytes
    origin: bytes | None


class SessionRow(NamedTuple):
    """A session's summary, for lists. It is written whenever the summary has changed."""

    uri: str
    summary: bytes
    """JSON of the `SessionSummary`."""
    modified_at: int
    epoch: int = 1
    """The epoch of the session's owner: writes under another one are refused. It is the first number that can
    be the session's own."""


class HeadRow(NamedTuple):
    """A session's state but for its completed turns, as it was after some number."""

    uri: str
    state: bytes
    """JSON of the `SessionState` with empty `turns`."""
    turns: int
    """Number of turn rows that the session had, truncated ones included: the ordinal of the next one."""
    seq: int
    """The last number that it reflects. In a batch: the index of that item, or -1 for none."""
    events: int = 1
    """Number of events that it reflects: the creation, and each row of the channel up to there."""


class EventRow(NamedTuple):
    """A row of a session's channel, as one of its events."""

    number: int
    """Its number, from 2 on, without gaps, never used twice: event 1 is the creation."""
    at: int | None
    """Time of its commit, in milliseconds since 1970; `None` for rows from before times were kept."""
    action: bytes


class TurnRow(NamedTuple):
    """A completed turn. It is stored once."""

    uri: str
    ordinal: int
    """Its place in the session, from 0; never used again, also after a truncation."""
    turn_id: str
    turn: bytes
    """JSON."""


class MarkRow(NamedTuple):
    """The last number of a client: a dispatch with a number up to this one is a repeat."""

    client_id: str
    client_seq: int


class ClientRow(NamedTuple):
    """The binding of a client id."""

    client_id: str
    version: str
    """The protocol version that was negotiated."""
    token: str
    """A digest of the token that it belongs to; never the token."""


class BlobRow(NamedTuple):
    """Large content, found by its own digest."""

    digest: str
    """SHA-256, in hexadecimal."""
    content_type: str
    data: bytes
    session: str | None = None
    """Session of the content, which is erased with the last session that uses it; without one it is kept."""


class RelayWrite(NamedTuple):
    """A change of the relay's tables: a named statement of `sqlite/sql/relay.sql`."""

    statement: str
    values: tuple[Any, ...]
    """Its values, after the number of its record."""


class Batch(Struct):
    """One transaction."""

    items: list[Row | None] = []
    """The rows, in order. `None` takes a number and is not kept."""
    durable: bool = True
    """True when it must survive power loss once `append` is done. Else it survives the process."""
    epochs: dict[str, int] = {}
    """The epochs under which sessions are written; a session with another one in the store is fenced."""
    sessions: list[SessionRow] = []
    turns: list[TurnRow] = []
    truncations: list[tuple[str, int]] = []
    """Session and ordinal: turns from there on are no longer part of the conversation. They are kept.

    The batch's own turns come after it: a truncation does not reach them."""
    heads: list[HeadRow] = []
    disposed: list[str] = []
    """Sessions that are no longer listed, even when a row is written later. They are kept until purged."""
    marks: list[MarkRow] = []
    clients: list[ClientRow] = []
    blobs: list[BlobRow] = []
    relay: list[tuple[int, RelayWrite]] = []
    """Changes of the relay's tables, in order, after the items. Each gets the number of the item whose index
    precedes it."""

    @property
    def is_empty(self) -> bool:
        """True when it takes no number and writes nothing."""
        return not self.items and not self.has_more

    @property
    def has_more(self) -> bool:
        """True when it writes anything but its items."""
        return bool(
            self.sessions
            or self.turns
            or self.truncations
            or self.heads
            or self.disposed
            or self.marks
            or self.clients
            or self.blobs
            or self.relay
        )


class Opening(NamedTuple):
    """The findings of a store when it is opened."""

    last_committed: int
    """The highest number of a row that is kept, or was until it was pruned; 0 when there is none."""
    first_new: int
    """The first number that will be given out. Numbers between the two may have been seen and are lost."""
    clean: bool
    """True when the last host closed the store."""
    log_lost: bool = False
    """True when numbers were given out of which the store knows nothing: their rows are lost."""


class Store(ABC):
    """A database for the journal. One batch is written at a time; reads may overlap it.

    Errors are those of `serai.errors`: `StorageUnavailable` when nothing was written and trying again may
    help (a full disk), `StorageFailed` when it is not known what was written (a failed sync), `Fenced` when
    another owner has taken over a session, `StorageUnreadable` and its kin when opening. Reading raises
    `DatabaseCorrupt` when it meets damage, and `StorageUnavailable` when the store is not open or cannot be
    read now.

    Cancelling a read is harmless. Cancelling `append` leaves open whether the batch was written.
    """

    _tuning: Tuning

    @abstractmethod
    async def open(self) -> Opening:
        """Open, check and migrate. Records the gap between `last_committed` and `first_new`."""

    @abstractmethod
    async def close(self) -> None:
        """Close, and record that it was closed. Closing again does nothing.

        Raises:
            StorageFailed: The last sync failed. It is closed all the same.
        """

    @abstractmethod
    def append(self, batch: Batch) -> asyncio.Future[int]:
        """Write a batch as one transaction. The future's result is the number of its first item.

        It is under way when this returns, and may be done already. Whatever goes wrong, the future raises.

        An empty batch is allowed; so is one whose items are all `None`, which need not touch the disk.
        """

    # -- reading -------------------------------------------------------------------------------------------

    @abstractmethod
    async def _ask(self, job: Callable[[Reader], T]) -> T:
        """Run a job on the reader."""

    async def relay(self, query: str, *values: Any) -> list[Any]:
        """Return the rows of a named query (`sqlite/sql/`), such as those of the relay."""
        return await self._ask(lambda reader: reader.fetch(query, values))

    async def sessions(self) -> list[SessionRow]:
        """Return all sessions that are not disposed of, the last modified one first."""
        return [SessionRow(*row) for row in await self.relay("sessions")]

    async def head(self, uri: str) -> HeadRow | None:
        """Return the newest head of a session."""
        return next((HeadRow(*row) for row in await self.relay("head", uri)), None)

    async def turns(self, uri: str, *, before: int | None = None, limit: int | None = None) -> list[TurnRow]:
        """Return the last turns of a session that are not truncated, oldest first; those below an ordinal."""
        bounds = (sys.maxsize if before is None else before, -1 if limit is None else limit)
        return [TurnRow(*row) for row in reversed(await self.relay("turns", uri, *bounds))]

    async def rows(self, channel: str, after: int) -> list[StoredRow]:
        """Return the rows of one channel above a number, ascending."""
        return await self._ask(lambda reader: reader.rows(channel, after))

    async def events(self, uri: str, after: int, limit: int) -> list[EventRow]:
        """Return the first events of a session above a number, ascending; not more than a limit.

        Where the first one is not the next one, those between them were pruned.
        """
        return await self._ask(lambda reader: reader.events(uri, after, limit))

    async def replay(
        self, channels: Sequence[str], *, after: int, until: int, max_rows: int, max_bytes: int
    ) -> list[StoredRow] | None:
        """Return the rows of some channels with `after < seq <= until`, ascending.

        `None` when they are too many, or when rows above `after` were pruned: then they are not all there.
        """
        return await self._ask(lambda reader: reader.replay(channels, after, until, max_rows, max_bytes))

    async def gaps(self) -> list[tuple[int, int]]:
        """Return, for each start, the last committed number before it and the first new one."""
        return await self.relay("openings")

    async def client(self, client_id: str) -> ClientRow | None:
        """Return the binding of a client id."""
        return next((ClientRow(*row) for row in await self.relay("client", client_id)), None)

    async def mark(self, client_id: str) -> int:
        """Return the last number of a client; 0 without one."""
        return next((mark for (mark,) in await self.relay("mark", client_id)), 0)

    async def blob(self, digest: str) -> BlobRow | None:
        """Return large content by its digest."""
        return next((BlobRow(*row) for row in await self.relay("blob", digest)), None)

    # -- care ----------------------------------------------------------------------------------------------

    @abstractmethod
    async def _write(self, job: Callable[[Writer], T]) -> T:
        """Run a job on the writer."""

    async def index_words(self) -> bool:
        """Index some messages and turns for searching, if any are new. Returns whether more are left."""
        return await self._write(lambda writer: writer.index_words())

    async def prune(self, days: int, *, whole: Collection[str] = ()) -> list[str]:
        """Delete rows that are more than so many days old and that no state needs.

        Of a session the rows that its newest head reflects go, also when it is disposed of; of the channels
        in `whole` all rows go; of other channels none. Heads, turns and all else stay. Numbers continue.

        Rows are deleted in short pieces, between batches. Cancelling it, or a crash, leaves some of them for
        the next time. Pages that become free are overwritten, and used again: a file does not get shorter.

        Returns:
            The sessions of which old rows stay, because their heads do not reflect them.

        Raises:
            StorageFailed: It is not known what is on the disk.
            StorageUnavailable: The disk is full, or the store was closed. Some rows are left.
        """
        first_day = max(0, day_of(self._tuning.now()) - days)
        behind: set[str] = set()
        after: int | None = 0
        while after is not None:
            piece = await self._write(lambda writer, after=after: writer.prune(first_day, whole, after))
            behind |= piece.behind
            after = piece.until
            await asyncio.sleep(max(_SHORTEST_REST, 3 * piece.seconds))
        return sorted(behind)

    @abstractmethod
    async def check(self, *, full: bool) -> list[str]:
        """Return the problems of the database; empty when there are none."""


def settled(result: T) -> asyncio.Future[T]:
    """Make a future with a result."""
    future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
    future.set_result(result)
    return future


def failed(error: Exception) -> asyncio.Future[Any]:
    """Make a future with an exception."""
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.set_exception(error)
    return future


def day_of(seconds: float) -> int:
    """Return the day of a moment: days since 1970, UTC. Of each day the store knows the first number."""
    return int(seconds // 86_400)
