"""The workspace's events, in their order: live, and again from any of them that is still there.

One mechanism serves both. A follower has a place in the order; what comes after it is read from the last few
events, which are in memory, or else from the journal. A slow follower lags behind, and misses nothing.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import AsyncGenerator, Callable
from fnmatch import fnmatchcase
from typing import Any, Literal

import msgspec

from serai.contract import RelayMessage, WorkspaceEvent, decode, to_wire
from serai.host.identities import Identities
from serai.host.ledger import RELAY
from serai.journal.journal import Journal
from serai.store.contract import StoredRow

__all__ = ["EventStream", "Wanted", "wanted"]

_RECENT = 2000
_MESSAGES = 500
_READ = 5000
_QUIET = "delivery.kept"

Wanted = Callable[[WorkspaceEvent], bool]
"""Whether someone wants to hear of an event."""


def wanted(types: tuple[str, ...] = (), agent_id: str | None = None, room: str | None = None) -> Wanted:
    """A filter by types, which may have wildcards, by the id of an agent, and by the id or name of a room."""

    def wants(event: WorkspaceEvent) -> bool:
        if types and not any(fnmatchcase(event.type, one) for one in types):
            return False
        if agent_id is not None and agent_id not in {event.actor, event.subject}:
            return False
        if room is not None:
            message: dict[str, Any] = event.data.get("message") or {}
            channel: dict[str, Any] = message.get("channel") or {}
            return room in {message.get("conversationId"), channel.get("name"), event.data.get("room")}
        return True

    return wants


class EventStream:
    """All events of one workspace.

    Args:
        journal: Where they are.
        identities: Who takes part.
        workspace: The workspace's name.
    """

    def __init__(self, journal: Journal, identities: Identities, workspace: str) -> None:
        self._journal = journal
        self._identities = identities
        self._workspace = workspace
        self._recent: deque[tuple[int, dict[str, Any]]] = deque(maxlen=_RECENT)
        self._complete_after = 0
        """All events after this number are among the recent ones."""
        self._messages: OrderedDict[str, RelayMessage] = OrderedDict()
        self._updates = 0
        """How many messages were changed."""
        self._wakes: set[asyncio.Event] = set()

    def open(self) -> None:
        """Begin: what is committed from now on is heard."""
        self._complete_after = self._journal.last_seq

    @property
    def last_id(self) -> str:
        """The id of the last event, or of something else that happened then."""
        return str(self._journal.last_seq)

    def heard(self, number: int, event: dict[str, Any]) -> None:
        """An event is committed."""
        if event["type"] == _QUIET:
            return
        if event["type"] == "message.updated":
            self._updates += 1
            self._messages.pop(event["data"]["messageId"], None)
        if len(self._recent) == _RECENT:
            self._complete_after = self._recent[0][0]
        self._recent.append((number, event))
        for wake in self._wakes:
            wake.set()

    def remember(self, message: RelayMessage) -> None:
        """A message is likely to be asked for soon, as a part of events about it."""
        self._messages[message.id] = message
        if len(self._messages) > _MESSAGES:
            self._messages.popitem(last=False)

    async def starting(self, after: str | None) -> tuple[int, Literal["live", "replay", "gap"]]:
        """From where a follower hears, and whether anything between `after` and that is no longer there."""
        await self._journal.committed()
        if after is None:
            return self._journal.last_seq, "live"
        number = int(after) if after.isdecimal() else self._journal.last_seq + 1
        if number > self._journal.last_seq or await self._stored(number, number) is None:
            return self._journal.last_seq, "gap"
        return number, "replay"

    async def follow(self, after: int, wants: Wanted) -> AsyncGenerator[WorkspaceEvent]:
        """Every event after a number that someone wants, as they come. Cancelling ends it."""
        wake = asyncio.Event()
        self._wakes.add(wake)
        try:
            while True:
                wake.clear()
                until, events = await self._after(after)
                for number, event in events:
                    told = await self._told(number, event)
                    if wants(told):
                        yield told
                after = max(after, until)
                if after >= self._complete_after and (not self._recent or self._recent[-1][0] <= after):
                    await wake.wait()
        finally:
            self._wakes.discard(wake)

    async def _after(self, after: int) -> tuple[int, list[tuple[int, dict[str, Any]]]]:
        """The next events after a number, and up to which number these are all."""
        if after >= self._complete_after:
            events = [one for one in self._recent if one[0] > after]
            return (events[-1][0] if events else after), events
        until = min(after + _READ, self._complete_after)
        rows = await self._stored(after, until) or []
        events = [(row.seq, msgspec.json.decode(row.action)) for row in rows]
        return until, [one for one in events if one[1]["type"] != _QUIET]

    async def _stored(self, after: int, until: int) -> list[StoredRow] | None:
        """Events in the journal; `None` when some of them were pruned."""
        store = self._journal.store
        return await store.replay([RELAY], after=after, until=until, max_rows=_READ, max_bytes=1 << 40)

    async def _told(self, number: int, event: dict[str, Any]) -> WorkspaceEvent:
        """An event as it is told: with the message and the agent that it names."""
        data = dict(event["data"])
        if event["type"].startswith(("message.", "delivery.")) and "messageId" in data:
            message = await self._message(data["messageId"])
            if message is not None:
                data["message"] = to_wire(message)
        if event["type"].startswith("delivery.") and (agent := self._identities.find(event["subject"])):
            data["agent"] = to_wire(agent.identity)
        return msgspec.convert(
            {**event, "data": data, "id": str(number), "workspaceId": self._workspace}, WorkspaceEvent
        )

    async def _message(self, message_id: str) -> RelayMessage | None:
        found = self._messages.get(message_id)
        if found is None:
            updates = self._updates
            rows = await self._journal.store.relay("message", message_id)
            if rows:
                found = decode(rows[0][1], RelayMessage)
                if updates == self._updates:
                    self.remember(found)
        return found
