"""One port: AHP over WebSocket, and HTTP.

Here are the words that those who listen (`websocket`, `port`) and those who answer share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How much a connection may take, in bytes and seconds."""

    waiting_bytes: int = 8 * 1024 * 1024
    """What may wait for a reader: so much that it did not ask for, else 4408; so much that it did."""
    message_bytes: int = 16 * 1024 * 1024
    """The longest message that is read."""
    messages_per_tick: int = 64
    """How many frames of one connection are dealt with before others have their turn."""
    strangers: int = 512
    """Connections at once that have not shown a token; never more than a quarter of the descriptors."""
    handshake_timeout: float = 10.0
    """How long a connection has to show one."""
    ping_interval: float = 20.0
    """The time between two pings."""
    ping_timeout: float = 20.0
    """Who says nothing for so long after a ping, and takes nothing, is gone."""
    close_timeout: float = 10.0
    """How long the other side has to take what waits for it, and to close, too."""
    shutdown_timeout: float = 3.0
    """The same when the host goes away."""


class Peer(Protocol):
    """Who talks over a connection. All is called on the event loop, and must not block it."""

    def received(self, data: bytes) -> None:
        """A whole text message, valid UTF-8. Never called once the connection is not open.

        If it raises, the error is logged and the connection is closed with 1011.
        """
        ...

    def holds_up(self, go_on: Callable[[], None]) -> bool:
        """Whether the connection should read no more for now. If so, `go_on` is called when it may."""
        ...

    def disconnected(self) -> None:
        """The connection is not open any more. Called exactly once, never from within `send` or `close`."""
        ...
