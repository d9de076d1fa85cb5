"""The queue of a session of the host: messages wait there until the session is idle, and then enter it.

    immediate        now; a turn that runs is cancelled first
    next-tool-call   in the turn that runs, as its steering message; when that turn ends, at idle
    next-message     together with what a person says next
    on-idle          when no turn runs and nothing of a person waits
    manual           when someone flushes

The messages that wait are in the relay's tables. Their numbers, and the few that could enter next, are in
memory.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from serai import contract as c
from serai.host.identities import Participant
from serai.host.ledger import ALL
from serai.host.session.core import is_paused
from serai.host.session.deliveries import Delivery
from serai.host.session.session import PARENT, Session
from serai.relay.delivery.queue import DeliveryQueue
from serai.relay.messages.header import MOST_MESSAGES, header, rendered, taken_together

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_WINDOW = 5 * MOST_MESSAGES
"""Most waiting deliveries that are in memory."""

_WAITS_FOR = {
    c.DeliveryMode.IMMEDIATE: "idle",
    c.DeliveryMode.ON_IDLE: "idle",
    c.DeliveryMode.NEXT_MESSAGE: "next-message",
    c.DeliveryMode.NEXT_TOOL_CALL: "next-tool-call",
    c.DeliveryMode.MANUAL: "flush",
}
BOUNDARIES = frozenset({*_WAITS_FOR.values(), "approval"})
"""All that a delivery to a session may wait for while its queue counts it."""


class SessionQueue(DeliveryQueue):
    """The queue of a session of the host, whether the session is in memory or not."""

    def __init__(self, workspace: Workspace, participant: Participant, uri: str) -> None:
        super().__init__(workspace, participant)
        self.uri = uri
        self._peek = workspace.host.sessions.peek
        self._next: dict[str, list[Delivery]] = {"idle": [], "next-message": []}
        """The deliveries that could enter next, by what they wait for: the first that wait, in order."""
        self._steering: list[Delivery] = []
        """The deliveries that enter before the next tool call; the first one is in the session's slot."""
        self._pumping: asyncio.Task[None] | None = None
        self._is_to_pump = False
        """True if something has happened since the pump looked last."""

    # -- the interface for the runner ----------------------------------------------------------------------

    @property
    def status(self) -> c.AgentStatus | None:
        """The session's status."""
        return self._host.status_of(self.uri)

    def count(self, waits_for: str, number: int = 1) -> None:
        """See `DeliveryQueue.count`."""
        if waits_for in BOUNDARIES:
            self.waiting[waits_for] += number

    @property
    def capabilities(self) -> c.AgentSessionCapabilities:
        """The agent's capabilities, with the modes that the host gives to every session."""
        return self._host.capabilities_of(self.uri)

    @property
    def is_busy(self) -> bool:
        """True while a turn runs."""
        session = self._session
        return session is not None and session.live.turn is not None

    @property
    def hops(self) -> int:
        """See `DeliveryQueue.hops`."""
        session = self._session
        return session.turns.hops if session is not None else 0

    @property
    def _session(self) -> Session | None:
        return self._peek(self.uri)

    def take(self, record: c.DeliveryRecord, message: c.RelayMessage) -> c.DeliveryRecord:
        """Let a message enter now, or hold it for its boundary."""
        entry = Delivery(record, message)
        session = self._session
        if session is not None and is_paused(session.live):
            return self._hold_paused(entry)
        is_next = _WAITS_FOR[record.mode] == "idle" and not self.waiting["idle"]
        if record.mode == c.DeliveryMode.IMMEDIATE and session is not None and session.live.turn is not None:
            interrupted = session.turns.interrupt_for_message()
            return self._enter(session, [entry], interrupted=interrupted)[0]
        if is_next and session is not None and self._may_enter(session, entry):
            return self._enter(session, [entry])[0]
        if record.mode == c.DeliveryMode.NEXT_TOOL_CALL:
            return self._steer(entry, session)
        return self._hold(entry)

    def drop(self, record: c.DeliveryRecord, why: str | None = None) -> None:  # noqa: ARG002 - it makes no difference here
        """Remove a delivery from those that wait."""
        waits_for = record.waits_for or ""
        if self.waiting[waits_for] > 0:
            self.waiting[waits_for] -= 1
        if waits_for in self._next:
            self._next[waits_for] = [one for one in self._next[waits_for] if one.id != record.id]
        if self._steering and self._steering[0].record.id == record.id and self._session is not None:
            self._session.turns.unsteer(record.id)
        self._steering = [one for one in self._steering if one.id != record.id]
        if self._session is not None:
            self._fill_slot(self._session)

    # -- waiting -------------------------------------------------------------------------------------------

    def _hold(self, entry: Delivery, **told: str) -> c.DeliveryRecord:
        """Hold a delivery, and record what it waits for."""
        record = entry.record
        waits_for = _WAITS_FOR[record.mode]
        metadata = {"heldBy": "host", "waitsFor": waits_for, "mode": record.mode, **told}
        held = self._ledger.settle(record, c.Accepted(delivery_id=record.id, metadata=metadata), own=True)
        if (window := self._next.get(waits_for)) is not None:
            is_newest = record.state == c.DeliveryState.CREATED
            if is_newest and len(window) == self.waiting[waits_for] < _WINDOW:
                window.append(Delivery(held, entry.message))
                if record.priority == c.Priority.URGENT:
                    window.sort(key=_is_normal)
            elif not is_newest or record.priority == c.Priority.URGENT:
                window.clear()  # it comes before others, so all are read again in order
        self.waiting[waits_for] += 1
        if waits_for == "idle":
            self.pump()
        elif waits_for == "next-message" and not self._next[waits_for]:
            self._host.run(self._read_next(waits_for))
        return held

    def _hold_paused(self, entry: Delivery) -> c.DeliveryRecord:
        """Hold a message until the session is resumed: nothing interrupts or steers it now."""
        if entry.record.mode == c.DeliveryMode.NEXT_TOOL_CALL:
            entry = _for_idle(entry)
        return self._hold(entry, why="the session is paused")

    def _steer(self, entry: Delivery, session: Session | None) -> c.DeliveryRecord:
        """Hold a message for the next tool call of the running turn; without a turn, for idle."""
        if session is None or session.live.turn is None or len(self._steering) >= MOST_MESSAGES:
            if session is not None and self._may_enter(session, entry) and not self.waiting["idle"]:
                return self._enter(session, [_for_idle(entry)])[0]
            return self._hold(_for_idle(entry), why="no turn runs")
        held = Delivery(self._hold(entry), entry.message)
        self._steering.append(held)
        self._steering[1:] = sorted(self._steering[1:], key=_is_normal)  # the first one is in the slot
        self._fill_slot(session)
        return held.record

    def _fill_slot(self, session: Session) -> None:
        if self._steering and session.turns.can_steer:
            entry = self._steering[0]
            session.turns.steer(entry, self._text([entry], session))

    # -- calls of the session ------------------------------------------------------------------------------

    def take_for_next_message(self) -> tuple[list[Delivery], str]:
        """Return what enters with a person's next message, and its text. It does not wait any more."""
        session = self._session
        if session is None or not self._next["next-message"]:
            return [], ""
        taken = self._take("next-message")
        if self.waiting["next-message"] and not self._next["next-message"]:
            self._host.run(self._read_next("next-message"))
        return taken, self._text(taken, session)

    def _take(self, waits_for: str) -> list[Delivery]:
        """Remove and return the waiting deliveries that enter together."""
        window = self._next[waits_for]
        count = taken_together([entry.message for entry in window])
        self.waiting[waits_for] -= count
        self._next[waits_for] = window[count:]
        return window[:count]

    async def _read_next(self, waits_for: str) -> None:
        """Read from the tables what could enter next."""
        self._next[waits_for] = await self._waiting(waits_for, _WINDOW)

    def steered(self, delivery_id: str) -> None:
        """Put the next message into the slot: the agent has the one that was there."""
        self.waiting["next-tool-call"] -= 1
        self._steering = [one for one in self._steering if one.id != delivery_id]
        if (session := self._session) is not None:
            self._fill_slot(session)

    def displaced(self, delivery_id: str) -> None:
        """Let our message wait for idle: a client has put its own into the slot."""
        for entry in [one for one in self._steering if one.id == delivery_id]:
            self._steering.remove(entry)
            self._wait_for_idle(entry, "another message took its place")

    def turn_ended(self) -> None:
        """Let what waited for a tool call of this turn wait for idle."""
        late, self._steering = self._steering, []
        for entry in late:
            if (session := self._session) is not None:
                session.turns.unsteer(entry.id)
            self._wait_for_idle(entry, "the turn ended without a tool call")

    def _wait_for_idle(self, entry: Delivery, why: str) -> None:
        """Make a message wait for idle, which has waited for a tool call until now."""
        self.waiting["next-tool-call"] -= 1
        self._hold(_for_idle(entry), why=why)

    async def recover(self) -> None:
        """Go on after a restart: what waited for a tool call waits for idle, and what can enter does."""
        for entry in await self._waiting("next-tool-call", 1000):
            self._wait_for_idle(entry, "the host was stopped")
        if self.waiting["next-message"]:
            await self._read_next("next-message")
        self.idle()

    def idle(self) -> None:
        """Start the pump, since the session may have become idle."""
        if self.waiting["idle"]:
            self.pump()

    def disposed(self) -> None:
        """Fail all that waits, since the session is gone."""
        self._steering = []
        for window in self._next.values():
            window.clear()
        self._host.run(self._fail_all())

    async def _fail_all(self) -> None:
        async with self._ledger.reading("list_open", self.participant.number, ALL) as found:
            for record, _ in found:
                if record.is_open:
                    self.drop(record)
                    self._ledger.settle(record, c.Failed(delivery_id=record.id, reason="session_disposed"))

    # -- entering ------------------------------------------------------------------------------------------

    def pump(self) -> None:
        """Let what waits for idle enter, once the session is in memory and idle."""
        session = self._session
        if session is not None and session.live.turn is not None:
            return  # the end of the turn starts the pump
        if session is not None and session.turns.is_in_process and self._next["idle"]:
            self._enter_next(session)  # there is nothing to read, and nobody to wake
            return
        self._is_to_pump = True
        if self._pumping is None or self._pumping.done():
            self._pumping = asyncio.create_task(self._pump())

    async def close(self) -> None:
        """Let nothing more enter."""
        if self._pumping is not None:
            self._pumping.cancel()
            await asyncio.wait({self._pumping})

    async def _pump(self) -> None:
        while self._is_to_pump:
            self._is_to_pump = False
            await self._let_enter()

    async def _let_enter(self) -> None:
        async with self._workspace.wakes, self._host.sessions.held(self.uri) as session:
            if session is None:
                return
            await session.began()
            if self.waiting["idle"] and not self._next["idle"] and session.is_free:
                await self._read_next("idle")
            if self._enter_next(session):
                await session.turns.handed_over()

    def _enter_next(self, session: Session) -> bool:
        """Let the next deliveries enter, if they may now. Returns whether they did."""
        window = self._next["idle"]
        if not window or not self._may_enter(session, window[0]):
            return False
        taken = self._take("idle")
        self._enter(session, taken, waiting=self._next["idle"])
        return True

    def _may_enter(self, session: Session, entry: Delivery) -> bool:
        """Tell whether a message may begin a turn now: a person's messages, and their stop, come first."""
        is_wanted = not session.was_stopped or "flushed" in entry.record.metadata
        return (
            session.is_free
            and is_wanted
            and (session.status in self._policy.safe_states or session.status == c.AgentStatus.IDLE)
        )

    def _enter(
        self,
        session: Session,
        entries: list[Delivery],
        *,
        waiting: list[Delivery] | None = None,
        interrupted: str | None = None,
    ) -> list[c.DeliveryRecord]:
        text = self._text(entries, session, waiting or [])
        return session.turns.enter(entries, text, interrupted=interrupted)

    async def _waiting(self, waits_for: str, limit: int) -> list[Delivery]:
        """Read waiting deliveries from the tables, except those that have moved on meanwhile."""
        async with self._ledger.reading(
            "waiting_deliveries", self.participant.number, waits_for, limit
        ) as found:
            return [
                Delivery(record, message)
                for record, message in found
                if message is not None and record.is_open and record.waits_for == waits_for
            ]

    def _text(self, entries: list[Delivery], session: Session, waiting: list[Delivery] | None = None) -> str:
        """Return messages as the text that the agent reads."""
        parent = (session.live.head.meta or {}).get(PARENT)
        newer = Counter(entry.message.sender.id for entry in waiting or ())
        parts: list[tuple[str, c.RelayMessage]] = []
        for _, message in entries:
            sender = self._identities.get(message.sender.id)
            head = header(
                message,
                handle=sender.handle,
                kind=sender.identity.kind,
                is_parent=sender.session is not None and sender.session == parent,
                newer=newer[message.sender.id],
            )
            parts.append((head, message))
        return rendered(parts)


def _for_idle(entry: Delivery) -> Delivery:
    """Return a delivery for the next tool call as one that waits for idle."""
    asked = c.DeliveryMode.NEXT_TOOL_CALL
    return entry._replace(record=replace(entry.record, mode=c.DeliveryMode.ON_IDLE, requested_mode=asked))


def _is_normal(entry: Delivery) -> bool:
    """Return the key that sorts urgent deliveries first."""
    return entry.record.priority != c.Priority.URGENT
