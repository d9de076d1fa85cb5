"""One connection: requests and their answers, notifications, and the host's own requests.

Frames are handled in order, by one task: what a frame changes has been changed before the next one is looked
at. Sending is a queue that another task empties, so that order is kept there too and nobody waits in line.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from serai import jsonrpc
from serai.ahp.codec import CODEC
from serai.ahp.wire import Value
from serai.client.transport import Transport
from serai.errors import ConnectionLost, MethodNotFound, ProtocolError, SeraiError
from serai.jsonrpc.messages import TOO_MANY_REQUESTS

__all__ = ["Connection", "Handler", "OnNotification"]

_log = logging.getLogger(__name__)

_MAX_REQUESTS = 32
"""Most requests under way at once, in either direction; more of ours wait, more of the host's are refused."""

Handler: TypeAlias = Callable[[Any], Awaitable[Any]]
"""Answers a request of the host: gets its parameters, returns its result or raises a `SeraiError`."""

OnNotification: TypeAlias = Callable[[str, Any], None]
"""Hears of each notification: its method and its parameters."""


@dataclass(slots=True)
class _Waiting:
    """Who waits for an answer of the host."""

    answer: asyncio.Future[Any]
    then: Callable[[Any], None] | None

    def settle(self, result: Any, error: SeraiError | None) -> None:
        """Hand the answer over."""
        if error is None and self.then is not None:
            try:
                self.then(result)
            except SeraiError as problem:
                error = problem
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(result)
        else:
            self.answer.set_exception(error)


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
        self._peer: jsonrpc.Peer[_Waiting] = jsonrpc.Peer(CODEC)
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
            for waiting in self._peer.forget_all():
                waiting.settle(None, self._over)
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
            answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
            _, frame = self._peer.request(method, params, _Waiting(answer, then))
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
            match self._peer.receive(await self._transport.receive()):
                case jsonrpc.Answered(waiting, result, error):
                    waiting.settle(result, error)
                case jsonrpc.Notification(method=method, params=params):
                    self._heard(method, params)
                case jsonrpc.Request() as request:
                    self._asks(request)
                case jsonrpc.Unreadable(error):
                    _log.warning("the host sent something that cannot be read: %s", error)
                    if error.id is not None:  # a request; whatever else it was, answering would not help
                        self.send(self._peer.refuse(error))
                case jsonrpc.Success(id=call_id):
                    _log.warning("the host answered a request %s that was not asked", call_id)
                case jsonrpc.Failure(error=problem):
                    _log.warning("the host could not read a message: %s", problem.message)
                case None:
                    pass

    def _asks(self, request: jsonrpc.Request) -> None:
        handler = self._handlers.get(request.method)
        if handler is None:
            self._refuse(request, MethodNotFound(f"this client does not serve {request.method!r}"))
        elif len(self._answering) >= _MAX_REQUESTS:
            self._refuse(request, ProtocolError("too many requests", number=TOO_MANY_REQUESTS))
        else:
            task = asyncio.create_task(self._answer(request, handler))
            self._answering.add(task)
            task.add_done_callback(self._answering.discard)

    async def _answer(self, request: jsonrpc.Request, handler: Handler) -> None:
        try:
            frame = self._peer.answer(request.id, await handler(request.params))
        except SeraiError as error:
            self._refuse(request, error)
        except Exception:  # noqa: BLE001 - a request gets an answer, whatever happens
            _log.exception("the handler of %s failed", request.method)
            self._refuse(request, ProtocolError(f"the client failed to answer {request.method!r}"))
        else:
            self.send(frame)

    def _refuse(self, request: jsonrpc.Request, error: SeraiError) -> None:
        self.send(self._peer.refuse(error, request.id))
