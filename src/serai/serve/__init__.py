"""One port: AHP over WebSocket, and HTTP.

Here are the words that those who listen (`websocket`, `port`) and those who answer share.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Protocol

from serai.contract import Role

__all__ = ["Connection", "Limits", "Peer", "PeerFactory"]


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


class Connection(Protocol):
    """What a `Peer` has of its client. To be used on the event loop only; nothing here waits."""

    @property
    def remote(self) -> str:
        """The client's address, as `127.0.0.1:50312` or `[::1]:50312`."""
        ...

    @property
    def token_digest(self) -> str:
        """SHA-256, in hexadecimal, of the token that opened the connection; empty if none was needed."""
        ...

    @property
    def path(self) -> str:
        """Where it was opened: `/`, `/ahp` or `/relay`."""
        ...

    @property
    def role(self) -> Role:
        """What its token lets its holder do."""
        ...

    def admits(self, token_digest: str) -> bool:
        """Whether the token with this digest opens connections now."""
        ...

    @property
    def is_open(self) -> bool:
        """Whether what is sent may still arrive. Once false, always false."""
        ...

    def send(self, frames: bytes, /) -> None:
        """Write what the client did not ask for: one or more whole frames, such as `text_frame` makes.

        If more than the bound would wait for the client afterwards, the connection is closed with 4408 and
        all that waits is thrown away. What was begun is not counted: at most 64 KiB and one write, which is
        256 KiB, or the rest of a single larger buffer, which all who are sent it share.

        It does nothing when the connection is not open.
        """
        ...

    def respond(self, frames: bytes) -> None:
        """Write an answer to a request: as `send`, in the same order, but not counted against the bound."""
        ...

    async def respond_in_pieces(self, pieces: AsyncIterator[bytes]) -> None:
        """Write an answer that is too long to be held: one message, made of pieces of its text.

        Each piece is written once the client has taken most of those before. All else waits for the end of
        the message, but for pings. When the pieces break off, or this is cancelled, the connection is closed
        with 1011: half a message cannot be taken back. When the connection ends, this returns.
        """
        ...

    def flush(self) -> None:
        """Write now what this tick has gathered, for a caller with a tick of its own."""
        ...

    def close(self, code: int, reason: str) -> None:
        """Close, after all that waits. Closing again does nothing. A long reason is cut to 123 bytes.

        Raises:
            websockets.exceptions.ProtocolError: When the code is none that may be sent.
        """
        ...


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


PeerFactory = Callable[[Connection], Peer]
"""Makes the peer of a new connection, after the upgrade. If it raises, the connection closes with 1011."""
