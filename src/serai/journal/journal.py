"""The journal: one order for all actions, on disk before anyone hears of them.

    append → (waits) → one transaction for all that waits → publish, in order

An action is applied to the host's state at once and waits for the next commit. While a commit runs, what
arrives gathers for the next one. Only when it is committed does it have its number, and only then is it
published. Answers to requests and effects on agents wait in the same line, as barriers: whatever anyone
observes has been committed before.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from serai.ahp import wire
from serai.ahp.actions import ActionOrigin, StateAction
from serai.errors import StorageUnavailable
from serai.journal.batches import (
    Barrier,
    Entry,
    Item,
    JournalRecord,
    Measured,
    Writes,
    fill,
    is_delta,
    size_of,
)
from serai.journal.publisher import Publisher
from serai.journal.standstill import MOST_BYTES_ASIDE, Standstill
from serai.journal.subscriptions import Subscriber
from serai.store.contract import Batch, BlobRow, Opening, Store

if TYPE_CHECKING:
    from serai.journal.sessions import KeptSession

__all__ = ["Journal", "Measured"]

_log = logging.getLogger(__name__)

_MOST = 0.7
"""Share of the wait after which the next entry ends it: that saves the loop one wake-up."""
_WAITING_BYTES = 8 * 1024 * 1024
"""Bytes waiting for a commit above which neither agents nor clients are read."""
_AROUND = 64
"""Assumed size of an action beside its text, in bytes."""
_ABOUT = 192
"""Assumed size of an action that is not encoded yet, in bytes."""
_RETRY = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0)
"""Seconds before each retry of a batch while the disk is full."""


class Journal:
    """One ordered, durable log, and its followers.

    All methods but `open`, `close`, `committed` and `room` return at once and are called on the event loop.
    A message becomes bytes on the wire with `frame`, once for all who follow.
    """

    def __init__(self, store: Store, frame: Callable[[bytes], bytes]) -> None:
        self.store = store
        self._publisher = Publisher(frame)
        self.subscriptions = self._publisher.subscriptions
        self.recent = self._publisher.recent
        self.measured: Callable[[Measured], None] = _ignore
        """Called after each batch that was committed."""
        self.recent_blobs: deque[BlobRow] = deque(maxlen=16)
        """The newest committed content, while someone observes."""
        self._waiting: list[Entry] = []
        self._waiting_bytes = 0
        self._urgent = False
        self._side = Batch()  # what goes into the next transaction beside its items
        self._touched: dict[str, KeptSession] = {}
        self._busy = True
        """True while a batch is being written, or the journal is not open: entries wait for the next
        batch."""
        self._due: asyncio.Handle | None = None
        """The timer or call that begins the next batch."""
        self._enough = math.inf
        """Time from which on the next entry begins the batch."""
        self._is_writing = False
        """True while the store writes: it has given out numbers that nobody knows yet."""
        self._standstill = Standstill()
        self._is_closing = False
        self._room = asyncio.Event()
        self._room.set()
        self._held_up: set[Callable[[], None]] = set()
        self._ended: asyncio.Future[None] | None = None

    # -- opening and closing -------------------------------------------------------------------------------

    async def open(self) -> Opening:
        """Open the store and begin to write."""
        opening = await self.store.open()
        self._publisher.start_after(opening.first_new - 1)
        self._ended = asyncio.get_running_loop().create_future()
        self._go_on()
        return opening

    async def close(self) -> None:
        """Write what waits, then close the store. Cancelling leaves the rest unwritten."""
        ended = self._ended
        if ended is not None:
            if not ended.done() and self.unavailable is None:
                self._is_closing = True
                await self.committed()
            ended.cancel()
        if self._due is not None:
            self._due.cancel()
        try:
            await self.store.close()
        except Exception:
            if ended is None or ended.cancelled():
                raise
            # Writing had failed before, and why it did is what the caller should hear of.
            _log.warning("the store did not close", exc_info=True)

    @property
    def ended(self) -> asyncio.Future[None]:
        """A future that is done when writing has ended. If it has an error, the host has to end too."""
        if self._ended is None:
            raise RuntimeError("the journal is not open")
        return self._ended

    def observe(self, observed: Callable[[str, StateAction, int], None] | None) -> None:
        """Set the observer of each committed action, its channel and number; or (`None`) remove it."""
        self._publisher.observed = observed
        self.recent_blobs.clear()

    @property
    def last_seq(self) -> int:
        """The last number that was published."""
        return self._publisher.last_seq

    @property
    def unavailable(self) -> StorageUnavailable | None:
        """The reason why nothing can be written at the moment."""
        return self._standstill.reason

    # -- what waits for the next commit --------------------------------------------------------------------

    def append(
        self,
        channel: str,
        action: StateAction,
        *,
        origin: ActionOrigin | None = None,
        session: KeptSession | None = None,
        kept: bool = True,
        encoded: bytes = b"",
    ) -> None:
        """Let an action happen that was applied already.

        Args:
            channel: The channel of the action.
            action: The action.
            origin: The client that dispatched it.
            session: The session whose state it changed: the change is kept with it.
            kept: Whether it is written to disk. It is numbered and published in any case.
            encoded: Its JSON, made before the action is applied: what cannot be written must not
                happen. An action that is surely valid may come without: then it is encoded when
                it is needed.
        """
        if session is not None:
            self._touched[session.uri] = session
        if is_delta(action):
            self._count(len(action.content))
            last = self._waiting[-1] if self._waiting else None
            if origin is None and isinstance(last, Item) and last.merge(channel, action):
                self._company_has_come()
                return
            urgent = False
        else:
            self._count(len(encoded) or _ABOUT)
            urgent = True
        whose = wire.encode(origin) if origin else None
        self._wait(Item(channel, action, origin=whose, kept=kept, json=encoded), urgent=urgent)

    def record(
        self,
        channel: str,
        record: bytes,
        *,
        writes: Writes = (),
        committed: Callable[[int], None] = lambda _number: None,
        kept: bool = True,
    ) -> None:
        """Record something that is no action: it has its place in the order, and is not published.

        Args:
            channel: The channel of the record.
            record: JSON.
            writes: Changes of the relay's tables that are committed with it.
            committed: Called with its number once it is committed. Its exceptions are logged.
            kept: Whether the record itself is written, or only its `writes`.
        """
        self._count(len(record))
        self._waiting.append(JournalRecord(channel, record, writes, committed, kept))
        if not self._urgent:
            self._hurry()

    @property
    def is_crowded(self) -> bool:
        """True when there are not even numbers for rejections, and too many of them wait."""
        return self._standstill.bytes_aside > MOST_BYTES_ASIDE

    def reject(
        self,
        channel: str,
        action: StateAction,
        origin: ActionOrigin,
        reason: str,
        sender: Subscriber,
        *,
        waits: bool = False,
    ) -> None:
        """Send an action back to the client that dispatched it. It takes a number and is not kept.

        While nothing can be written, a rejection passes the line, unless it `waits` because it says that
        something is written.
        """
        item = Item(channel, action, origin=wire.encode(origin), kept=False, rejection=reason, only_to=sender)
        if waits or self.unavailable is None:
            self._wait(item, urgent=True)
        else:
            self._standstill.put_aside(item)
            self._tell_aside()

    def echo(self, channel: str, action: StateAction, origin: ActionOrigin, sender: Subscriber) -> None:
        """Publish an action to the client that dispatched it alone. It takes a number and is not kept."""
        self._wait(Item(channel, action, origin=wire.encode(origin), kept=False, only_to=sender), urgent=True)

    def then(
        self, effect: Callable[[int], None], *, instead: Callable[[StorageUnavailable], None] | None = None
    ) -> None:
        """Call something once all that waits is committed and published.

        Args:
            effect: Called with the last number before it. Its exceptions are logged.
            instead: Called in its place, with the reason, as soon as nothing can be written. Without it,
                the effect waits for room.
        """
        if instead is not None and (reason := self._standstill.reason) is not None:
            instead(reason)
        else:
            self._wait(Barrier(effect, instead), urgent=True)

    @property
    def side(self) -> Batch:
        """Other rows of the next transaction: clients, marks, blobs, disposals."""
        self._hurry()
        return self._side

    def touch(self, session: KeptSession) -> None:
        """Let the next transaction save the changes of a session."""
        self._touched[session.uri] = session

    async def committed(self, *, patient: bool = True) -> None:
        """Wait until all that waits now is committed and published. Cancelling changes nothing.

        Args:
            patient: Whether to wait until there is room on a full disk, too.

        Raises:
            StorageUnavailable: Nothing can be written now, and the caller is not patient.
            SeraiError: Writing has failed.
        """
        done: asyncio.Future[StorageUnavailable | None] = asyncio.get_running_loop().create_future()

        def settle(outcome: int | StorageUnavailable) -> None:
            if not done.done():
                done.set_result(None if isinstance(outcome, int) else outcome)

        self.then(settle, instead=None if patient else settle)
        await asyncio.wait({done, self.ended}, return_when=asyncio.FIRST_COMPLETED)
        if not done.done():
            done.cancel()
            if not self.ended.cancelled():  # it was closed: what waits stays unwritten
                self.ended.result()
        elif (unavailable := done.result()) is not None:
            raise unavailable

    def holds_up(self, go_on: Callable[[], None]) -> bool:
        """Tell whether so much waits for the disk that no more should be read now.

        If so, `go_on` is called once there is room, or once it is known that nothing can be written: on a
        full disk people are told so instead of being held up.
        """
        if self._room.is_set() or self.unavailable is not None:
            return False
        self._held_up.add(go_on)
        return True

    def _let_go_on(self) -> None:
        held_up, self._held_up = self._held_up, set()
        for go_on in held_up:
            go_on()

    async def room(self) -> None:
        """Wait while too much waits for the disk: producers of much call this first."""
        await self._room.wait()

    def _wait(self, item: Entry, *, urgent: bool) -> None:
        self._waiting.append(item)
        if urgent:
            self._hurry()
        elif not self._busy:
            if self._due is None:
                self._wait_for_company()
            else:
                self._company_has_come()

    def _hurry(self) -> None:
        """Begin a durable batch at the end of this tick, without waiting for more entries."""
        if not self._urgent:
            self._urgent = True
            if not self._busy:
                self._begin_soon()

    def _company_has_come(self) -> None:
        # There is nothing but text in the batch, so nobody does anything when it is told: it may be now.
        if time.perf_counter() > self._enough and not self._busy:
            if self._due is not None:
                self._due.cancel()
            self._begin()

    def _begin_soon(self) -> None:
        self._enough = math.inf
        if self._due is not None:
            self._due.cancel()
        self._due = asyncio.get_running_loop().call_soon(self._begin)

    def _wait_for_company(self) -> None:
        """Begin a batch of nothing but deltas after a short wait for more."""
        window = self._publisher.patience
        if not window:
            self._begin_soon()
            return
        self._enough = time.perf_counter() + _MOST * window
        self._due = asyncio.get_running_loop().call_later(window, self._begin)

    def _count(self, size: int) -> None:
        self._waiting_bytes += size + _AROUND
        if self._waiting_bytes > _WAITING_BYTES:
            self._room.clear()

    # -- one batch after the other -------------------------------------------------------------------------
    # It goes from callback to callback. A task of its own would be scheduled twice for each batch, and of
    # what a stream costs that is a twentieth.

    def _begin(self) -> None:
        """Close the batch that has gathered, and write it."""
        self._busy, self._due, self._enough = True, None, math.inf
        if self.ended.done():
            return
        try:
            items, batch = self._close_batch()
            if batch.is_empty:
                self._written(items, batch, self.last_seq + 1)  # nothing but barriers: they wait for nothing
            else:
                self._try(items, batch, 0)
        except Exception as error:  # noqa: BLE001 - what was applied cannot be written: nothing may follow it
            self.ended.set_exception(error)

    def _try(self, items: list[Entry], batch: Batch, attempt: int) -> None:
        begun = time.perf_counter()

        def tried(writing: asyncio.Future[int]) -> None:
            try:
                first = writing.result()
            except StorageUnavailable as error:
                # The state is ahead of the disk: nobody has heard of it, and it is tried again as it is.
                self._stand_still(error, items, batch, attempt)
                return
            self._room.set()
            self._let_go_on()
            if self._standstill.reason is not None and (late := self._standstill.end()):
                self._waiting += late
                self._urgent = True
            self._written(items, batch, first, time.perf_counter() - begun)

        self._write(batch, tried)

    def _stand_still(self, error: StorageUnavailable, items: list[Entry], batch: Batch, attempt: int) -> None:
        self._standstill.begin(error)
        self._room.clear()
        self._let_go_on()
        if self._is_closing:
            self.ended.cancel()
            return
        waiting, self._waiting = self._waiting, []
        items = self._standstill.stay(items)
        self._waiting[:0] = self._standstill.stay(waiting)
        self._tell_aside()
        self._try_later(items, batch, attempt)

    def _try_later(self, items: list[Entry], batch: Batch, attempt: int) -> None:
        def again() -> None:
            if self._is_writing:
                self._try_later(items, batch, attempt)
            else:
                self._try(items, batch, attempt + 1)

        wait = _RETRY[min(attempt, len(_RETRY) - 1)]
        self._due = asyncio.get_running_loop().call_later(wait, again)

    def _tell_aside(self) -> None:
        """Publish the rejections, unless a batch is being written, which may have lower numbers."""
        if not self._is_writing:
            self._standstill.tell_aside(self._write, self._publisher.publish)

    def _write(self, batch: Batch, tell: Callable[[asyncio.Future[int]], None]) -> None:
        """Write a batch, one at a time, and then call back with the outcome."""

        def written(writing: asyncio.Future[int]) -> None:
            self._is_writing = False
            if writing.cancelled():
                self.ended.cancel()
            if self.ended.done():
                return
            try:
                tell(writing)
            except Exception as error:  # noqa: BLE001 - it is not known what was written, or who has heard
                self.ended.set_exception(error)

        self._is_writing = True
        writing = self.store.append(batch)
        if writing.done():
            written(writing)
        else:
            writing.add_done_callback(written)

    def _written(self, items: list[Entry], batch: Batch, first: int, commit_seconds: float = 0.0) -> None:
        """Publish a written batch, and continue with the entries that came meanwhile."""
        if self._publisher.observed is not None:
            self.recent_blobs.extend(batch.blobs)
        self._publisher.publish(items, first)
        if not batch.is_empty:
            took = self._publisher.took
            self.measured(Measured(len(batch.items), size_of(batch), commit_seconds, took))
        if batch.durable:
            # Those who were answered act again in this tick: their actions belong to the next batch.
            self._due = asyncio.get_running_loop().call_soon(self._go_on)
        else:
            self._go_on()

    def _go_on(self) -> None:
        self._due = None
        if self._urgent:
            self._begin()
            return
        self._busy = False
        if self._waiting:
            self._wait_for_company()

    def _close_batch(self) -> tuple[list[Entry], Batch]:
        items, self._waiting = self._waiting, []
        batch, self._side = self._side, Batch()
        batch.durable, self._urgent = self._urgent, False
        self._waiting_bytes = 0
        touched, self._touched = self._touched, {}
        fill(batch, items, touched.values())
        return items, batch


def _ignore(batch: Measured) -> None:
    del batch
