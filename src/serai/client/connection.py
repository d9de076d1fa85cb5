"""One connection to a host: frames over a WebSocket, and the JSON-RPC messages in them.

Frames are handled in order, by one task, so the changes of a frame are complete before the next one. Sending
puts frames into a queue that another task empties, so it keeps the order, and nobody waits.
"""

from __future__ import annotations

import asyncio
import logging
import os
import random
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from http import HTTPStatus
from http.client import responses
from typing import Any, TypeAlias

import msgspec
from websockets.asyncio.client import ClientConnection, connect as connect_websocket
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from serai import jsonrpc
from serai.ahp.codec import CODEC
from serai.ahp.wire import Value
from serai.client.address import HostAddress
from serai.errors import AccessRefused, ConnectionLost, ProtocolError, SeraiError

_MAX_FRAME = 256 * 1024 * 1024
"""Largest frame, in bytes: a host may send a long session in one frame."""
_CLOSE_TIMEOUT = 3.0
"""Seconds that the host has to close the connection, too."""

Delays = Callable[[], Iterator[float]]
"""Makes the delays before each try to connect again, in seconds. When they end, so do the tries."""


def backoff(first: float = 0.2, cap: float = 15.0) -> Iterator[float]:
    """Yield delays for ever: each twice as long up to a cap, and reduced by a random part of up to half.

    The random part keeps many clients of one host from coming back at the same moment.
    """
    delay = first
    while True:
        yield delay * random.uniform(0.5, 1.0)  # noqa: S311 - nobody gains by guessing it
        delay = min(delay * 2, cap)


Opener: TypeAlias = Callable[[], Awaitable[ClientConnection]]
"""Opens a WebSocket. Raises `ConnectionLost` when a later try may work, else `AccessRefused`."""


def websocket_opener(address: HostAddress) -> Opener:
    """Return an opener of WebSockets to a host.

    The token goes into a header, never into the address: addresses end up in logs.
    """
    headers = {"Authorization": f"Bearer {address.token}"} if address.token else None

    async def open_websocket() -> ClientConnection:
        try:
            return await connect_websocket(
                address.url,
                additional_headers=headers,
                user_agent_header="serai",
                compression=None,
                max_size=_MAX_FRAME,
                close_timeout=_CLOSE_TIMEOUT,
                # A host on this machine is not behind a proxy, whatever the environment says.
                proxy=None if address.is_local else True,
            )
        except InvalidStatus as error:
            raise refusal(address, error.response.status_code, bytes(error.response.body or b"")) from error
        except (OSError, TimeoutError, InvalidHandshake, EOFError) as error:
            raise ConnectionLost(
                f"no host answers at {address.url} ({_why(error)})",
                remedy="Start one with `serai serve`, or name another address",
            ) from error

    return open_websocket


def _why(error: BaseException) -> str:
    if isinstance(error, OSError) and error.errno is not None and error.errno > 0:
        return os.strerror(error.errno)  # asyncio's own words name the address once more
    return str(getattr(error, "strerror", None) or error or type(error).__name__).rstrip(".")


def _closed(error: ConnectionClosed) -> ConnectionLost:
    close = error.rcvd or error.sent
    if close is None:
        return ConnectionLost("the connection to the host broke")
    reason = f": {close.reason}" if close.reason else ""
    return ConnectionLost(f"the host closed the connection ({close.code}{reason})")


def refusal(address: HostAddress, status: int, body: bytes) -> AccessRefused | ConnectionLost:
    """Return the error for a refused connection: the host's own, or one made of the status."""
    message, remedy = f"{address.url} answers {status} {responses.get(status, '')}".rstrip(), None
    with suppress(msgspec.DecodeError, KeyError):
        answer = msgspec.json.decode(body, type=dict[str, Any])
        message, remedy = f"the host refused: {answer['message']}", answer.get("remedy")
    if status == HTTPStatus.UNAUTHORIZED:
        remedy = "Give its token with `--token` or SERAI_TOKEN: it is in the file `token` of its home"
    if status == HTTPStatus.TOO_MANY_REQUESTS or status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return ConnectionLost(message, remedy=remedy)
    return AccessRefused(message, remedy=remedy)


_log = logging.getLogger(__name__)


