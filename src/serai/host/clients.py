"""Who is connected, how far each client has counted, and whom to ask for what a client has."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any, Protocol

from serai.ahp import wire
from serai.errors import ConnectionLost
from serai.journal.journal import Journal
from serai.journal.subscriptions import Subscriber
from serai.store.contract import MarkRow


class ClientLink(Subscriber, Protocol):
    """One connection of a client."""

    async def ask(self, method: str, params: wire.Value) -> Any:
        """Ask the client something and wait for its answer.

        Raises:
            ProtocolError: The client says no, or does not answer.
            ConnectionLost: The client is gone.
        """
        ...


@dataclass(slots=True)
class Count:
    """How far a client has counted since it last began anew. Connections that share an id may count apart."""

    mark: int


class Clients:
    """The clients that are connected. One client may have several connections; the newest one is asked."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._links: dict[str, list[ClientLink]] = {}
        self._counts: dict[str, Count] = {}
        """How the clients that are connected count, by their newest connection that began anew. Of those that
        are gone, until what they did is written."""
        self._at_work: Counter[str] = Counter()
        """How many connections of a client may still do something, also some that are gone."""
        self.handshakes = asyncio.Lock()
        """Held while a client id is looked up and bound, so that two who want it do not both get it."""

    def connected(self, client_id: str, link: ClientLink) -> None:
        """A client has one more connection."""
        self._links.setdefault(client_id, []).append(link)

    def disconnected(self, client_id: str, link: ClientLink) -> bool:
        """A client has one connection less. Returns whether it is gone with it.

        What came on that connection may still be under way, until it is `finished`.
        """
        links = self._links[client_id]
        links.remove(link)
        if links:
            return False
        del self._links[client_id]
        return True

    def began(self, client_id: str) -> None:
        """A connection turns out to be a client's, though it may be gone by now: what came on it counts."""
        self._at_work[client_id] += 1

    def finished(self, client_id: str) -> None:
        """Nothing more will come of a connection that is gone."""
        self._at_work[client_id] -= 1
        # Who comes back asks the store for its mark, which is right only when all is written.
        self._journal.then(lambda _seq: self._forget(client_id))

    def _forget(self, client_id: str) -> None:
        if self._at_work[client_id] <= 0:
            del self._at_work[client_id]
            self._counts.pop(client_id, None)

    def is_connected(self, client_id: str) -> bool:
        """Whether a client has a connection."""
        return client_id in self._links

    def ids(self) -> list[str]:
        """Those who are connected, the one that came last first."""
        return list(reversed(self._links))

    def count(self) -> int:
        """How many connections there are."""
        return sum(map(len, self._links.values()))

    async def ask(self, client_id: str, method: str, params: wire.Value) -> Any:
        """Ask a client something and wait for its answer. Cancelling forgets the question.

        Raises:
            ProtocolError: The client says no, or does not answer.
            ConnectionLost: It is not connected, or goes away meanwhile.
        """
        links = self._links.get(client_id)
        if not links:
            raise ConnectionLost(f"the client {client_id!r} is not connected")
        return await links[-1].ask(method, params)

    def start_counting(self, client_id: str) -> Count:
        """A client begins to count anew, on one of its connections."""
        return self._follow(client_id, Count(0))

    def go_on_counting(self, client_id: str, mark: int) -> Count:
        """A client goes on from a mark, or from where another connection of its own is by now."""
        return self._follow(client_id, self._counts.get(client_id) or Count(mark))

    def _follow(self, client_id: str, count: Count) -> Count:
        self._counts[client_id] = count
        self._journal.side.marks.append(MarkRow(client_id, count.mark))
        return count

    def is_repeat(self, count: Count, client_seq: int) -> bool:
        """Whether a client's number has come before. Some clients do not count: 0 never has."""
        return client_seq != 0 and client_seq <= count.mark

    def take(self, client_id: str, count: Count, client_seq: int) -> None:
        """Take a number that is no repeat. It is remembered, also on disk, with the next commit."""
        if client_seq == 0:
            return
        count.mark = client_seq
        if self._counts.get(client_id) is count:  # what it would go on from
            self._journal.side.marks.append(MarkRow(client_id, client_seq))
