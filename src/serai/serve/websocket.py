"""A WebSocket on the port: from the upgrade to the last byte, knowing nothing of what is said on it.

uvicorn makes one `WebSocket` per upgrade and hands over the transport. The protocol itself is websockets'
Sans-I/O `ServerProtocol`, without compression; what is here is the traffic:

Out. Frames come ready made (`serai.serve.frames`) and wait where they can be counted and thrown away
(`serai.serve.outgoing`): a reader that falls behind by more than its bound is told so (4408), and nobody
waits for it. Answers that a client asked for do not count. Instead, while as many bytes of answers wait, its
further requests are not read.

In. Whole text messages go to the `Peer`, in order, at most so many per tick: who floods the port waits for
its own turn. Everything else is answered here: pings, closing, messages that are too long or not text.

    open ── close(), a broken bound, a fault ──→ closing ── the other side's answer, or time ──→ gone
      └── the other side closes ──────────────────────────────────────────────────────────────→ gone

`Peer.disconnected` is called once, when the connection is no longer open: what is then still under way to the
client only makes it understand why.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, cast

from uvicorn.config import Config
from uvicorn.server import ServerState
from websockets.datastructures import Headers
from websockets.frames import Frame, Opcode
from websockets.http11 import Request, Response
from websockets.protocol import SEND_EOF, State
from websockets.server import ServerProtocol
from websockets.typing import Subprotocol

from serai.contract import Role
from serai.serve import Limits, Peer
from serai.serve.guard import PROTOCOL, Guard, Refusal
from serai.serve.http import refusal_answer
from serai.serve.outgoing import Outgoing, Ticker

logger = logging.getLogger(__name__)

# So much is parsed at once: of the smallest frames, some hundreds.
_PARSE = 4096

# A control frame holds 125 bytes, two of them for the code.
_MAX_REASON = 123


def websocket_class(
    guard: Guard, peer_factory: PeerFactory, limits: Limits, known: Callable[[asyncio.Transport], None]
) -> type[asyncio.Protocol]:
    """A class for uvicorn's `ws=`, which makes one object per upgrade by itself."""
    ticker = Ticker()

    class BoundWebSocket(WebSocket):
        def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any]) -> None:
            del config, app_state
            connections = cast("set[Any]", server_state.connections)
            super().__init__(guard, peer_factory, limits, connections, ticker, known)

    return BoundWebSocket


