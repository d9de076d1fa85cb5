"""Writing to one connection: at once where possible, several frames together, and never too much.

The first frames of a tick of the event loop are written at once, and most ticks have no others. Later frames
wait in an outbox, and are written together at the end of the tick. The transport gets more only while it
takes it, so all waiting frames are here, where they can be counted and thrown away.

The transport copies what it holds. So a buffer that is longer than one write goes to it in slices: if a large
message goes to many clients that do not read, only one buffer is held.

While the transport holds nothing, its socket is written to directly: the steps through the transport are a
tenth of the cost of a short message to many clients. What the system does not take goes to the transport.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable

from serai.serve.frames import LAST_PIECE, Outbox, piece_frame

_log = logging.getLogger(__name__)

_WRITE = 256 * 1024
"""Largest size of frames that are joined for one write, in bytes. The transport pauses at 64 KiB."""
_NEVER = 1 << 62
"""Number of a tick that never comes."""

_NOTHING = memoryview(b"")


class Ticker:
    """Counts ticks of the event loop, and lets connections write at their ends: one callback for them all."""

    def __init__(self) -> None:
        self.number = 0
        """Number of this tick. It does not grow while nobody writes."""
        self.is_due = False
        """True when its end is scheduled, because something was written."""
        self._waiting: list[Outgoing] = []

    def add(self, one: Outgoing) -> None:
        """Call its `tick` soon, once."""
        self._waiting.append(one)
        self.expect_end()

    def expect_end(self) -> None:
        """Schedule the end of the tick, because something was written."""
        if not self.is_due:
            self.is_due = True
            asyncio.get_running_loop().call_soon(self._run)

    def _run(self) -> None:
        self.is_due = False
        self.number += 1
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            try:
                one.tick()
            except Exception as error:  # noqa: BLE001 - whatever it is, the others get theirs
                _give_up(one, error)


def _give_up(one: Outgoing, error: Exception) -> None:
    """End a connection that cannot be written to."""
    _log.error("a connection could not be written to", exc_info=error)
    one.transport.abort()


class Outgoing:
    """The output of one connection. Nothing is written before `resume` is called for the first time.

    Args:
        transport: The transport of the connection.
        ticker: Shared by all connections of the port.
        bound: Most waiting bytes that the client did not request.
        close: Called with a code and a reason when more waits, and when a message in pieces breaks off.
        ticked: Called after the write at the end of a tick.
    """

    # Two hundred followers of one stream mean two hundred calls of `send`: its attributes are close together.
    __slots__ = (
        "_bound",
        "_close",
        "_half_out",
        "_handed",
        "_in_pieces",
        "_is_open",
        "_paused",
        "_pieces_in_turn",
        "_rest",
        "_socket",
        "_straight_after",
        "_tick_due",
        "_ticked",
        "_ticker",
        "_writable",
        "_written",
        "farewell",
        "outbox",
        "transport",
    )

    def __init__(
        self,
        transport: asyncio.Transport,
        ticker: Ticker,
        *,
        bound: int,
        close: Callable[[int, str], None],
        ticked: Callable[[], None],
    ) -> None:
        self.transport = transport
        self.farewell = b""
        """The close frame, until it is written: it comes after all that waits."""
        self.outbox = Outbox()
        """The waiting frames, without the rest of a buffer that was begun."""
        self._ticker = ticker
        self._bound = bound
        self._close = close
        self._ticked = ticked
        self._is_open = True
        # The rest of a buffer whose beginning was written: nothing may come in between.
        self._rest = _NOTHING
        self._paused = True
        self._tick_due = False
        # In ticks after this one a frame may be written at once, because nothing waits before it.
        self._straight_after = _NEVER
        # The socket, to be written to beside the transport, which owns it; -1 where that cannot be done.
        socket, tls = transport.get_extra_info("socket"), transport.get_extra_info("sslcontext")
        self._socket: int = -1 if socket is None or tls is not None else socket.fileno()
        # While a message goes out in pieces, everything else waits; and once half of it is out, nothing but
        # the other half may follow, or the end of the connection.
        self._in_pieces = False
        self._half_out = False
        self._pieces_in_turn = asyncio.Lock()
        self._writable = asyncio.Event()
        # How many bytes the transport was given, and whether it may hold some of them.
        self._written = 0
        self._handed = True

    # -- for the peer --------------------------------------------------------------------------------------

    def send(self, frames: bytes) -> None:
        """Write frames that the client did not request: one or more whole ones, as `text_frame` makes them.

        If more than the bound would wait for the client afterwards, the connection is closed with 4408, and
        all waiting frames are thrown away. Output that was begun is not counted: at most 64 KiB and one write
        of 256 KiB, or the rest of a single larger buffer, which all its receivers share.

        On a connection that is not open it does nothing.
        """
        ticker = self._ticker
        number = ticker.number
        if self._straight_after < number and len(frames) <= _WRITE:
            self._straight_after = number
            if not ticker.is_due:
                ticker.expect_end()
            if self._handed:
                self._handed = self._socket < 0 or self.transport.get_write_buffer_size() > 0
            if not self._handed:
                try:
                    sent = os.write(self._socket, frames)
                except OSError:
                    sent = 0  # it is full, or broken: the transport will find out
                if sent == len(frames):
                    return
                frames = frames[sent:]
            try:
                self.write_now(frames)
            except Exception as error:  # noqa: BLE001 - whoever publishes goes on to the others
                _give_up(self, error)
        elif self._is_open:
            self.outbox.put(frames)
            self._wait_for_tick()
            self._enforce_bound()

    def respond(self, frames: bytes) -> None:
        """Write an answer to a request: as `send`, in the same order, but not counted against the bound."""
        if self._is_open:
            self.outbox.put_asked(frames)
            self._wait_for_tick()

    async def respond_in_pieces(self, pieces: AsyncIterator[bytes]) -> None:
        """Write an answer that is too long for memory: one message, given as pieces of its text.

        Each piece is written once the client has taken most of those before. All other frames but pings wait
        for the end of the message. If the pieces break off, or this is cancelled, the connection is closed
        with 1011, since half a message cannot be taken back. When the connection ends, this returns.
        """
        async with self._pieces_in_turn:
            self.flush()
            while self._is_open and (self._rest or self.outbox.waiting):
                await self._writable.wait()
                self.flush()
            if not self._is_open:
                return
            self._in_pieces, self._straight_after = True, _NEVER
            try:
                async for piece in pieces:
                    await self._writable.wait()
                    if not self._is_open:
                        return
                    self.write_now(piece_frame(piece, first=not self._half_out))
                    self._half_out = True
                if self._is_open:
                    self.write_now(LAST_PIECE)
            except BaseException:
                self._close(1011, "an answer broke off")
                raise
            finally:
                self._in_pieces = self._half_out = False
                self.tick()

    def flush(self) -> None:
        """Write all waiting frames now; on a closing connection, the farewell after them."""
        outbox, transport = self.outbox, self.transport
        waiting = outbox.waiting
        if self._in_pieces:
            if not self._paused and (controls := outbox.take_first()):
                self.write_now(controls)  # control frames may go between two pieces
            return
        while (waiting or self._rest) and not self._paused:
            self.write_now(self._next())
            if transport.is_closing():  # it broke just now
                break
        if waiting or self._rest:
            return
        if self._is_open and not self._paused:
            self._straight_after = self._ticker.number - 1
        if self.farewell and not transport.is_closing():
            farewell, self.farewell = self.farewell, b""
            self.write_now(farewell)

    def _next(self) -> bytes | memoryview:
        """Return the data of one write: joined buffers, or a slice of a longer one."""
        if not self._rest:
            data = self.outbox.take(_WRITE)
            if len(data) <= _WRITE:
                return data
            self._rest = memoryview(data)
        data, self._rest = self._rest[:_WRITE], self._rest[_WRITE:] or _NOTHING
        return data

    # -- for the connection --------------------------------------------------------------------------------

    def tick(self) -> None:
        """Write all waiting frames, at the end of a tick."""
        self._tick_due = False
        self.flush()
        self._ticked()

    def pause(self) -> None:
        """Stop writing: the transport holds enough."""
        self._paused = True
        self._straight_after = _NEVER
        self._writable.clear()

    def resume(self) -> None:
        """Write: the transport has room, for the first time or again."""
        self._paused = False
        self._writable.set()
        self.tick()

    def put_control(self, frames: bytes) -> None:
        """Write frames that go before all others: a ping, or the answer to one."""
        if self._is_open:
            self.outbox.put_first(frames)
            self._wait_for_tick()
            self._enforce_bound()

    def end(self) -> None:
        """Accept no more frames. Waiting ones are still written, unless they follow half a message."""
        self._is_open = False
        self._in_pieces = False
        if self._half_out:
            self.outbox.clear()
        self._straight_after = _NEVER
        self._writable.set()  # waiting writers find that the connection is not open

    def drop(self) -> None:
        """Throw away everything, because the transport is gone."""
        self.outbox.clear()
        self._rest, self.farewell = _NOTHING, b""

    @property
    def taken(self) -> int:
        """Bytes that the system has taken from the transport."""
        return self._written - self.transport.get_write_buffer_size()

    def write_last(self, data: bytes) -> None:
        """Write the rest of the buffer that was begun, and then this."""
        rest, self._rest = self._rest, _NOTHING
        self.write_now(b"".join((rest, data)))

    def write_now(self, data: bytes | memoryview) -> None:
        """Write at once, before all waiting frames."""
        self._handed = True
        self._written += len(data)
        self.transport.write(data)

    def _wait_for_tick(self) -> None:
        self._straight_after = _NEVER
        if not self._tick_due:
            self._tick_due = True
            self._ticker.add(self)

    def _enforce_bound(self) -> None:
        """Close the connection of a client that reads too slowly."""
        if self.outbox.unasked > self._bound:
            self.flush()
            if self.outbox.unasked > self._bound:
                self.outbox.clear()
                self._close(4408, "read too slowly")
