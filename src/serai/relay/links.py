"""Both ends of a connection to the relay: JSON-RPC 2.0 over a socket, or within the host's own process."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Protocol

import msgspec

from serai import contract as c
from serai.contract.relay_calls import read_params
from serai.depth import checked
from serai.errors import (
    CapabilityUnsupported,
    ConnectionLost,
    InvalidParams,
    InvalidRequest,
    MethodNotFound,
    ParseError,
    ProtocolError,
    RelayError,
    SeraiError,
)
from serai.jsonrpc import (
    Answered,
    ErrorObject,
    Failure,
    LineCodec,
    Message,
    Notification,
    Peer,
    Request,
    Unreadable,
    message_of,
)

if TYPE_CHECKING:
    from serai.relay.inbox import Caller
    from serai.relay.workspace import Workspace

_log = logging.getLogger(__name__)


class _Codec(LineCodec):
    """Reads JSON-RPC 2.0, and mends nothing. An id may be of any kind, and parameters are plain JSON."""

    def decode(self, line: bytes) -> Message:
        """The message that a frame is.

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
"""How messages are read and written."""
_MOST_UNDER_WAY = 1000
"""How many calls of one connection may be under way."""


class Transport(Protocol):
    """What carries the frames of a connection: a WebSocket of the client's, or queues within the process."""

    async def send(self, frame: bytes) -> None:
        """Send a frame."""
        ...

    async def receive(self) -> bytes:
        """The next frame. Raises `ConnectionLost` when the connection is over."""
        ...

    async def close(self) -> None:
        """End the connection."""
        ...


Answer = Callable[[Any], Awaitable[Any]]
"""Answers what the relay asks: takes the parameters. What it raises is told to the relay."""


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


def _refusal_of(error: Exception) -> ErrorObject:
    """An exception as the other end is told of it."""
    if isinstance(error, SeraiError):
        number = error.number if isinstance(error, ProtocolError) else -32000
        return ErrorObject(
            code=number, message=str(error), data={"message": error.message, **error.to_wire()}
        )
    return ErrorObject(code=-32603, message=f"{type(error).__name__}: {error}")


# -- one end of a connection -------------------------------------------------------------------------------


