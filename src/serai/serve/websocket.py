"""A WebSocket on the port, from the upgrade to the last byte. It knows nothing about its messages.

uvicorn makes one `WebSocket` per upgrade and hands over the transport. The protocol itself is websockets'
Sans-I/O `ServerProtocol`, without compression. This module moves the bytes:

Out. Frames come ready made (`serai.serve.frames`) and wait where they can be counted and thrown away
(`serai.serve.outgoing`). A reader that falls behind by more than its bound is closed with 4408, and nobody
waits for it. Answers to requests do not count. Instead, while as many bytes of answers wait, its further
requests are not read.

In. Whole text messages go to the `SocketPeer`, in order, with a limit per tick: a client that floods the port
waits for its own turn. Everything else is answered here: pings, closing, messages that are too long or not
text.

    open ── close(), a broken bound, a fault ──→ closing ── the other side's answer, or time ──→ gone
      └── the other side closes ──────────────────────────────────────────────────────────────→ gone

`SocketPeer.disconnected` is called once, when the connection is no longer open. What is still sent to the
client then only explains why.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import SEND_EOF, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from serai.contract import Role
from serai.serve import Limits, SocketPeer
from serai.serve.guard import PROTOCOL, Guard, Refusal
from serai.serve.http import refusal_answer
from serai.serve.outgoing import Outgoing, Ticker

logger = logging.getLogger(__name__)

_PARSE = 4096
"""Bytes that are parsed at once: some hundreds of the smallest frames."""
_MAX_REASON = 123
"""Longest reason of a close, in bytes: a control frame holds 125, two of them for the code."""


class WebSocket(asyncio.Protocol):
    """One connection, and a protocol for uvicorn. To be used on the event loop only.

    Args:
        guard: Decides on the upgrade.
        peer_factory: Makes the peer.
        limits: The limits of this connection.
        connections: Lists it as long as its transport lives, for uvicorn's shutdown.
        ticker: Shared by all connections of the port.
        known: Called with the transport once the guard has let it in, and when it is gone.
    """

    transport: asyncio.Transport

    def __init__(
        self,
        guard: Guard,
        peer_factory: PeerFactory,
        limits: Limits,
        connections: set[Any],
        ticker: Ticker,
        known: Callable[[asyncio.Transport], None] = lambda _transport: None,
    ) -> None:
        self.token_digest: str = ""
        """SHA-256 of the token of this connection, in hexadecimal; empty if none was needed."""
        self.path: str = ""
        """Path of the connection: `/`, `/ahp` or `/relay`."""
        self.role = Role.OWNER
        """Role of its token."""
        self._guard = guard
        self._peer_factory = peer_factory
        self._limits = limits
        self._connections = connections
        self._ticker = ticker
        self._known = known
        self._loop = asyncio.get_running_loop()
        self._protocol = ServerProtocol(
            max_size=limits.message_bytes,
            logger=logger,
            # Only the page offers one: its browser insists on an answer.
            select_subprotocol=lambda _, offered: Subprotocol(PROTOCOL) if PROTOCOL in offered else None,
        )
        # Its debugging log would hold tokens and the content of all messages.
        self._protocol.debug = False
        self._peer: SocketPeer | None = None
        self.is_open = False
        """True while what is sent may still arrive. After that it stays false."""

        # In: bytes that are not parsed, frames that are not handled, and the message that comes in fragments.
        self._unparsed = bytearray()
        self._frames: deque[Frame] = deque()
        self._fragments: bytearray | None = None
        self._pump_due = False
        self._stopped = False

        # The timer of the next ping or of its answer while open, and of the end while closing.
        self._timer: asyncio.TimerHandle | None = None
        self._heard = False

    # -- for the peer --------------------------------------------------------------------------------------

    def admits(self, token_digest: str) -> bool:
        """Tell whether a token is accepted now, by its digest."""
        return self._guard.admits(token_digest)

    def close(self, code: int, reason: str) -> None:
        """Close, after all that waits. Closing again does nothing. A long reason is cut to 123 bytes."""
        if not self.is_open:
            return
        if self._protocol.state is State.OPEN:
            reason = reason.encode()[:_MAX_REASON].decode(errors="ignore")
            self._protocol.send_close(code, reason)
            self._out.farewell = b"".join(self._protocol.data_to_send())
        # Else the other side's close frame waits among the frames here, and its answer is already made.
        self._end()
        self.flush()
        self._expect_end(self._limits.close_timeout)

    # -- for uvicorn and asyncio ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Set up the connection. The bytes of the upgrade come next."""
        self.transport = cast("asyncio.Transport", transport)
        self._out = Outgoing(
            self.transport,
            self._ticker,
            bound=self._limits.waiting_bytes,
            close=self.close,
            ticked=self._read_on,
        )
        # The methods of `Outgoing`, called without a step in between.
        self.send, self.respond = self._out.send, self._out.respond
        self.respond_in_pieces, self.flush = self._out.respond_in_pieces, self._out.flush
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Handle bytes of the client; the first are the upgrade, from uvicorn."""
        self._heard = True
        if self._protocol.state is State.CONNECTING:
            self._upgrade(data)
            return
        self._unparsed += data
        if not self._pump_due:
            self._pump()

    def eof_received(self) -> None:
        """Handle the end of the client's bytes: the transport closes itself."""
        self._protocol.receive_eof()
        self._out.outbox.clear()
        self._end()
        self._expect_end(self._limits.close_timeout)

    def pause_writing(self) -> None:
        """Stop writing: the transport holds enough."""
        self._out.pause()

    def resume_writing(self) -> None:
        """Write again: the transport has room."""
        self._out.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """Handle the end of the transport. What was not yet handled is thrown away."""
        del exc
        self._connections.discard(self)
        self._known(self.transport)
        self.is_open = False
        self._out.end()
        self._clear_timer()
        self._out.drop()
        self._unparsed.clear()
        self._frames.clear()
        self._tell_peer()

    def shutdown(self) -> None:
        """Close with 1001, in bounded time, because the host stops. uvicorn calls this."""
        self.close(1001, "the host is going away")
        self._expect_end(self._limits.shutdown_timeout)

    # -- the upgrade ---------------------------------------------------------------------------------------

    def _upgrade(self, data: bytes) -> None:
        protocol = self._protocol
        protocol.receive_data(data)
        for event in protocol.events_received():
            if isinstance(event, Request):
                protocol.send_response(self._answer(event))
        for output in protocol.data_to_send():
            self.transport.write(output)
        if protocol.state is not State.OPEN:
            self.transport.close()
            return
        self.is_open = True
        self._set_timer(self._limits.ping_interval, self._ping)
        self._loop.call_soon(self.resume_writing)
        try:
            self._peer = self._peer_factory(self)
        except Exception:
            logger.exception("a connection could not be taken")
            self.close(1011, "internal error")

    def _answer(self, request: Request) -> Response:
        path, _, query = request.path.partition("?")
        decision = self._guard.upgrade(path, query, request.headers.raw_items())
        if not isinstance(decision, Refusal):
            self.token_digest, self.role = decision.token_digest, decision.role
            self.path = path
            self._known(self.transport)
            return self._protocol.accept(request)
        answer, phrase = refusal_answer(decision), HTTPStatus(decision.status).phrase
        headers = Headers([*answer.headers.items(), ("Connection", "close")])
        return Response(decision.status, phrase, headers, bytes(answer.body))

    # -- in ------------------------------------------------------------------------------------------------

    def _pump(self) -> None:
        """Parse and handle what was received, until this tick's share is used up or answers pile up."""
        self._pump_due = False
        share = self._limits.messages_per_tick
        while share and not self._is_held():
            if self._frames:
                share -= 1
                self._handle(self._frames.popleft())
                continue
            self._write_controls()
            if not self._unparsed:
                self._stop_reading(stop=False)
                return
            piece = bytes(self._unparsed[:_PARSE])
            del self._unparsed[:_PARSE]
            self._protocol.receive_data(piece)
            self._frames.extend(
                event for event in self._protocol.events_received() if isinstance(event, Frame)
            )
        self._stop_reading(stop=True)
        if not self._is_held():
            self._pump_soon()

    def _is_held(self) -> bool:
        """Tell whether reading pauses: too many answers wait for the client, or too much for the disk."""
        return self.is_open and (self._out.outbox.asked > self._limits.waiting_bytes or self._is_held_up())

    def _is_held_up(self) -> bool:
        return self._peer is not None and self._peer.holds_up(self._read_on)

    def _read_on(self) -> None:
        """Read on after a write, if reading was paused and need not be any more."""
        if self._stopped and not self._is_held():
            self._pump_soon()

    def _stop_reading(self, *, stop: bool) -> None:
        if stop is not self._stopped:
            self._stopped = stop
            (self.transport.pause_reading if stop else self.transport.resume_reading)()

    def _pump_soon(self) -> None:
        if not self._pump_due:
            self._pump_due = True
            self._loop.call_soon(self._pump)

    def _handle(self, frame: Frame) -> None:
        """Handle one frame. The protocol has checked it, and has made the answer to a ping."""
        if frame.opcode is Opcode.CLOSE:
            self._end()
        elif not self.is_open:
            pass
        elif frame.opcode is Opcode.BINARY:
            self._fail(1003, "only text is spoken here")
        elif frame.opcode is Opcode.TEXT and frame.fin:
            self._hand_over(bytes(frame.data))
        elif frame.opcode is Opcode.TEXT:
            self._fragments = bytearray(frame.data)
        elif frame.opcode is Opcode.CONT and self._fragments is not None:
            self._fragments += frame.data
            if frame.fin:
                data, self._fragments = bytes(self._fragments), None
                self._hand_over(data)

    def _hand_over(self, data: bytes) -> None:
        if not data.isascii():
            try:
                data.decode()
            except UnicodeDecodeError as error:
                self._fail(1007, f"invalid UTF-8 at byte {error.start}")
                return
        if self._peer is None:
            return
        try:
            self._peer.received(data)
        except Exception:
            logger.exception("a message could not be dealt with")
            self._fail(1011, "internal error")

    def _fail(self, code: int, reason: str) -> None:
        """Close because of an invalid message. Nothing more is read."""
        self._frames.clear()
        self._unparsed.clear()
        self._protocol.fail(code, reason)
        self._write_controls()

    # -- out -----------------------------------------------------------------------------------------------

    def _write_controls(self) -> None:
        """Write frames of the protocol itself: answers to pings, a close frame, the end of the stream."""
        output = self._protocol.data_to_send()
        if not output:
            return
        controls = b"".join(output)
        if SEND_EOF in output:
            self._finish(controls)
        elif controls:
            self._out.put_control(controls)

    def _finish(self, controls: bytes) -> None:
        """Write the last frame, and end the stream."""
        self._end()
        self.flush()
        self._out.outbox.clear()
        self.flush()  # the farewell, if it still waited
        if self.transport.is_closing():
            return
        self._out.write_last(controls)
        self._expect_end(self._limits.close_timeout)
        if self._protocol.close_rcvd is not None or not self.transport.can_write_eof():
            self.transport.close()
        else:
            # The client may be in the middle of sending. If the socket were closed now, its system would
            # throw away our last frame; so its bytes are read, and ignored, until it has closed.
            self.transport.write_eof()

    # -- the end -------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Mark the connection as not open. Its peer, which may be the caller, hears of it in a later tick."""
        self._out.end()
        if self.is_open:
            self.is_open = False
            self._fragments = None
            self._clear_timer()
            self._loop.call_soon(self._tell_peer)
            if self._stopped:
                self._pump_soon()  # the other side's close frame is to be found

    def _tell_peer(self) -> None:
        peer, self._peer = self._peer, None
        if peer is not None:
            peer.disconnected()

    def _expect_end(self, seconds: float) -> None:
        """Cut the connection off after these seconds, unless the other side closes before."""
        self._set_timer(seconds, self.transport.abort)

    # -- time ----------------------------------------------------------------------------------------------

    def _ping(self) -> None:
        if self._protocol.state is State.OPEN:
            self._protocol.send_ping(b"")
            self._write_controls()
            self.flush()
        self._heard = False
        # If bytes wait here, the system's buffer is full: it takes more only when the client does.
        taken = self._out.taken if self.transport.get_write_buffer_size() else None
        if self.is_open:
            self._set_timer(self._limits.ping_timeout, lambda: self._judge(taken))

    def _judge(self, taken: int | None) -> None:
        """Close, unless the ping was answered. Any byte counts: a pong may wait behind a long message."""
        if self._heard or self._is_held_up() or (taken is not None and self._out.taken > taken):
            rest = max(0.0, self._limits.ping_interval - self._limits.ping_timeout)
            self._set_timer(rest, self._ping)
            return
        self._out.outbox.clear()
        self.close(1011, "no answer to a ping")
        if self.transport.get_write_buffer_size():
            self.transport.abort()
        else:
            self.transport.close()

    def _set_timer(self, seconds: float, callback: Callable[[], None]) -> None:
        self._clear_timer()
        self._timer = self._loop.call_later(seconds, callback)

    def _clear_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


PeerFactory = Callable[[WebSocket], SocketPeer]
"""Makes the peer of a new connection after the upgrade. If it raises, the connection closes with 1011."""
