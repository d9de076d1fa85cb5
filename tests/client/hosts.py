"""Hosts for the client's tests: our own over an in-memory link, and one that does as it is told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator
from itertools import repeat
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import msgspec
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import ConnectionClosedError

from serai.ahp import codec
from serai.client import Client, ConnectionLost
from serai.client.events import ClosableQueue
from serai.config.settings import Settings
from serai.contract import Role
from serai.harness.callback import STEERABLE, CallbackHarness
from serai.host.host import Host
from serai.host.turn import Turn
from serai.serve.ahp.commands import ahp_peer
from serai.serve.frames import text_frame
from serai.serve.websocket import WebSocket
from serai.store.memory import MemoryStore

T = TypeVar("T")

PATIENCE = 30.0
"""How long a test waits for something that must come."""


def at_once() -> Iterator[float]:
    """Connect again without a delay, for ever."""
    return repeat(0.0)


async def soon(work: Awaitable[T]) -> T:
    """Wait for something, but not for ever."""
    async with asyncio.timeout(PATIENCE):
        return await work


class MemorySocket:
    """A client's end of an in-memory WebSocket."""

    def __init__(self, received: Callable[[bytes], None], closed: Callable[[], None]) -> None:
        self.inbox: ClosableQueue[bytes] = ClosableQueue()
        self.is_open = True
        self._received = received
        self._closed = closed

    async def send(self, frame: bytes, *, text: bool) -> None:  # noqa: ARG002 - as a WebSocket has it
        if not self.is_open:
            raise ConnectionClosedError(None, None)
        self._received(frame)

    async def recv(self, *, decode: bool) -> bytes:  # noqa: ARG002 - the same
        try:
            return await anext(self.inbox)
        except StopAsyncIteration:
            raise ConnectionClosedError(None, None) from None

    async def close(self) -> None:
        self.cut()

    def cut(self) -> None:
        """Break the connection: both ends hear of it."""
        if self.is_open:
            self.is_open = False
            self.inbox.end()
            self._closed()


def payloads(frames: bytes) -> Iterator[bytes]:
    """The messages in WebSocket frames as a server writes them."""
    while frames:
        assert frames[0] == 0x81
        size, start = frames[1], 2
        if size == 126:
            size, start = int.from_bytes(frames[2:4]), 4
        elif size == 127:
            size, start = int.from_bytes(frames[2:10]), 10
        yield frames[start : start + size]
        frames = frames[start + size :]


class MemoryLink:
    """What the host's peer has of its client."""

    def __init__(self, house: House) -> None:
        self.peer = ahp_peer(house.host, cast("WebSocket", self))
        self.transport = MemorySocket(self.peer.received, self.peer.disconnected)
        self.is_open = True
        self.token_digest = house.token_digest
        self.path = "/"
        self.role = Role.OWNER

    def send(self, frames: bytes) -> None:
        for payload in payloads(frames):
            self.transport.inbox.put(payload)

    respond = send

    def admits(self, token_digest: str) -> bool:  # noqa: ARG002 - all tokens are good here
        return True

    async def respond_in_pieces(self, pieces: AsyncIterator[bytes]) -> None:
        self.transport.inbox.put(b"".join([piece async for piece in pieces]))

    def flush(self) -> None:
        pass

    def close(self, code: int, reason: str) -> None:  # noqa: ARG002 - there is nobody to tell
        self.transport.cut()


class House:
    """Our own host with some agents, which can be restarted and whose connections can be cut."""

    host: Host

    def __init__(self, **agents: Callable[[Turn], Coroutine[Any, Any, None]]) -> None:
        self.store = MemoryStore()
        self.harnesses = [
            CallbackHarness(name, answer, capabilities=STEERABLE) for name, answer in agents.items()
        ]
        self.links: list[MemoryLink] = []
        self.token_digest = ""
        self.tries = 0
        self.is_reachable = False

    def _new_host(self) -> Host:
        settings = Settings(default_agent=self.harnesses[0].name)
        return Host(self.store, self.harnesses, text_frame, settings=settings, summary_delay=0.0)

    async def __aenter__(self) -> Self:
        await self._start()
        return self

    async def _start(self) -> None:
        self.host = self._new_host()
        await self.host.open()
        self.is_reachable = True

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def stop(self) -> None:
        self.is_reachable = False
        self.cut()
        await self.host.close()

    async def restart(self) -> None:
        await self.stop()
        await self._start()

    async def opener(self) -> ClientConnection:
        self.tries += 1
        if not self.is_reachable:
            raise ConnectionLost("no host answers")
        link = MemoryLink(self)
        self.links.append(link)
        return cast("ClientConnection", link.transport)

    def cut(self) -> None:
        """Break all connections."""
        links, self.links = self.links, []
        for link in links:
            link.transport.cut()

    def client(self, client_id: str | None = None) -> Client:
        return Client(self.opener, client_id=client_id, delays=at_once)


