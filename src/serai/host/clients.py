"""Who is connected, how far each client has counted, and whom to ask for what a client has."""

from __future__ import annotations

import asyncio
from typing import Any, Protocol

from serai.ahp import wire
from serai.errors import ConnectionLost
from serai.journal.journal import Journal
from serai.journal.subscriptions import Subscriber
from serai.store.contract import MarkRow

__all__ = ["ClientLink", "Clients"]


class ClientLink(Subscriber, Protocol):
    """One connection of a client."""

    async def ask(self, method: str, params: wire.Value) -> Any:
        """Ask the client something and wait for its answer.

        Raises:
            ProtocolError: The client says no, or does not answer.
            ConnectionLost: The client is gone.
        """
        ...


class Clients:
    """The clients that are connected. One client may have several connections; the newest one is asked."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._links: dict[str, list[ClientLink]] = {}
        self._marks: dict[str, int] = {}
        self.handshakes = asyncio.Lock()
        """Held while a client id is looked up and bound, so that two who want it do not both get it."""

    # -- presence ------------------------------------------------------------------------------------------

    def connected(self, client_id: str, link: ClientLink) -> None:
        """A client has one more connection."""
        self._links.setdefault(client_id, []).append(link)

    def disconnected(self, client_id: str, link: ClientLink) -> bool:
        """A client has one connection less. Returns whether it is gone with it."""
        links = self._links[client_id]
        links.remove(link)
        if links:
            return False
        del self._links[client_id]
        self._marks.pop(client_id, None)
        return True

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

    # -- counting ------------------------------------------------------------------------------------------

    def start_counting(self, client_id: str, mark: int) -> None:
        """A client begins to count: anew (0), or after a mark."""
        self._marks[client_id] = mark
        self._journal.side.marks.append(MarkRow(client_id, mark))

    def go_on_counting(self, client_id: str, mark: int) -> None:
        """A client goes on from a mark, or from where another connection of its own is by now."""
        self.start_counting(client_id, self._marks.get(client_id, mark))

    def counts(self, client_id: str, client_seq: int) -> bool:
        """Whether a client's number is new. If so it is remembered, also on disk, with the next commit.

        Some clients do not count: 0 is always new.
        """
        if client_seq == 0:
            return True
        if client_seq <= self._marks.get(client_id, 0):
            return False
        self._marks[client_id] = client_seq
        self._journal.side.marks.append(MarkRow(client_id, client_seq))
        return True