class RpcPeer(ABC):
    """One end of a connection: asks the other end, and answers what that asks."""

    told = staticmethod(_refusal_of)
    """What the other end is told of an error."""

    def __init__(self) -> None:
        self._calls: Peer[asyncio.Future[Any]] = Peer(CODEC)
        self.answering: set[asyncio.Task[None]] = set()
        self._when_closed: list[Callable[[], None]] = []
        self.lost: ConnectionLost | None = None
        """Why nothing can be asked any more."""

    @abstractmethod
    async def write(self, data: bytes) -> None:
        """Send a message."""

    @abstractmethod
    async def respond(self, method: str, params: Any) -> Any:
        """Do what the other end asks, and return the result. What it raises is told."""

    def heard(self, method: str, params: Any) -> bool:  # noqa: ARG002 - for those who override it
        """Take a notification at once, so that several come in their order. Returns whether it was one."""
        return False

    async def request(self, method: str, params: Any) -> Any:
        """Ask the other end. The question is written before anything is waited for.

        Returns the result, as plain JSON. Cancelling forgets the question: an answer that comes later is
        ignored.

        Raises:
            ConnectionLost: The connection is over, and nobody answers any more.
            ProtocolError: The answer is an error.
        """
        if self.lost is not None:
            raise self.lost
        future = asyncio.get_running_loop().create_future()
        number, call = self._calls.request(method, params, future)
        try:
            await self.write(call)  # whoever asks bounds how much is asked at once
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
            case Notification(method=method, params=params) if self.heard(method, params):
                pass
            case Request(id=call_id) if len(self.answering) >= _MOST_UNDER_WAY:
                self._begin(self._refuse(call_id, InvalidRequest("too many calls are under way")))
            case Request() | Notification():
                self._begin(self._respond(message))
            case Unreadable(error=error):
                self._begin(self._refuse(error.id, error))
            case _:
                pass  # an answer that nobody waits for any more

    def _begin(self, answering: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(answering)
        self.answering.add(task)
        task.add_done_callback(self.answering.discard)

    async def _refuse(self, call_id: Any, error: Exception) -> None:
        with contextlib.suppress(ConnectionLost):
            await self.write(CODEC.encode(Failure(id=call_id, error=self.told(error))))

    async def _respond(self, call: Request | Notification) -> None:
        try:
            result = await self.respond(call.method, {} if call.params is None else call.params)
            if isinstance(call, Request):
                with contextlib.suppress(ConnectionLost):
                    await self.write(self._calls.answer(call.id, result))
        except Exception as error:  # noqa: BLE001 - whatever it is, the other end gets an answer
            if isinstance(call, Request):
                await self._refuse(call.id, error)

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call something once the connection is over, after all questions have been given up."""
        self._when_closed.append(call)

    def over(self, lost: ConnectionLost) -> None:
        """The connection is over: nobody answers any more."""
        self.lost = lost
        for future in self._calls.forget_all():
            if not future.done():
                future.set_exception(lost)
        for call in self._when_closed:
            call()


# -- the program's end -------------------------------------------------------------------------------------


class Link(RpcPeer):
    """Calls to the relay; events and questions come back."""

    def __init__(self, transport: Transport) -> None:
        super().__init__()
        self.answers: dict[str, Answer] = {}
        """What answers the relay's questions, by method."""
        self._transport = transport
        self._subscriptions: dict[str, asyncio.Queue[c.WorkspaceEvent | None]] = {}
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Call a method. Returns its result, as its type.

        Raises:
            SeraiError: The relay refused, or cannot be reached.
        """
        try:
            return c.convert(await self.request(method, params), c.METHODS[method][1])
        except ProtocolError as error:
            raise _raised(error) from None

    async def subscribe(
        self, params: c.SubscribeParams
    ) -> tuple[c.SubscribeResult, AsyncGenerator[c.WorkspaceEvent]]:
        """Subscribe to events. They come from the moment this returns, until their iterator is closed."""
        started: c.SubscribeResult = await self.call("events.subscribe", c.to_wire(params))
        return started, self._events(started.subscription)

    async def _events(self, subscription: str) -> AsyncGenerator[c.WorkspaceEvent]:
        queue = self._queue(subscription)
        try:
            while (event := await queue.get()) is not None:
                yield event
            if self.lost is not None:
                raise self.lost
        finally:
            with contextlib.suppress(SeraiError):
                await self.call("events.unsubscribe", {"subscription": subscription})
            self._subscriptions.pop(subscription, None)

    def _queue(self, subscription: str) -> asyncio.Queue[c.WorkspaceEvent | None]:
        return self._subscriptions.setdefault(subscription, asyncio.Queue())

    def heard(self, method: str, params: Any) -> bool:
        """See `RpcPeer`."""
        if is_event := method == "event":
            self._queue(params["subscription"]).put_nowait(c.convert(params["event"], c.WorkspaceEvent))
        return is_event

    async def respond(self, method: str, params: Any) -> Any:
        """See `RpcPeer`."""
        if method not in self.answers:
            raise MethodNotFound(f"nobody here answers {method!r}")
        return await self.answers[method](params)

    async def write(self, data: bytes) -> None:
        """See `RpcPeer`."""
        await self._transport.send(data)

    async def closed(self) -> None:
        """Wait until nothing can be called any more."""
        await asyncio.wait({self._reading})

    async def close(self) -> None:
        """Call nothing any more."""
        await self._transport.close()
        tasks = [self._reading, *self.answering]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _read(self) -> None:
        lost = ConnectionLost("the connection is closed")
        try:
            while True:
                self.received(await self._transport.receive())
        except ConnectionLost as error:
            lost = error
        finally:
            self.over(lost)
            for queue in self._subscriptions.values():
                queue.put_nowait(None)


def _raised(error: ProtocolError) -> SeraiError:
    """The error that the relay told of, as the class that has its code."""
    data: dict[str, Any] = error.data or {}
    if data.get("code") == CapabilityUnsupported.code:
        return CapabilityUnsupported(
            data["capability"],
            data["requested"],
            tuple(data.get("available", ())),
            agent=data.get("agent"),
            remedy=data.get("remedy"),
        )
    for kind in RelayError.__subclasses__():
        if kind.code == data.get("code"):
            return kind(data.get("message") or error.message, remedy=data.get("remedy"))
    return error


# -- the relay's end ---------------------------------------------------------------------------------------


def told_to_caller(error: Exception) -> ErrorObject:
    """What a caller is told of an error. What was not foreseen stands in the host's log alone."""
    if isinstance(error, SeraiError):
        return _refusal_of(error)
    _log.exception("a call of the relay failed", exc_info=error)
    what = "the host could not answer; see its log"
    return ErrorObject(code=-32603, message=what, data={"code": "error", "message": what})


class HostEnd(RpcPeer):
    """The relay's end: does what a caller asks for, and tells it the events that it subscribed to.

    Args:
        workspace: The relay.
        answer: Sends what the caller waits for: answers, and questions of the relay.
        tell: Sends what nobody has asked for.
    """

    told = staticmethod(told_to_caller)

    def __init__(
        self, workspace: Workspace, answer: Callable[[bytes], None], tell: Callable[[bytes], None]
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._answer, self._tell = answer, tell
        self._subscriptions: dict[str, asyncio.Task[None]] = {}

    @abstractmethod
    def caller(self) -> Caller:
        """Who is there.

        Raises:
            ConnectionLost: Nobody, any more.
        """

    async def write(self, data: bytes) -> None:
        """See `RpcPeer`."""
        self._answer(data)

    def disconnected(self) -> None:
        """The connection is over. What was begun is done to its end; nobody hears of it here."""
        for task in self._subscriptions.values():
            task.cancel()
        self.over(ConnectionLost("the connection is over"))

    async def respond(self, method: str, params: Any) -> Any:
        """See `RpcPeer`."""
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


class LocalEnd(HostEnd):
    """The relay's end for a program in its own process. The program's `Link` has it as its transport."""

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        self._frames: asyncio.Queue[bytes | None] = asyncio.Queue()
        super().__init__(workspace, self._frames.put_nowait, self._frames.put_nowait)
        self._caller = caller._replace(link=self)

    def caller(self) -> Caller:
        """See `HostEnd`."""
        return self._caller

    async def send(self, frame: bytes) -> None:
        """See `Transport`."""
        if self.lost is not None:
            raise self.lost
        self.received(frame)

    async def receive(self) -> bytes:
        """See `Transport`."""
        frame = await self._frames.get()
        if frame is None:
            raise ConnectionLost("the connection is closed")
        return frame

    async def close(self) -> None:
        """See `Transport`."""
        if self.lost is None:
            self.disconnected()
            self._frames.put_nowait(None)
