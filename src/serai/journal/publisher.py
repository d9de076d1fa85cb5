"""Publishes what was committed: in one order, framed once for all, with few writes."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from serai.ahp.actions import StateAction
from serai.journal.batches import Barrier, Entry, Item, RecordEntry
from serai.journal.envelopes import Recent, notification
from serai.journal.subscriptions import Subscriptions

_log = logging.getLogger(__name__)

_WINDOW = 0.005
"""A batch of nothing but deltas waits at most so long for company, in seconds."""
_SHARE, _SHARE_OF_MANY, _MANY = 2, 12, 8
"""It waits so many times as long as the last publishing took: longer where many hear the same, for then most
of what publishing costs is saved."""
_SHORTEST_WINDOW = 0.0002
"""A shorter wait costs more than it saves."""


class Publisher:
    """Tells those who follow, and does what was to happen in between. A message is framed once for all."""

    def __init__(self, frame: Callable[[bytes], bytes]) -> None:
        self.subscriptions = Subscriptions()
        self.recent = Recent()
        self.last_seq = 0
        """The last number that was published."""
        self.took = 0.0
        """How long the last batch took, in seconds."""
        self.observed: Callable[[str, StateAction, int], None] | None = None
        """Is called with each action that is committed, its channel and number; `None` while nobody asks."""
        self._frame = frame
        self._fan_out = 0.0
        """How many have heard each action of it, on average."""
        self._writes = 0

    def start_after(self, seq: int) -> None:
        """Nothing up to this number is known here."""
        self.last_seq = seq
        self.recent.start_after(seq)

    @property
    def patience(self) -> float:
        """How long deltas should wait for company, in seconds, for what it saves; 0 for not at all."""
        share = _SHARE_OF_MANY if self._fan_out >= _MANY else _SHARE
        window = min(_WINDOW, share * self.took)
        return window if window >= _SHORTEST_WINDOW else 0.0

    def publish(self, entries: list[Entry], first: int) -> None:
        """Tell a batch that is committed, in order, given the number of its first action."""
        started = time.perf_counter()
        seq, self._writes = first - 1, 0
        run: list[tuple[str, bytes]] = []
        for entry in entries:
            if type(entry) is Barrier:
                self._deliver(run, seq)
                run = []
                _do(entry.then, seq)
                continue
            seq += 1
            if type(entry) is RecordEntry:
                _do(entry.told, seq)
            elif type(entry) is Item:
                if entry.only_to is None:
                    if self.subscriptions.is_followed(entry.channel):
                        run.append((entry.channel, self._message(entry, seq)))
                    self.recent.add(seq, entry)
                    if self.observed is not None:
                        _do(partial(self._observe, entry), seq)
                else:
                    self._deliver(run, seq - 1)
                    run = []
                    entry.only_to.publish(self._message(entry, seq))
        self._deliver(run, seq)
        self._fan_out = self._writes / max(1, len(entries))
        self.took = time.perf_counter() - started

    def _observe(self, item: Item, seq: int) -> None:
        if self.observed is not None:
            self.observed(item.channel, item.whole(), seq)

    def _message(self, item: Item, seq: int) -> bytes:
        action = item.json or item.write()
        return self._frame(notification(item.channel, action, seq, item.origin, item.rejection))

    def _deliver(self, run: list[tuple[str, bytes]], seq: int) -> None:
        self.last_seq = max(self.last_seq, seq)
        if run:
            self._writes += self.subscriptions.deliver(run)


def _do(effect: Callable[[int], None], seq: int) -> None:
    try:
        effect(seq)
    except Exception:  # noqa: BLE001 - one effect that fails must not stop the journal for all
        _log.exception("an effect failed after number %d", seq)
