"""Batches: the line for the next commit, deltas merged into one, and the transaction made of it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, TypeGuard

from msgspec.structs import replace

from serai.ahp import wire
from serai.ahp.actions import (
    SessionDeltaAction,
    SessionReasoningAction,
    SessionToolCallDeltaAction,
    StateAction,
)
from serai.errors import StorageUnavailable
from serai.journal.subscriptions import Subscriber
from serai.store.contract import Batch, RelayWrite, Row

if TYPE_CHECKING:
    from serai.journal.sessions import KeptSession

_MERGED_BYTES = 64 * 1024
_ABOUT = 256
"""Assumed size of an action that is not encoded yet, in bytes."""

Delta: TypeAlias = SessionDeltaAction | SessionReasoningAction | SessionToolCallDeltaAction
"""An action that only adds text to a part, and so may be committed with the cheaper sync."""
Writes: TypeAlias = Sequence[RelayWrite] | Callable[[], RelayWrite]
"""Changes of the relay's tables, or a function that makes one when its transaction begins."""
_OF_PARTS = (SessionDeltaAction, SessionReasoningAction)
_DELTAS = frozenset({*_OF_PARTS, SessionToolCallDeltaAction})


def is_delta(action: object) -> TypeGuard[Delta]:
    """Tell whether an action is a delta, by its class: `isinstance` is slow for types of the protocol."""
    return action.__class__ in _DELTAS


@dataclass(slots=True, eq=False)
class Item:
    """An action that takes a number."""

    channel: str
    action: StateAction
    origin: bytes | None = None
    kept: bool = True
    """True when it goes into the database. It is published in any case."""
    rejection: str | None = None
    only_to: Subscriber | None = None
    """The only subscriber that hears of it: the client that dispatched it."""
    json: bytes = b""
    """The action as it is published and kept; empty until it is encoded."""
    _pieces: list[str] | None = None
    _size: int = 0

    def merge(self, channel: str, action: StateAction) -> bool:
        """Merge a delta into this one, if it continues it. Both are then published and kept as one action."""
        mine = self.action
        if channel != self.channel or not is_delta(mine) or not is_delta(action):
            return False
        if self.origin is not None or target_of(mine) != target_of(action):
            return False
        if type(action) is SessionToolCallDeltaAction and action.invocation_message is not None:
            return False
        if self._pieces is None:
            self.json = b""
            self._pieces = [mine.content]
            self._size = len(mine.content)
        if self._size + len(action.content) > _MERGED_BYTES:
            return False
        self._pieces.append(action.content)
        self._size += len(action.content)
        return True

    def whole(self) -> StateAction:
        """Return the action, with all that was merged into it."""
        action = self.action
        if self._pieces is not None and is_delta(action):
            return replace(action, content="".join(self._pieces))
        return action

    def write(self) -> bytes:
        """Return its JSON, and encode it if need be. Nothing can be merged into it afterwards."""
        if not self.json:
            self.json = wire.encode(self.whole())
        return self.json

    def row(self) -> Row | None:
        """Return the row for the database, if it is kept."""
        return Row(self.channel, self.json or self.write(), self.origin) if self.kept else None

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        if self.json:
            return len(self.json)
        data = getattr(self.action, "data", None)  # the output of a terminal is by far the largest
        return len(data) if isinstance(data, str) else _ABOUT


@dataclass(slots=True, eq=False)
class JournalRecord:
    """A record that is no action: it takes a number, and is not published."""

    channel: str
    json: bytes
    writes: Writes
    """Changes of the relay's tables that are written with it."""
    committed: Callable[[int], None]
    """Called with its number once it is committed."""
    kept: bool
    """True when it goes into the database itself."""


@dataclass(slots=True, eq=False)
class Barrier:
    """A point between two items: something happens there once all before it is committed."""

    then: Callable[[int], None]
    """Called with the number of the last item before it."""
    instead: Callable[[StorageUnavailable], None] | None = None
    """Called in its place when nothing can be written, for those who do not wait for room."""


Entry: TypeAlias = Item | JournalRecord | Barrier
"""An entry of the line for the next commit."""


def target_of(delta: Delta) -> tuple[type[Delta], str, str]:
    """Return the part of a turn that a delta is for."""
    part = delta.part_id if isinstance(delta, _OF_PARTS) else delta.tool_call_id
    return type(delta), delta.turn_id, part


class Measured(NamedTuple):
    """The measurements of a batch."""

    items: int
    size: int
    """Size of its actions, in bytes."""
    commit_seconds: float
    publish_seconds: float


def fill(batch: Batch, entries: list[Entry], touched: Iterable[KeptSession]) -> None:
    """Fill a batch with the rows of a line, and with the changes of the sessions that were touched."""
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    rows, relay = batch.items, batch.relay
    for entry in entries:
        if type(entry) is JournalRecord:
            writes = entry.writes
            if callable(writes):
                relay.append((len(rows), writes()))
            elif writes:
                relay += [(len(rows), write) for write in writes]
            rows.append(Row(entry.channel, entry.json, None) if entry.kept else None)
        elif type(entry) is Item:
            rows.append(row := entry.row())
            if row is not None:
                sizes[row.channel].append(len(row.action))
    for session in touched:
        session.wrote(sizes.get(session.uri, ()))
        session.save(batch, len(rows) - 1)


def size_of(batch: Batch) -> int:
    """Return the size of its actions, in bytes."""
    return sum([len(row.action) for row in batch.items if row is not None])
