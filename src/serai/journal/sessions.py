"""The stored form of a session's state: its completed turns in rows of their own, the rest in a head.

A session is read back from its newest head, its turns, and the actions since that head.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import UNSET
from msgspec.structs import replace

from serai.ahp import wire
from serai.ahp.actions import StateAction
from serai.ahp.reducers import LiveSession
from serai.ahp.types import Number, SessionState, SessionSummary, Turn
from serai.store.contract import Batch, HeadRow, SessionRow, StoredRow, TurnRow

_HEAD_AFTER = 64 * 1024
"""Bytes of actions since the last head after which a new one is written, if they exceed the head itself."""


class KeptSession:
    """A session's live state, and its changes that are not in the database yet."""

    def __init__(self, uri: str, state: SessionState, *, ordinals: Iterable[int], next_ordinal: int) -> None:
        self.uri = uri
        self.live = LiveSession(state)
        self.epoch = 1
        """The first number that can be its own: an earlier session of the same URI has another one."""
        self.told_summary = replace(state.summary)
        """The summary that was published last on the root channel."""
        self.size = 0
        """Approximate size of the state as JSON, in bytes."""
        self.events = 1
        """Number of events: its creation, and each row that is written, or about to be."""
        self._ordinals = list(ordinals)
        self._next_ordinal = next_ordinal
        self._new_turns: list[TurnRow] = []
        self._truncated_at: int | None = None
        self._summary_written: SessionSummary | None = None
        self._touched = False
        self._head_size = 0
        self._bytes_since_head = _HEAD_AFTER + 1  # a new session has no head

    @classmethod
    def create(cls, uri: str, state: SessionState) -> KeptSession:
        """Make a session that is not in the database yet. Turns that it begins with are a fork's."""
        kept = cls(uri, state, ordinals=range(len(state.turns)), next_ordinal=len(state.turns))
        kept._new_turns = [kept._turn_row(ordinal, turn) for ordinal, turn in enumerate(state.turns)]
        kept._touched = True
        return kept

    @classmethod
    def restore(
        cls, row: SessionRow, head: HeadRow, turns: list[TurnRow], rows: list[StoredRow]
    ) -> KeptSession:
        """Read a session as it was when the last of these rows was committed."""
        summary = summary_of(row)
        earlier = [turn for turn in turns if turn.ordinal < head.turns]
        state = replace(
            wire.decode(head.state, SessionState), turns=[wire.decode(turn.turn, Turn) for turn in earlier]
        )
        kept = cls(row.uri, state, ordinals=(turn.ordinal for turn in earlier), next_ordinal=head.turns)
        kept.epoch = row.epoch
        kept._head_size = len(head.state)
        kept._bytes_since_head = 0
        kept.events = head.events
        kept.size = len(head.state) + sum(len(turn.turn) for turn in turns)
        for stored in rows:
            kept.apply(wire.decode(stored.action, StateAction), summary.modified_at)
        kept.wrote([len(stored.action) for stored in rows])
        # Whatever the reducer made of the time, the summary knows: it is written with every change.
        kept.live.head.summary.modified_at = summary.modified_at
        kept._new_turns.clear()
        kept._truncated_at = None
        kept._touched = False
        kept._summary_written = summary
        kept.told_summary = replace(kept.live.head.summary)
        return kept

    def apply(self, action: StateAction, now: Number) -> None:
        """Change the state, and note the turns that are to be written."""
        turns = self.live.head.turns
        before = len(turns)
        self.live.apply(action, now)
        self._touched = True
        if len(turns) > before:
            self._ordinals.append(self._next_ordinal)
            self._new_turns.append(self._turn_row(self._next_ordinal, turns[-1]))
            self._next_ordinal += 1
        elif len(turns) < before:
            gone = self._ordinals[len(turns)]
            self._truncated_at = gone if self._truncated_at is None else min(gone, self._truncated_at)
            del self._ordinals[len(turns) :]
            # Turns that ended and went within one commit are in the journal, as actions, and nowhere else.
            self._new_turns = [turn for turn in self._new_turns if turn.ordinal < gone]

    def wrote(self, sizes: Sequence[int]) -> None:
        """Count the actions that go into the journal, by their sizes."""
        size = sum(sizes)
        self.events += len(sizes)
        self._bytes_since_head += size
        self.size += size

    def renew_head(self) -> None:
        """Let the next save write a head, whatever its size: then earlier actions are not needed."""
        self._bytes_since_head = max(_HEAD_AFTER, self._head_size) + 1
        self._touched = True

    @property
    def is_unsaved(self) -> bool:
        """True while the database lacks a change."""
        return self._touched

    def row(self) -> SessionRow:
        """Return the row of its summary."""
        summary = self.live.head.summary
        return SessionRow(self.uri, wire.encode(summary), int(summary.modified_at), self.epoch)

    def save(self, batch: Batch, last_item: int) -> None:
        """Add the unsaved changes to a batch, given the index of the batch's last item.

        The batch then reflects the whole state.
        """
        if not self._touched:
            return
        self._touched = False
        batch.epochs[self.uri] = self.epoch
        if self._truncated_at is not None:
            batch.truncations.append((self.uri, self._truncated_at))
            self._truncated_at = None
        batch.turns += self._new_turns
        self._new_turns = []
        if self.live.head.summary != self._summary_written:
            self._summary_written = replace(self.live.head.summary)
            batch.sessions.append(self.row())
        if self._bytes_since_head > max(_HEAD_AFTER, self._head_size):
            state = wire.encode(replace(self.live.snapshot(), turns=[]))
            batch.heads.append(HeadRow(self.uri, state, self._next_ordinal, last_item, self.events))
            self._head_size = len(state)
            self._bytes_since_head = 0

    def turn_at(self, turn_id: str) -> int | None:
        """Return the place of a turn in the conversation."""
        turns = self.live.head.turns
        return next((n for n, turn in enumerate(turns) if turn.id == turn_id), None)

    def _turn_row(self, ordinal: int, turn: Turn) -> TurnRow:
        return TurnRow(self.uri, ordinal, turn.id, wire.encode(turn))


def summary_of(row: SessionRow) -> SessionSummary:
    """Return the summary of a row."""
    summary = wire.decode(row.summary, SessionSummary)
    if summary.extra is not UNSET:
        summary.extra.pop("serai.folders", None)  # earlier versions kept it there
    return summary
