"""A port on loopback, peers that remember, and clients that misbehave on purpose."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any, NamedTuple, TypeVar

import pytest
from starlette.routing import BaseRoute
from websockets.asyncio.client import ClientConnection, connect
from websockets.frames import Close, Frame, Opcode

from serai.config.settings import Settings
from serai.relay.tokens import digest
from serai.serve import Limits, SocketPeer
from serai.serve.frames import text_frame
from serai.serve.guard import Guard
from serai.serve.outgoing import Ticker
from serai.serve.port import serve_port
from serai.serve.websocket import WebSocket

MIB = 1024 * 1024
TOKEN = "a-token-of-the-tests"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
UPGRADE = {
    "Connection": "Upgrade",
    "Upgrade": "websocket",
    "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
    "Sec-WebSocket-Version": "13",
}

T = TypeVar("T")


async def soon(what: Awaitable[T]) -> T:
    """Wait for it, but not for ever."""
    return await asyncio.wait_for(what, 30)


class Recorder:
    """A peer that remembers what it is told, and echoes it if it is asked to."""

    def __init__(self, connection: WebSocket, *, echo: bool = False) -> None:
        self.connection = connection
        self.echo = echo
        self.messages: list[bytes] = []
        self.arrived = asyncio.Event()
        self.gone = asyncio.Event()
        self.goodbyes = 0
        self.is_behind = False
        self.go_on: Callable[[], None] = lambda: None

    def received(self, data: bytes) -> None:
        self.messages.append(data)
        self.arrived.set()
        if self.echo:
            self.connection.respond(text_frame(data))

    def holds_up(self, go_on: Callable[[], None]) -> bool:
        self.go_on = go_on
        return self.is_behind

    def disconnected(self) -> None:
        self.goodbyes += 1
        self.gone.set()

    async def has(self, count: int) -> None:
        """Wait until so many messages have come."""
        while len(self.messages) < count:
            self.arrived.clear()
            await soon(self.arrived.wait())

    @property
    def transport(self) -> asyncio.Transport:
        assert isinstance(self.connection, WebSocket)
        return self.connection.transport


class Answer(NamedTuple):
    """To an HTTP request."""

    status: int
    headers: dict[str, str]
    body: Any


class Room:
    """A port that listens, and the peers that it has made."""

    def __init__(self, port: int, peers: list[Recorder], task: asyncio.Task[None]) -> None:
        self.port = port
        self.peers = peers
        self.task = task
        self.guests: list[Raw] = []

    def connect(self, path: str = "/", **options: Any) -> connect:
        """A well-behaved client: use it with `async with`."""
        options.setdefault("additional_headers", BEARER)
        return connect(f"ws://127.0.0.1:{self.port}{path}", **options)

    async def both(self, **options: Any) -> tuple[ClientConnection, Recorder]:
        """A client, and the peer on the other side."""
        client = await soon(self.connect(**options))
        return client, self.peers[-1]

    async def raw(self, *, receive_buffer: int | None = None) -> tuple[Raw, Recorder]:
        """A client that does what it is told and nothing else, and the peer on the other side."""
        client = Raw(receive_buffer)
        self.guests.append(client)
        await client.open(self.port)
        return client, self.peers[-1]

    async def http(self, target: str, method: str = "GET", **headers: str) -> Answer:
        """One request over HTTP, with the right `Host` and token unless told otherwise."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        whole = {"Host": f"localhost:{self.port}", **BEARER, **given, "Connection": "close"}
        lines = [f"{method} {target} HTTP/1.1", *(f"{n}: {v}" for n, v in whole.items() if v), "", ""]
        return await ask(self.port, "\r\n".join(lines).encode("latin-1"))

    async def stop(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError):
            await soon(self.task)


async def ask(port: int, request: bytes) -> Answer:
    """Send bytes, and read an HTTP answer to its end."""
    reader, writer = await soon(asyncio.open_connection("127.0.0.1", port))
    writer.write(request)
    whole = await soon(reader.read())
    writer.close()
    await writer.wait_closed()
    head, _, body = whole.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    is_json = headers.get("content-type") == "application/json"
    return Answer(int(status.split()[1]), headers, json.loads(body) if is_json else body)


