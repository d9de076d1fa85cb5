"""The connected clients, and how far each of them has counted."""

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
    """The last number that a client has used. Connections that share an id may count apart."""

    mark: int


class Clients:
    """The clients that are connected. One client may have several connections; the newest one is asked."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._links: dict[str, list[ClientLink]] = {}
        self._counts: dict[str, Count] = {}
        """The counts of clients, by their newest connection that began anew; of a client that is gone, until
        its actions are written."""
        self._at_work: Counter[str] = Counter()
        """Number of a client's connections that may still act, also of some that are gone."""
        self.handshakes = asyncio.Lock()
        """Held while a client id is looked up and bound, so that two who want it do not both get it."""

    def connected(self, client_id: str, link: ClientLink) -> None:
        """Add a connection of a client."""
        self._links.setdefault(client_id, []).append(link)

    def disconnected(self, client_id: str, link: ClientLink) -> bool:
        """Remove a connection of a client. Returns whether it was the last one.

        Actions of that connection may still be running, until it is `finished`.
        """
        links = self._links[client_id]
        links.remove(link)
        if links:
            return False
        del self._links[client_id]
        return True

    def began(self, client_id: str) -> None:
        """Note that a connection is a client's, though it may be gone by now: its actions count."""
        self._at_work[client_id] += 1

    def finished(self, client_id: str) -> None:
        """Note that a connection that is gone does nothing any more."""
        self._at_work[client_id] -= 1
        # A client that comes back asks the store for its mark, which is right only when all is written.
        self._journal.then(lambda _seq: self._forget(client_id))

    def _forget(self, client_id: str) -> None:
        if self._at_work[client_id] <= 0:
            del self._at_work[client_id]
            self._counts.pop(client_id, None)

    def is_connected(self, client_id: str) -> bool:
        """Tell whether a client has a connection."""
        return client_id in self._links

    def ids(self) -> list[str]:
        """Return the ids of the connected clients, the newest one first."""
        return list(reversed(self._links))

    def count(self) -> int:
        """Return the number of connections."""
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
        """Begin a client's count anew, on one of its connections."""
        return self._follow(client_id, Count(0))

    def go_on_counting(self, client_id: str, mark: int) -> Count:
        """Continue a client's count from a mark, or from where another connection of its own is by now."""
        return self._follow(client_id, self._counts.get(client_id) or Count(mark))

    def _follow(self, client_id: str, count: Count) -> Count:
        self._counts[client_id] = count
        self._journal.side.marks.append(MarkRow(client_id, count.mark))
        return count

    def is_repeat(self, count: Count, client_seq: int) -> bool:
        """Tell whether a client's number was used before. Clients that do not count send 0."""
        return client_seq != 0 and client_seq <= count.mark

    def take(self, client_id: str, count: Count, client_seq: int) -> None:
        """Take a new number. It is remembered, also on disk, with the next commit."""
        if client_seq == 0:
            return
        count.mark = client_seq
        if self._counts.get(client_id) is count:  # what it would go on from
            self._journal.side.marks.append(MarkRow(client_id, client_seq))
