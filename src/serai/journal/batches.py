"""Batches: what waits for the next commit, deltas merged into one, and how it becomes a transaction."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
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
"""About how many bytes an action has that is not written yet."""

Delta: TypeAlias = SessionDeltaAction | SessionReasoningAction | SessionToolCallDeltaAction
"""An action that only adds text to a part, and so may be committed with the cheaper sync."""
Writes: TypeAlias = Sequence[RelayWrite] | Callable[[], RelayWrite]
"""Changes of the relay's tables; or what makes one when its transaction begins, as things are then."""
_OF_PARTS = (SessionDeltaAction, SessionReasoningAction)
_DELTAS = frozenset({*_OF_PARTS, SessionToolCallDeltaAction})


def is_delta(action: object) -> TypeGuard[Delta]:
    """Whether it is one. Its class tells: `isinstance` takes long to say no for types of the protocol."""
    return action.__class__ in _DELTAS


class Item:
    """An action that takes a number."""

    __slots__ = (
        "_pieces",
        "_size",
        "action",
        "channel",
        "json",
        "kept",
        "only_to",
        "origin",
        "rejection",
    )

    def __init__(
        self,
        channel: str,
        action: StateAction,
        *,
        origin: bytes | None = None,
        kept: bool = True,
        rejection: str | None = None,
        only_to: Subscriber | None = None,
        encoded: bytes = b"",
    ) -> None:
        self.channel = channel
        self.action = action
        self.origin = origin
        self.kept = kept
        """Whether it goes into the database. What is not kept is published all the same."""
        self.rejection = rejection
        self.only_to = only_to
        """The one subscriber that hears of it: who sent what was rejected."""
        self.json = encoded
        """What is told and kept of it; empty as long as it is not written."""
        self._pieces: list[str] | None = None
        self._size = 0

    def merge(self, channel: str, action: StateAction) -> bool:
        """Add a delta to this one, if it continues it. Both then travel, and are kept, as one action."""
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
        """The action, with all that was merged into it."""
        action = self.action
        if self._pieces is not None and is_delta(action):
            return replace(action, content="".join(self._pieces))
        return action

    def write(self) -> bytes:
        """Its JSON, which is made if it is not there. Nothing can be merged into it then."""
        if not self.json:
            self.json = wire.encode(self.whole())
        return self.json

    def row(self) -> Row | None:
        """The row to keep, if it is kept."""
        return Row(self.channel, self.json or self.write(), self.origin) if self.kept else None

    @property
    def size(self) -> int:
        """About how many bytes it takes."""
        if self.json:
            return len(self.json)
        data = getattr(self.action, "data", None)  # what a terminal shows is by far the largest
        return len(data) if isinstance(data, str) else _ABOUT


class RecordEntry:
    """A record that is no action: it takes a number, and is not published."""

    __slots__ = ("channel", "json", "kept", "told", "writes")

    def __init__(
        self, channel: str, json: bytes, writes: Writes, told: Callable[[int], None], *, kept: bool
    ) -> None:
        self.channel = channel
        self.json = json
        self.writes = writes
        """What of the relay's tables is written with it."""
        self.told = told
        """Is called with its number once it is committed."""
        self.kept = kept
        """Whether it goes into the database itself."""


class Barrier:
    """Something that happens between two items, once all before it is committed."""

    __slots__ = ("instead", "then")

    def __init__(
        self, then: Callable[[int], None], instead: Callable[[StorageUnavailable], None] | None = None
    ) -> None:
        self.then = then
        """Is called with the number of the last item before it."""
        self.instead = instead
        """Is called in its place when nothing can be written: for who need not wait for room."""


Entry: TypeAlias = Item | RecordEntry | Barrier
"""What stands in the line for the next commit."""


def target_of(delta: Delta) -> tuple[type[Delta], str, str]:
    """Which part of which turn a delta is for."""
    part = delta.part_id if isinstance(delta, _OF_PARTS) else delta.tool_call_id
    return type(delta), delta.turn_id, part


class Measured(NamedTuple):
    """What a batch took."""

    items: int
    size: int
    """The bytes of its actions."""
    commit_seconds: float
    publish_seconds: float


def fill(batch: Batch, entries: list[Entry], touched: Iterable[KeptSession]) -> None:
    """Put into a batch the rows of a line, and what is new of the sessions that were changed."""
    sizes: defaultdict[str, list[int]] = defaultdict(list)
    rows, relay = batch.items, batch.relay
    for entry in entries:
        if type(entry) is RecordEntry:
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
    """The bytes of its actions."""
    return sum([len(row.action) for row in batch.items if row is not None])