class WebSocket(asyncio.Protocol):
    """One connection: what its peer sends on, and to uvicorn a protocol. To be used on the event loop only.

    Args:
        guard: Decides on the upgrade.
        peer_factory: Makes the peer.
        limits: For this connection.
        connections: Where it is listed as long as its transport lives, for uvicorn's shutdown.
        ticker: Shared by all connections of the port.
        known: Is called with the transport once the guard has let it in, and when it is gone.
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
        """SHA-256, in hexadecimal, of the token that opened the connection; empty if none was needed."""
        self.path: str = ""
        """Where it was opened: `/`, `/ahp` or `/relay`."""
        self.role = Role.OWNER
        """What its token lets its holder do."""
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
        # Its debugging log would hold tokens and everything that is said.
        self._protocol.debug = False
        self._peer: Peer | None = None
        self._open = False

        # In: what is not parsed, what is parsed and not dealt with, and the message whose fragments come in.
        self._unparsed = bytearray()
        self._frames: deque[Frame] = deque()
        self._fragments: bytearray | None = None
        self._pump_due = False
        self._stopped = False

        # Time: the next ping or the judgement on it while open, and the end of patience while closing.
        self._timer: asyncio.TimerHandle | None = None
        self._heard = False

    # -- for the peer --------------------------------------------------------------------------------------

    def admits(self, token_digest: str) -> bool:
        """Whether the token with this digest opens connections now."""
        return self._guard.admits(token_digest)

    @property
    def is_open(self) -> bool:
        """Whether what is sent may still arrive. Once false, always false."""
        return self._open

    def close(self, code: int, reason: str) -> None:
        """Close, after all that waits. Closing again does nothing. A long reason is cut to 123 bytes.

        Raises:
            websockets.exceptions.ProtocolError: When the code is none that may be sent.
        """
        if not self._open:
            return
        if self._protocol.state is State.OPEN:
            reason = reason.encode()[:_MAX_REASON].decode(errors="ignore")
            self._protocol.send_close(code, reason)
            self._out.farewell = b"".join(self._protocol.data_to_send())
        # Else the other side's close frame is among those that wait here, and its answer is already made.
        self._end()
        self.flush()
        self._expect_end(self._limits.close_timeout)

    # -- for uvicorn and asyncio ---------------------------------------------------------------------------

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """An upgrade was read; its bytes come next, and only then is this the transport's protocol."""
        self.transport = cast("asyncio.Transport", transport)
        self._out = Outgoing(
            self.transport,
            self._ticker,
            bound=self._limits.waiting_bytes,
            close=self.close,
            ticked=self._read_on,
        )
        # See `Outgoing`; without a step in between.
        self.send, self.respond = self._out.send, self._out.respond
        self.respond_in_pieces, self.flush = self._out.respond_in_pieces, self._out.flush
        self._connections.add(self)

    def data_received(self, data: bytes) -> None:
        """Bytes of the client; first the upgrade, from uvicorn."""
        self._heard = True
        if self._protocol.state is State.CONNECTING:
            self._upgrade(data)
            return
        self._unparsed += data
        if not self._pump_due:
            self._pump()

    def eof_received(self) -> None:
        """The client will write no more, so it is as good as gone: the transport closes itself."""
        self._protocol.receive_eof()
        self._out.clear()
        self._end()
        self._expect_end(self._limits.close_timeout)

    def pause_writing(self) -> None:
        """The transport holds enough."""
        self._out.pause()

    def resume_writing(self) -> None:
        """The transport has room again."""
        self._out.resume()

    def connection_lost(self, exc: Exception | None) -> None:
        """The transport is gone, for whatever reason. What was not yet handed over is thrown away."""
        del exc
        self._connections.discard(self)
        self._known(self.transport)
        self._open = False
        self._out.end()
        self._clear_timer()
        self._out.drop()
        self._unparsed.clear()
        self._frames.clear()
        self._say_goodbye()

    def shutdown(self) -> None:
        """The host goes away (uvicorn calls this): close with 1001, in bounded time."""
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
        self._open = True
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
        """Parse what has come and deal with it, until this tick's share is used up or answers pile up."""
        self._pump_due = False
        share = self._limits.messages_per_tick
        while share and not self._is_held():
            if self._frames:
                share -= 1
                self._deal_with(self._frames.popleft())
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
        """Whether no more is read now: too many answers wait for the client, or too much for the disk."""
        return self._open and (self._out.asked > self._limits.waiting_bytes or self._is_held_up())

    def _is_held_up(self) -> bool:
        return self._peer is not None and self._peer.holds_up(self._read_on)

    def _read_on(self) -> None:
        """Something was written: go on, if reading was held up by what waited."""
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

    def _deal_with(self, frame: Frame) -> None:
        """One frame. The protocol has checked that it may come here, and has made the answer to a ping."""
        if frame.opcode is Opcode.CLOSE:
            self._end()
        elif not self._open:
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
        """Close because of what the client sent. Nothing of it is read any more."""
        self._frames.clear()
        self._unparsed.clear()
        self._protocol.fail(code, reason)
        self._write_controls()

    # -- out -----------------------------------------------------------------------------------------------

    def _write_controls(self) -> None:
        """What the protocol itself has to say: answers to pings, a close frame, the end of the stream."""
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
        self._out.clear()
        self.flush()  # the farewell, if it still waited
        if self.transport.is_closing():
            return
        self._out.write_last(controls)
        self._expect_end(self._limits.close_timeout)
        if self._protocol.close_rcvd is not None or not self.transport.can_write_eof():
            self.transport.close()
        else:
            # The client may be in the middle of sending. If the socket were closed now, its system would
            # throw away our last frame; so what comes is read, and ignored, until it has understood.
            self.transport.write_eof()

    # -- the end -------------------------------------------------------------------------------------------

    def _end(self) -> None:
        """Not open any more. The peer hears of it in a later tick: it may be the one who is calling."""
        self._out.end()
        if self._open:
            self._open = False
            self._fragments = None
            self._clear_timer()
            self._loop.call_soon(self._say_goodbye)
            if self._stopped:
                self._pump_soon()  # the other side's close frame is to be found

    def _say_goodbye(self) -> None:
        peer, self._peer = self._peer, None
        if peer is not None:
            try:
                peer.disconnected()
            except Exception:
                logger.exception("the end of a connection could not be dealt with")

    def _expect_end(self, seconds: float) -> None:
        """The other side has so long to close, too, and to take what waits for it."""
        self._set_timer(seconds, self.transport.abort)

    # -- time ----------------------------------------------------------------------------------------------

    def _ping(self) -> None:
        if self._protocol.state is State.OPEN:
            self._protocol.send_ping(b"")
            self._write_controls()
            self.flush()
        self._heard = False
        # If bytes wait here, the system's own buffer is full: it takes more only when the client does.
        taken = self._out.taken if self.transport.get_write_buffer_size() else None
        if self._open:
            self._set_timer(self._limits.ping_timeout, lambda: self._judge(taken))

    def _judge(self, taken: int | None) -> None:
        """The time to answer a ping is over. Any byte is an answer: a pong may wait behind a long message."""
        if self._heard or self._is_held_up() or (taken is not None and self._out.taken > taken):
            rest = max(0.0, self._limits.ping_interval - self._limits.ping_timeout)
            self._set_timer(rest, self._ping)
            return
        self._out.clear()
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


PeerFactory = Callable[[WebSocket], Peer]
"""Makes the peer of a new connection, after the upgrade. If it raises, the connection closes with 1011."""
