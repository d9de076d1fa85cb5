"""WebSocket frames as bytes, and the queue in which they wait for one connection.

A frame from a server is not masked, so it is the same for every client: it is built once, and one buffer
serves all subscribers. Nothing here touches a socket.
"""

from __future__ import annotations

import struct
from collections import deque

_TEXT = 0x81
"""First byte of a text message in one piece: FIN, and the opcode 1."""
_FIRST_PIECE, _PIECE = 0x01, 0x00
"""First bytes of the pieces of a message: the first piece has the opcode, and none has FIN."""

LAST_PIECE = b"\x80\x00"
"""The empty frame that ends a message in pieces."""

# The largest payloads whose length fits into the second byte, and into the two bytes after it.
_SHORT, _MEDIUM = 125, 0xFFFF

_short_head = struct.Struct("!BB").pack
_medium_head = struct.Struct("!BBH").pack
_long_head = struct.Struct("!BBQ").pack


def text_frame(payload: bytes) -> bytes:
    """Return a whole text message of a server: one final frame, without a mask.

    Args:
        payload: UTF-8. It is not checked.
    """
    return _frame(_TEXT, payload)


def piece_frame(payload: bytes, *, first: bool) -> bytes:
    """Return a piece of a text message; `LAST_PIECE` has to follow at the end."""
    return _frame(_FIRST_PIECE if first else _PIECE, payload)


def _frame(head: int, payload: bytes) -> bytes:
    size = len(payload)
    if size <= _SHORT:
        return _short_head(head, size) + payload
    if size <= _MEDIUM:
        return _medium_head(head, 126, size) + payload
    return _long_head(head, 127, size) + payload


class Outbox:
    """Frames that wait for one connection, in order: answers to requests, and frames that nobody requested.

    Every buffer that is put in holds whole frames, so between any two of them another frame may go out.
    """

    __slots__ = ("asked", "unasked", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[tuple[bytes, bool | None]] = deque()
        """The waiting buffers, to be read only: true for answers, `None` for those that were put first."""
        self.asked: int = 0
        """Waiting bytes of answers."""
        self.unasked: int = 0
        """Waiting bytes that nobody requested."""

    def put(self, frames: bytes) -> None:
        """Add frames that nobody requested."""
        self.waiting.append((frames, False))
        self.unasked += len(frames)

    def put_asked(self, frames: bytes) -> None:
        """Add an answer."""
        self.waiting.append((frames, True))
        self.asked += len(frames)

    def put_first(self, frames: bytes) -> None:
        """Add frames that go before all others: a ping, or the answer to one."""
        self.waiting.appendleft((frames, None))
        self.unasked += len(frames)

    def take(self, limit: int) -> bytes:
        """Take the next buffers as one, at most `limit` bytes; a single larger one comes alone and uncopied.

        Raises:
            IndexError: Nothing waits.
        """
        waiting = self.waiting
        if len(waiting) == 1:
            frames = waiting.pop()[0]
            self.asked = self.unasked = 0
            return frames
        size = len(waiting[0][0])
        taken = [self._next()]
        while waiting and (size := size + len(waiting[0][0])) <= limit:
            taken.append(self._next())
        return b"".join(taken) if len(taken) > 1 else taken[0]

    def take_first(self) -> bytes:
        """Take all frames that were put first, as one buffer."""
        taken: list[bytes] = []
        while self.waiting and self.waiting[0][1] is None:
            taken.append(self._next())
        return b"".join(taken)

    def clear(self) -> None:
        """Throw away all frames."""
        self.waiting.clear()
        self.asked = self.unasked = 0

    def _next(self) -> bytes:
        frames, asked = self.waiting.popleft()
        if asked:
            self.asked -= len(frames)
        else:
            self.unasked -= len(frames)
        return frames
