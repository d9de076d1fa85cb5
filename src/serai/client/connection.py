"""One connection: requests and their answers, notifications, and the host's own requests.

Frames are handled in order, by one task: what a frame changes has been changed before the next one is looked
at. Sending is a queue that another task empties, so that order is kept there too and nobody waits in line.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from serai.ahp import jsonrpc
from serai.ahp.wire import Value
from serai.client.transport import Transport
from serai.errors import ConnectionLost, MethodNotFound, ProtocolError, SeraiError

__all__ = ["Connection", "Handler", "OnNotification"]

_log = logging.getLogger(__name__)

# So many requests may be under way at once, in either direction; ours then wait, the host's are refused.
_MAX_REQUESTS = 32
_TOO_MANY_REQUESTS = -32000

Handler: TypeAlias = Callable[[Any], Awaitable[Any]]
"""Answers a request of the host: gets its parameters, returns its result or raises a `SeraiError`."""

OnNotification: TypeAlias = Callable[[str, Any], None]
"""Hears of each notification: its method and its parameters."""


@dataclass(slots=True)
class _Asked:
    """A request that the host has not answered yet."""

    method: str
    answer: asyncio.Future[Any]
    then: Callable[[Any], None] | None


class Connection:
    """JSON-RPC over one transport. `run` has to be running for anything to happen.

    Args:
        transport: What carries the frames.
        heard: Called with each notification, in order, by the task that reads.
        handlers: Who answers the host's requests, by method. Others are answered with -32601.
        ended: Called once, when the connection is over, before anyone who waits for an answer hears of it.
    """

    def __init__(
        self,
        transport: Transport,
        heard: OnNotification,
        handlers: Mapping[str, Handler],
        ended: Callable[[], None],
    ) -> None:
        self._transport = transport
        self._heard = heard
        self._handlers = handlers
        self._ended = ended
        self._asked: dict[jsonrpc.RequestId, _Asked] = {}
        self._next_id = 1
        self._slots = asyncio.Semaphore(_MAX_REQUESTS)
        self._outbox: deque[bytes] = deque()
        self._something_to_send = asyncio.Event()
        self._answering: set[asyncio.Task[None]] = set()
        self._over: ConnectionLost | None = None

    async def run(self) -> ConnectionLost:
        """Carry messages until the connection is over, and say why it is.

        Requests without an answer then raise that error. Cancelling it ends the connection, too. Whoever made
        the transport closes it.
        """
        tasks = [asyncio.create_task(self._read()), asyncio.create_task(self._write())]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            try:
                done.pop().result()
            except ConnectionLost as lost:
                self._over = lost
            return self._over or ConnectionLost("the connection ended")
        finally:
            self._over = self._over or ConnectionLost("this client ended the connection")
            self._ended()
            for task in [*tasks, *self._answering]:
                task.cancel()
            for asked in self._asked.values():
                _fail(asked.answer, self._over)
            self._asked.clear()
            await asyncio.gather(*tasks, *self._answering, return_exceptions=True)

    # -- sending -------------------------------------------------------------------------------------------

    async def request(self, method: str, params: Value, then: Callable[[Any], None] | None = None) -> Any:
        """Ask the host, and wait for the answer. Cancelling it takes nothing back that was sent.

        Args:
            method: The command.
            params: Its parameters.
            then: Called with the result by the task that reads, before the next frame: for an answer that
                the frames after it build upon. It is called even if nobody waits any more.

        Raises:
            ProtocolError: The host's error, with its number and data.
            Mismatch: The answer is not what that command answers.
            ConnectionLost: No answer came.
        """
        async with self._slots:
            if self._over is not None:
                raise self._over
            request_id, self._next_id = self._next_id, self._next_id + 1
            answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            frame = jsonrpc.encode(jsonrpc.Request(id=request_id, method=method, params=params))
            self._asked[request_id] = _Asked(method, answer, then)
            self.send(frame)
            return await answer

    def send(self, frame: bytes) -> None:
        """Send a frame after all that was sent before. On a connection that is over it does nothing."""
        if self._over is None:
            self._outbox.append(frame)
            self._something_to_send.set()

    async def _write(self) -> None:
        while True:
            while self._outbox:
                await self._transport.send(self._outbox.popleft())
            self._something_to_send.clear()
            await self._something_to_send.wait()

    # -- receiving -----------------------------------------------------------------------------------------

    async def _read(self) -> None:
        while True:
            frame = await self._transport.receive()
            try:
                message = jsonrpc.decode(frame)
            except ProtocolError as error:
                self._unreadable(error)
                continue
            match message:
                case jsonrpc.Success():
                    self._answered(message)
                case jsonrpc.Failure():
                    self._failed(message)
                case jsonrpc.Notification():
                    self._heard(message.method, message.params)
                case jsonrpc.Request():
                    self._asks(message)

    def _unreadable(self, error: ProtocolError) -> None:
        """A request gets the error as its answer. Whatever else it was, answering would not help."""
        _log.warning("the host sent something that cannot be read: %s", error)
        if error.id is not None:
            self.send(jsonrpc.encode(jsonrpc.Failure.of(error)))

    def _answered(self, message: jsonrpc.Success) -> None:
        asked = self._asked.pop(message.id, None)
        if asked is None:
            _log.warning("the host answered a request %s that was not asked", message.id)
            return
        try:
            result = jsonrpc.result_of(message, asked.method)
            if asked.then is not None:
                asked.then(result)
        except SeraiError as error:
            _fail(asked.answer, error)
            return
        if not asked.answer.done():
            asked.answer.set_result(result)

    def _failed(self, message: jsonrpc.Failure) -> None:
        asked = self._asked.pop(message.id, None) if isinstance(message.id, int | float) else None
        if asked is None:
            _log.warning("the host could not read a message: %s", message.error.message)
            return
        error = message.error
        _fail(
            asked.answer,
            ProtocolError(error.message, id=message.id, number=error.code, data=error.data),
        )

    # -- the host's requests -------------------------------------------------------------------------------

    def _asks(self, request: jsonrpc.Request) -> None:
        handler = self._handlers.get(request.method)
        if handler is None:
            self._refuse(request, MethodNotFound(f"this client does not serve {request.method!r}"))
        elif len(self._answering) >= _MAX_REQUESTS:
            self._refuse(request, ProtocolError("too many requests", number=_TOO_MANY_REQUESTS))
        else:
            self._spawn(self._answer(request, handler))

    async def _answer(self, request: jsonrpc.Request, handler: Handler) -> None:
        try:
            result = await handler(request.params)
            frame = jsonrpc.encode(jsonrpc.Success(id=request.id, result=result))
        except ProtocolError as error:
            self._refuse(request, error)
        except SeraiError as error:
            self._refuse(request, ProtocolError(str(error), data=error.to_wire()))
        except Exception:  # noqa: BLE001 - a request gets an answer, whatever happens
            _log.exception("the handler of %s failed", request.method)
            self._refuse(request, ProtocolError(f"the client failed to answer {request.method!r}"))
        else:
            self.send(frame)

    def _refuse(self, request: jsonrpc.Request, error: ProtocolError) -> None:
        error.id = request.id
        self.send(jsonrpc.encode(jsonrpc.Failure.of(error)))

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._answering.add(task)
        task.add_done_callback(self._answering.discard)


def _fail(future: asyncio.Future[Any], error: SeraiError) -> None:
    if not future.done():
        future.set_exception(error)
