"""The workspace's events, in their order: live, and replayed from any event that is still stored.

One mechanism serves both. A follower has a place in the order. The events after it are read from the last few
events, which are in memory, or else from the journal. A slow follower lags behind, and misses nothing.

Events that were observed in sessions are live only: they have a place in the same order (`<number>.<n>`) and
are not stored. A follower that is too slow for them gets an event that says that some are missing.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from serai import contract as c
from serai.host.ledger import RELAY
from serai.relay import WorkspacePart
from serai.store.contract import StoredRow

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace

_RECENT = 2000
_MESSAGES = 500
_READ = 5000

Place = tuple[int, int]
"""A place in the order: the number of a journal record, and the number of a live event after it."""

Wanted = Callable[[c.WorkspaceEvent], bool]
"""Function that tells whether someone wants an event."""


class EventStream(WorkspacePart):
    """All events of one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        super().__init__(workspace)
        self._recent: deque[tuple[Place, dict[str, Any]]] = deque(maxlen=_RECENT)
        self._complete_after: Place = (0, 0)
        """The place after which all events are among the recent ones."""
        self._last_lost: Place = (0, 0)
        """The place of the last live event that is not among the recent ones any more."""
        self._last: Place = (0, 0)
        self._messages: OrderedDict[str, c.RelayMessage] = OrderedDict()
        self._updates = 0
        """Number of messages that were changed."""
        self._followers: set[asyncio.Event] = set()
        self.on_each: Callable[[int, dict[str, Any]], None] | None = None
        """Function that also receives each event, with its number, while somebody observes sessions."""

    def open(self) -> None:
        """Begin to receive what is committed from now on."""
        self._complete_after = (self._journal.last_seq, 0)

    @property
    def last_id(self) -> str:
        """The id of the last event, or of another journal record."""
        return str(self._journal.last_seq)

    def add(self, number: int, event: dict[str, Any]) -> None:
        """Add an event that is committed."""
        if event["type"] == "message.updated":
            self._updates += 1
            self._messages.pop(event["data"]["messageId"], None)
        self._add((number, 0), event)
        if self.on_each is not None:
            self.on_each(number, event)

    def add_live(self, number: int, kind: str, subject: str, data: dict[str, Any], at: datetime) -> None:
        """Add a live event, observed in a session with the record of this number. It is not stored."""
        place = (number, self._last[1] + 1 if self._last[0] == number else 1)
        event = {"id": f"{place[0]}.{place[1]}", "type": kind, "at": at, "subject": subject, "data": data}
        self._add(place, event)

    def _add(self, place: Place, event: dict[str, Any]) -> None:
        recent = self._recent
        if len(recent) == _RECENT:
            self._complete_after, _ = recent[0]
            if self._complete_after[1]:
                self._last_lost = self._complete_after
        self._last = place
        recent.append((place, event))
        for wake in self._followers:
            wake.set()

    def remember(self, message: c.RelayMessage) -> None:
        """Cache a message that is likely to be part of the next events."""
        self._messages[message.id] = message
        if len(self._messages) > _MESSAGES:
            self._messages.popitem(last=False)

    async def starting(self, after: str | None) -> tuple[Place, Literal["live", "replay", "gap"]]:
        """Return the place where a follower begins, and whether events are missing before it."""
        await self._journal.committed()
        now = (self._journal.last_seq, 0)
        if after is None:
            return now, "live"
        number, _, nth = after.partition(".")
        place = (int(number) if number.isdecimal() else now[0] + 1, int(nth) if nth.isdecimal() else 0)
        if place[0] > now[0] or await self._stored(place[0], place[0]) is None:
            return now, "gap"
        return place, "replay"

    async def follow(
        self, after: Place, wants: Wanted, *, live: bool = False
    ) -> AsyncGenerator[c.WorkspaceEvent]:
        """Yield every event after a place that someone wants, as they come. Cancelling ends it.

        Args:
            after: The place.
            wants: Tells whether an event is wanted.
            live: True if live events are wanted, so that the follower learns when some are missing.
        """
        wake = asyncio.Event()
        self._followers.add(wake)
        try:
            while True:
                wake.clear()
                if live and after < self._last_lost and after < self._complete_after:
                    yield self._missing(after, self._last_lost)
                until, events = await self._after(after)
                for place, event in events:
                    told = await self._published(place, event)
                    if wants(told):
                        yield told
                after = max(after, until)
                if after >= self._complete_after and (not self._recent or self._recent[-1][0] <= after):
                    await wake.wait()
        finally:
            self._followers.discard(wake)

    def _missing(self, after: Place, until: Place) -> c.WorkspaceEvent:
        """Return the event that says that live events are missing."""
        what = f"what sessions did between {_id(after)} and {_id(until)} is not told: it is not kept"
        data = {"level": "warn", "message": what, "after": _id(after), "until": _id(until)}
        return c.WorkspaceEvent(
            id=_id(until), workspace_id=self._workspace.name, type="log", at=datetime.now(UTC), data=data
        )

    async def _after(self, after: Place) -> tuple[Place, list[tuple[Place, dict[str, Any]]]]:
        """Return the next events after a place, and the place up to which these are all."""
        if after >= self._complete_after:
            events = [one for one in self._recent if one[0] > after]
            return (events[-1][0] if events else after), events
        number, _ = self._complete_after
        until = (after[0] + _READ, 0) if after[0] + _READ < number else self._complete_after
        rows = await self._stored(after[0], until[0]) or []
        kept = [((row.seq, 0), msgspec.json.decode(row.action)) for row in rows]
        return until, [one for one in kept if "data" in one[1]]

    async def _stored(self, after: int, until: int) -> list[StoredRow] | None:
        """Read events from the journal; `None` when some of them were pruned."""
        store = self._journal.store
        return await store.replay([RELAY], after=after, until=until, max_rows=_READ, max_bytes=1 << 40)

    async def _published(self, place: Place, event: dict[str, Any]) -> c.WorkspaceEvent:
        """Return an event as it is published: with the message and the agent that it names."""
        if place[1]:
            return msgspec.convert({**event, "workspaceId": self._workspace.name}, c.WorkspaceEvent)
        data = dict(event["data"])
        if event["type"].startswith(("message.", "delivery.")) and "messageId" in data:
            message = await self._message(data["messageId"])
            if message is not None:
                data["message"] = c.to_wire(message)
        if event["type"].startswith("delivery.") and (agent := self._identities.find(event["subject"])):
            data["agent"] = c.to_wire(agent.identity)
        return msgspec.convert(
            {**event, "data": data, "id": str(place[0]), "workspaceId": self._workspace.name},
            c.WorkspaceEvent,
        )

    async def _message(self, message_id: str) -> c.RelayMessage | None:
        found = self._messages.get(message_id)
        if found is None:
            updates = self._updates
            rows = await self._journal.store.relay("message", message_id)
            if rows:
                found = c.decode(rows[0][1], c.RelayMessage)
                if updates == self._updates:
                    self.remember(found)
        return found


def _id(place: Place) -> str:
    return f"{place[0]}.{place[1]}" if place[1] else str(place[0])
