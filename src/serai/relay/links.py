"""The relay's end of a connection: JSON-RPC 2.0 over a socket.

The program's end is a `Connection` of `serai.client`.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable
from typing import TYPE_CHECKING, Any

import msgspec

from serai import contract as c
from serai.contract.record import checked
from serai.contract.relay_calls import read_params
from serai.errors import ConnectionLost, InvalidParams, InvalidRequest, ParseError, ProtocolError, SeraiError
from serai.jsonrpc import (
    Answered,
    ErrorObject,
    Failure,
    LineCodec,
    Message,
    Notification,
    Peer,
    Request,
    RequestId,
    message_of,
)

if TYPE_CHECKING:
    from serai.relay.tokens import Caller
    from serai.relay.workspace import Workspace

_log = logging.getLogger(__name__)


class _Codec(LineCodec):
    """Reads JSON-RPC 2.0 strictly. An id may be of any kind, and parameters are plain JSON."""

    def decode(self, line: bytes) -> Message:
        """Return the message in a frame.

        Raises:
            InvalidRequest: It is none.
            ParseError: It is no JSON.
        """
        try:
            plain = _read_plain(checked(line))
        except (msgspec.DecodeError, ValueError, RecursionError) as error:
            raise ParseError(f"not JSON: {error}") from None
        message = message_of(plain)
        if message is None or plain.get("jsonrpc") != "2.0":
            raise InvalidRequest("not a message of JSON-RPC 2.0")
        return message


_read_plain = msgspec.json.Decoder().decode
CODEC = _Codec()
"""The codec of the relay's connections."""
MOST_UNDER_WAY = 1000
"""Most calls of one connection that may be under way."""


def read_call(data: bytes) -> Request | Notification:
    """Read a call.

    Raises:
        InvalidRequest: It is none.
        ParseError: It is no JSON.
    """
    call = CODEC.decode(data)
    if not isinstance(call, Request | Notification):
        raise InvalidRequest("not a call: it names no method")
    return call


def refusal_of(error: Exception) -> ErrorObject:
    """Return an error in the form that a caller gets. Unexpected errors go to the host's log alone."""
    if isinstance(error, SeraiError):
        number = error.number if isinstance(error, ProtocolError) else -32000
        data = {"message": error.message, **error.to_wire()}
        return ErrorObject(code=number, message=str(error), data=data)
    _log.exception("a call of the relay failed", exc_info=error)
    what = "the host could not answer; see its log"
    return ErrorObject(code=-32603, message=what, data={"code": "error", "message": what})


class HostEnd(ABC):
    """Answers a caller's requests, sends it the events that it subscribed to, and sends it requests in turn.

    Args:
        workspace: The relay.
        answer: Sends what the caller waits for: answers, and requests of the relay.
        tell: Sends notifications.
    """

    def __init__(
        self, workspace: Workspace, answer: Callable[[bytes], None], tell: Callable[[bytes], None]
    ) -> None:
        self._workspace = workspace
        self._answer, self._tell = answer, tell
        self._calls: Peer[asyncio.Future[Any]] = Peer(CODEC)
        self._answering: set[asyncio.Task[None]] = set()
        self._subscriptions: dict[str, asyncio.Task[None]] = {}
        self._when_closed: list[Callable[[], None]] = []
        self.lost: ConnectionLost | None = None
        """The reason why nothing can be asked any more."""

    @abstractmethod
    def caller(self) -> Caller:
        """Return the caller.

        Raises:
            ConnectionLost: The caller is gone.
        """

    async def request(self, method: str, params: Any) -> Any:
        """Ask the caller. The question is sent before anything is awaited.

        Returns the result, as plain JSON. Cancelling forgets the question: an answer that comes later is
        ignored.

        Raises:
            ConnectionLost: The connection is over, or its token was revoked.
            ProtocolError: The answer is an error.
        """
        self.caller()
        if self.lost is not None:
            raise self.lost
        future = asyncio.get_running_loop().create_future()
        number, call = self._calls.request(method, params, future)
        try:
            self._answer(call)  # those who ask bound the number of requests
            return await future
        finally:
            self._calls.forget(number)

    def received(self, data: bytes) -> None:
        """Take a message. Calls do not wait for each other; what they store is in their order."""
        match message := self._calls.receive(data):
            case Answered(ticket=future):
                if not future.done() and message.error is not None:
                    future.set_exception(message.error)
                elif not future.done():
                    future.set_result(message.result)
            case Request(id=call_id) if len(self._answering) >= MOST_UNDER_WAY:
                self._refuse(call_id, InvalidRequest("too many calls are under way"))
            case Request() | Notification():
                task = asyncio.create_task(self._respond(message))
                self._answering.add(task)
                task.add_done_callback(self._answering.discard)
            case ProtocolError() as error:
                self._refuse(error.id, error)
            case _:
                pass  # a late answer

    def _refuse(self, call_id: RequestId, error: Exception) -> None:
        self._answer(CODEC.encode(Failure(id=call_id, error=refusal_of(error))))

    async def _respond(self, call: Request | Notification) -> None:
        try:
            result = await self._result(call.method, {} if call.params is None else call.params)
            if isinstance(call, Request):
                self._answer(self._calls.answer(call.id, result))
        except Exception as error:  # noqa: BLE001 - the caller always gets an answer
            if isinstance(call, Request):
                self._refuse(call.id, error)

    async def _result(self, method: str, params: Any) -> Any:
        caller, read = self.caller(), read_params(method, params)
        if isinstance(read, c.SubscribeParams):
            result, events = await self._workspace.subscribe(caller, read)
            if self.lost is not None:  # it was closed meanwhile
                raise self.lost
            telling = asyncio.create_task(self._follow(result.subscription, events))
            self._subscriptions[result.subscription] = telling
            return result
        if isinstance(read, c.UnsubscribeParams):
            task = self._subscriptions.pop(read.subscription, None)
            if task is None:
                what = f"there is no subscription {read.subscription!r}"
                raise InvalidParams(what, field="params.subscription")
            task.cancel()
            return c.Empty()
        return await self._workspace.call(caller, method, read)

    async def _follow(self, subscription: str, events: AsyncGenerator[c.WorkspaceEvent]) -> None:
        with contextlib.suppress(ConnectionLost):
            async with contextlib.aclosing(events):
                async for event in events:
                    self.caller()
                    self._tell(self._calls.notify("event", {"subscription": subscription, "event": event}))

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call a function once the connection is over, after all pending questions have failed."""
        self._when_closed.append(call)

    def disconnected(self) -> None:
        """End the connection. What was begun is finished; its answers are dropped."""
        for task in self._subscriptions.values():
            task.cancel()
        self.lost = ConnectionLost("the connection is over")
        for future in self._calls.forget_all():
            if not future.done():
                future.set_exception(self.lost)
        for call in self._when_closed:
            call()