# -- a host that does as it is told ------------------------------------------------------------------------


class Scripted:
    """One connection of a `ScriptedHost`, as its script sees it."""

    def __init__(self) -> None:
        self._received: ClosableQueue[bytes] = ClosableQueue()
        self.transport = MemorySocket(self._received.put, self._received.end)

    async def expect(self, method: str) -> Any:
        """The next message, which has to be of that method, as JSON."""
        message = msgspec.json.decode(await soon(anext(self._received)))
        assert message.get("method") == method, message
        return message

    async def response(self) -> Any:
        """The next message, which has to be a response, as JSON."""
        message = msgspec.json.decode(await soon(anext(self._received)))
        assert "method" not in message, message
        return message

    def send(self, message: Any) -> None:
        self.transport.inbox.put(codec.encode(message))

    def answer(self, request: Any, result: Any) -> None:
        self.send({"jsonrpc": "2.0", "id": request["id"], "result": result})

    def fail(self, request: Any, code: int, message: str = "no", data: Any = None) -> None:
        error = {"code": code, "message": message, "data": data}
        self.send({"jsonrpc": "2.0", "id": request["id"], "error": error})

    def envelope(
        self,
        seq: int,
        action: dict[str, Any],
        dispatched: Any = None,
        *,
        channel: str = "ahp-session:/1",
        reason: str | None = None,
    ) -> dict[str, Any]:
        """An envelope; `dispatched` is the message that it answers."""
        made: dict[str, Any] = {"channel": channel, "action": action, "serverSeq": seq}
        if dispatched is not None:
            made["origin"] = {"clientId": "me", "clientSeq": dispatched["params"]["clientSeq"]}
        if reason is not None:
            made["rejectionReason"] = reason
        return made

    def act(self, *args: Any, **named: Any) -> None:
        """Send an envelope."""
        self.send({"jsonrpc": "2.0", "method": "action", "params": self.envelope(*args, **named)})

    def cut(self) -> None:
        self.transport.cut()


class ScriptedHost:
    """A host whose every word stands in the test: one script per connection, in their order."""

    def __init__(self) -> None:
        self._connections: ClosableQueue[Scripted] = ClosableQueue()
        self.is_reachable = True

    async def opener(self) -> ClientConnection:
        if not self.is_reachable:
            raise ConnectionLost("no host answers")
        connection = Scripted()
        self._connections.put(connection)
        return cast("ClientConnection", connection.transport)

    async def connection(self) -> Scripted:
        """The next connection that the client makes."""
        return await soon(anext(self._connections))

    def client(self, *subscriptions: str) -> Client:
        return Client(self.opener, client_id="me", subscriptions=subscriptions, delays=at_once)


def session_json(uri: str = "ahp-session:/1", **state: Any) -> dict[str, Any]:
    """A session's state, ready and empty but for what is given."""
    summary = {
        "resource": uri,
        "provider": "demo",
        "title": "A session",
        "status": 1,
        "createdAt": 1,
        "modifiedAt": 1,
    }
    return {"summary": summary, "lifecycle": "ready", "turns": [], **state}


def snapshot(seq: int, uri: str = "ahp-session:/1", **state: Any) -> dict[str, Any]:
    return {"resource": uri, "state": session_json(uri, **state), "fromSeq": seq}


def initialized(seq: int, *snapshots: dict[str, Any]) -> dict[str, Any]:
    """The answer to `initialize`."""
    return {"protocolVersion": "0.2.0", "serverSeq": seq, "snapshots": list(snapshots)}