class Connection:
    """JSON-RPC over one WebSocket. `run` has to be running for anything to happen.

    Args:
        socket: The WebSocket. Each message is one text frame.
        heard: Called with the method and parameters of each notification, in order, by the task that reads.
        respond: Handles the host's requests, given the method and the parameters.
        ended: Called once at the end, before those who wait for answers get the error.
        codec: The codec of the protocol.
        most_requests: Most requests of ours at once; more wait.
    """

    def __init__(
        self,
        socket: ClientConnection,
        heard: Callable[[str, Any], None],
        respond: Callable[[str, Any], Awaitable[Any]],
        ended: Callable[[], None],
        *,
        codec: jsonrpc.LineCodec | jsonrpc.StrictCodec = CODEC,
        most_requests: int = 32,
    ) -> None:
        self._socket = socket
        self._heard = heard
        self._respond = respond
        self._ended = ended
        self._peer: jsonrpc.Peer[Callable[[Any, SeraiError | None], None]] = jsonrpc.Peer(codec)
        self._slots = asyncio.Semaphore(most_requests)
        self._outbox: asyncio.Queue[bytes] = asyncio.Queue()
        self._answering: set[asyncio.Task[None]] = set()
        self._over: ConnectionLost | None = None

    async def run(self) -> ConnectionLost:
        """Carry messages until the connection is over. Returns the reason.

        Requests without an answer then raise that error. Cancelling ends the connection, too. The caller
        closes the WebSocket.
        """
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            try:
                done.pop().result()
            except ConnectionClosed as error:
                self._over = _closed(error)
            return self._over or ConnectionLost("the connection ended")
        finally:
            self._over = self._over or ConnectionLost("this client ended the connection")
            self._ended()
            for task in [*tasks, *self._answering]:
                task.cancel()
            for settle in self._peer.forget_all():
                settle(None, self._over)
            await asyncio.gather(*tasks, *self._answering, return_exceptions=True)

    # -- sending -------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Value, then: Callable[[Any], None] | None = None) -> Any:
        """Send a request, and wait for the answer. Cancelling does not take the request back.

        Args:
            method: The command.
            params: Its parameters.
            then: Called with the result by the task that reads, before the next frame, which may depend on
                it. It is called even if nobody waits any more.

        Raises:
            ProtocolError: The host's error, with its number and data.
            Mismatch: The answer does not fit the command.
            ConnectionLost: No answer came.
        """
        async with self._slots:
            if self._over is not None:
                raise self._over
            answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()

            def settle(result: Any, error: SeraiError | None) -> None:
                if error is None and then is not None:
                    try:
                        then(result)
                    except SeraiError as problem:
                        error = problem
                if error is None and not answer.done():
                    answer.set_result(result)
                elif error is not None and not answer.done():
                    answer.set_exception(error)

            self.send(self._peer.request(method, params, settle)[1])
            return await answer

    def send(self, frame: bytes) -> None:
        """Send a frame after all earlier ones. On a connection that is over it does nothing."""
        if self._over is None:
            self._outbox.put_nowait(frame)

    async def _write(self) -> None:
        while True:
            await self._socket.send(await self._outbox.get(), text=True)

    # -- receiving -----------------------------------------------------------------------------------------

    async def _read(self) -> None:
        while True:
            match self._peer.receive(await self._socket.recv(decode=False)):
                case jsonrpc.Answered(settle, result, error):
                    settle(result, error)
                case jsonrpc.Notification(method=method, params=params):
                    self._heard(method, params)
                case jsonrpc.Request() as request:
                    task = asyncio.create_task(self._answer(request))
                    self._answering.add(task)
                    task.add_done_callback(self._answering.discard)
                case ProtocolError() as error:
                    _log.warning("the host sent an unreadable message: %s", error)
                    if error.id is not None:  # a request: nothing else can be answered
                        self.send(self._peer.refuse(error))
                case answer:
                    _log.warning("the host answered an unknown request: %s", answer)

    async def _answer(self, request: jsonrpc.Request) -> None:
        try:
            frame = self._peer.answer(request.id, await self._respond(request.method, request.params))
        except SeraiError as error:
            frame = self._peer.refuse(error, request.id)
        except Exception:  # noqa: BLE001 - a request gets an answer, whatever happens
            _log.exception("the handler of %s failed", request.method)
            problem = ProtocolError(f"the client failed to answer {request.method!r}")
            frame = self._peer.refuse(problem, request.id)
        self.send(frame)