def upgrade_request(port: int, path: str = "/", **headers: str) -> bytes:
    """The bytes of an upgrade."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    whole = {"Host": f"127.0.0.1:{port}", **UPGRADE, **BEARER, **given}
    return "\r\n".join(
        [f"GET {path} HTTP/1.1", *(f"{n}: {v}" for n, v in whole.items() if v), "", ""]
    ).encode()


class Raw:
    """A client without manners: it reads only when told to, and answers nothing by itself."""

    def __init__(self, receive_buffer: int | None = None) -> None:
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        self.sock.setblocking(False)
        if receive_buffer is not None:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self._buffer = bytearray()

    async def open(self, port: int) -> None:
        await soon(asyncio.get_running_loop().sock_connect(self.sock, ("127.0.0.1", port)))
        await self.write(upgrade_request(port))
        while b"\r\n\r\n" not in self._buffer:
            assert await self._more()
        head, _, rest = bytes(self._buffer).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 101"), head
        self._buffer = bytearray(rest)

    async def write(self, data: bytes) -> None:
        await soon(asyncio.get_running_loop().sock_sendall(self.sock, data))

    async def send(self, opcode: Opcode, data: bytes, *, fin: bool = True, mask: bool = True) -> None:
        await self.write(Frame(opcode, data, fin).serialize(mask=mask))

    async def read_frame(self) -> tuple[Opcode, bytes] | None:
        """The next frame; `None` at the end of the stream."""
        head = await self._read(2)
        if head is None:
            return None
        size = head[1] & 0x7F
        if size > 125:
            size = int.from_bytes(await self._read(2 if size == 126 else 8) or b"")
        data = await self._read(size)
        assert data is not None
        return Opcode(head[0] & 0x0F), data

    async def read_close(self) -> int:
        """Read to the close frame; its code."""
        while (frame := await self.read_frame()) is not None:
            if frame[0] is Opcode.CLOSE:
                return int(Close.parse(frame[1]).code)
        pytest.fail("the stream ended without a close frame")

    async def is_cut(self) -> bool:
        """Whether the other side ends the connection, in whichever way."""
        try:
            while await self._more():
                self._buffer.clear()
        except ConnectionError:
            return True
        return True

    def close(self) -> None:
        self.sock.close()

    async def _read(self, size: int) -> bytes | None:
        while len(self._buffer) < size:
            if not await self._more():
                return None
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    async def _more(self) -> bool:
        data = await soon(asyncio.get_running_loop().sock_recv(self.sock, 65536))
        self._buffer += data
        return bool(data)


class FakeTransport(asyncio.Transport):
    """A transport that takes `room` bytes at once, keeps the rest, and asks to wait as asyncio's does."""

    def __init__(self, *, room: int = 1 << 40) -> None:
        super().__init__({"peername": ("::1", 5000, 0, 0)})
        self.protocol: WebSocket | None = None
        self.room = room
        self.writes: list[bytes] = []
        self.kept = 0
        self.paused = False
        self.reading = True
        self.ended = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.writes.append(bytes(data))
        self.kept += len(data)
        self._settle()

    def drain(self, room: int) -> None:
        """Take so much more."""
        self.room += room
        self._settle()

    def _settle(self) -> None:
        taken = min(self.room, self.kept)
        self.room -= taken
        self.kept -= taken
        assert self.protocol is not None
        if self.kept > 65536 and not self.paused:
            self.paused = True
            self.protocol.pause_writing()
        elif self.kept <= 16384 and self.paused:
            self.paused = False
            self.protocol.resume_writing()

    def get_write_buffer_size(self) -> int:
        return self.kept

    def is_closing(self) -> bool:
        return self.ended

    def close(self) -> None:
        if not self.ended:
            self.ended = True
            assert self.protocol is not None
            asyncio.get_running_loop().call_soon(self.protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()

    def can_write_eof(self) -> bool:
        return True

    def write_eof(self) -> None:
        pass

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


class Offline:
    """A WebSocket without a network: on a fake transport, upgraded and open."""

    def __init__(self, limits: Limits, room: int, make: Callable[[WebSocket], Recorder]) -> None:
        self.transport = FakeTransport(room=room)
        self.connections: set[Any] = set()
        self.made: list[Recorder] = []

        def factory(connection: WebSocket) -> SocketPeer:
            self.made.append(make(connection))
            return self.made[-1]

        guard = Guard(digests=[digest(TOKEN)], port=7777)
        self.socket = WebSocket(guard, factory, limits, self.connections, Ticker())
        self.transport.protocol = self.socket
        self.socket.connection_made(self.transport)
        self.socket.data_received(upgrade_request(7777))
        self.transport.writes.clear()

    @property
    def peer(self) -> Recorder:
        return self.made[0]

    def receive(self, *frames: Frame) -> None:
        """Bytes from the client, in one piece."""
        self.socket.data_received(b"".join(frame.serialize(mask=True) for frame in frames))

    def sent(self) -> bytes:
        return b"".join(self.transport.writes)


def offline(
    *, limits: Limits | None = None, room: int = 1 << 40, make: Callable[[WebSocket], Recorder] = Recorder
) -> Offline:
    """A WebSocket that is open. It writes from its next tick on."""
    return Offline(limits or Limits(), room, make)


def text(data: bytes, *, fin: bool = True) -> Frame:
    """A frame with text."""
    return Frame(Opcode.TEXT, data, fin)


def narrow(peer: Recorder) -> None:
    """Let the system hold little of what is written to a client."""
    sock = peer.transport.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)


async def tick() -> None:
    """Let the event loop turn once."""
    await asyncio.sleep(0)


def echoing(connection: WebSocket) -> Recorder:
    return Recorder(connection, echo=True)


@asynccontextmanager
async def listening(
    make: Callable[[WebSocket], Recorder] = echoing,
    readiness: Callable[[], tuple[bool, dict[str, Any]]] = lambda: (True, {}),
    routes: Sequence[BaseRoute] = (),
    tokens: Sequence[str] = (TOKEN,),
    limits: Limits | None = None,
    port: int = 0,
    **settings: Any,
) -> AsyncGenerator[Room]:
    """A port that listens for the length of a block."""
    peers: list[Recorder] = []
    started: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def factory(connection: WebSocket) -> SocketPeer:
        peer = make(connection)
        peers.append(peer)
        return peer

    task = asyncio.create_task(
        serve_port(
            Settings(port=port, **settings),
            factory,
            readiness,
            started=started.set_result,
            token_digests=[digest(token) for token in tokens],
            limits=limits,
            routes=routes,
        )
    )
    await asyncio.wait({task, started}, timeout=30, return_when=asyncio.FIRST_COMPLETED)
    if task.done():
        task.result()
    room = Room(started.result(), peers, task)
    try:
        yield room
    finally:
        for guest in room.guests:
            guest.close()
        await room.stop()


@pytest.fixture
async def room() -> AsyncGenerator[Room]:
    """A port whose peers echo."""
    async with listening() as room:
        yield room
