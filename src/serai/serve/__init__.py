"""One port: AHP over WebSocket, and HTTP.

This module has the terms that listeners (`websocket`, `port`) and peers share.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Limits of a connection, in bytes and seconds."""

    waiting_bytes: int = 8 * 1024 * 1024
    """Most waiting bytes: of unrequested frames, else 4408; of answers, else reading pauses."""
    message_bytes: int = 16 * 1024 * 1024
    """Largest message that is read."""
    messages_per_tick: int = 64
    """Frames of one connection that are handled before others have their turn."""
    strangers: int = 512
    """Connections without a token at once; never more than a quarter of the descriptors."""
    handshake_timeout: float = 10.0
    """Time that a connection has to show a token."""
    ping_interval: float = 20.0
    """Time between two pings."""
    ping_timeout: float = 20.0
    """Time after a ping in which a client has to send or take something."""
    close_timeout: float = 10.0
    """Time that the other side has to take what waits for it, and to close too."""
    shutdown_timeout: float = 3.0
    """The same time when the host stops."""


class SocketPeer(Protocol):
    """The receiver of a connection's messages. It is called on the event loop, and must not block."""

    def received(self, data: bytes) -> None:
        """Handle a whole text message, in valid UTF-8. It is not called once the connection is closing.

        If it raises, the error is logged and the connection is closed with 1011.
        """
        ...

    def holds_up(self, go_on: Callable[[], None]) -> bool:
        """Tell whether the connection should read no more for now. If so, `go_on` is called later."""
        ...

    def disconnected(self) -> None:
        """Handle the end of the connection. Called exactly once, never from within `send` or `close`."""
        ...
