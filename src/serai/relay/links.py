"""How programs and the relay ask each other: JSON-RPC 2.0 over a socket, or straight into the workspace."""

from __future__ import annotations

import asyncio
import contextlib
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import msgspec

from serai import contract as c
from serai.contract.relay_calls import read_params
from serai.errors import (
    CapabilityUnsupported,
    ConnectionLost,
    InvalidRequest,
    MethodNotFound,
    ParseError,
    ProtocolError,
    RelayError,
    SeraiError,
)

if TYPE_CHECKING:
    from serai.client.connection import Transport
    from serai.relay.inbox import Caller
    from serai.relay.workspace import Workspace

__all__ = ["Link", "LocalLink", "RemoteLink", "RpcPeer", "answer", "read_call", "told_as_error"]

_MOST_UNDER_WAY = 1000
"""How many calls of one connection may be under way."""

Answer = Callable[[bytes], Awaitable[Any]]
"""Answers what the relay asks: takes the parameters, as JSON. What it raises is told to the relay."""


# -- messages ----------------------------------------------------------------------------------------------


class _Call(msgspec.Struct):
    """A call, with its parameters unread, or, without a method, the answer to one of ours."""

    jsonrpc: Literal["2.0"]
    method: str = ""
    id: int | float | str | msgspec.UnsetType | None = msgspec.UNSET
    params: msgspec.Raw = msgspec.Raw(b"{}")
    result: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    error: dict[str, Any] | msgspec.UnsetType = msgspec.UNSET

    @property
    def number(self) -> int | float | str | None:
        """The id that an answer has; none where no id was given."""
        return None if self.id is msgspec.UNSET else self.id


_decode_call = msgspec.json.Decoder(_Call).decode


def read_call(data: bytes) -> _Call:
    """Read a call, or the answer to one.

    Raises:
        InvalidRequest: It is neither.
        ParseError: It is no JSON.
    """
    try:
        call = _decode_call(data)
    except msgspec.ValidationError as error:
        raise InvalidRequest(f"not a call: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise ParseError(f"not JSON: {error}") from None
    if not call.method and call.result is call.error is msgspec.UNSET:
        raise InvalidRequest("not a call: it names no method")
    return call


def answer(call_id: Any, **outcome: Any) -> bytes:
    """The answer to a call: its `result`, or an `error`."""
    return msgspec.json.encode({"jsonrpc": "2.0", "id": call_id, **outcome})


def told_as_error(error: Exception) -> dict[str, Any]:
    """An exception as the other end is told of it."""
    if isinstance(error, SeraiError):
        number = error.number if isinstance(error, ProtocolError) else -32000
        return {"code": number, "message": str(error), "data": {"message": error.message, **error.to_wire()}}
    return {"code": -32603, "message": f"{type(error).__name__}: {error}"}


def _error(told: dict[str, Any]) -> ProtocolError:
    return ProtocolError(told.get("message", ""), number=told.get("code", 0), data=told.get("data"))


# -- one end of a connection -------------------------------------------------------------------------------


class RpcPeer(ABC):
    """One end of a connection: asks the other end, and answers what that asks."""

    def __init__(self) -> None:
        self._last_id = 0
        self._asked: dict[int | float | str | None, asyncio.Future[bytes]] = {}
        """What the other end was asked and has not answered yet."""
        self.answering: set[asyncio.Task[None]] = set()
        self._when_closed: list[Callable[[], None]] = []
        self.lost: ConnectionLost | None = None
        """Why nothing can be asked any more."""

    @abstractmethod
    async def write(self, data: bytes) -> None:
        """Send a message."""

    @abstractmethod
    async def respond(self, method: str, params: bytes) -> Any:
        """Do what the other end asks, and return the result. What it raises is told."""

    def heard(self, method: str, params: msgspec.Raw) -> bool:  # noqa: ARG002 - for those who override it
        """Take a notification at once, so that several come in their order. Returns whether it was one."""
        return False

    def told(self, error: Exception) -> dict[str, Any]:
        """What the other end is told of an error."""
        return told_as_error(error)

    async def request(self, method: str, params: Any) -> bytes:
        """Ask the other end. The question is written before anything is waited for.

        Returns the result, as JSON. Cancelling forgets the question: an answer that comes later is ignored.

        Raises:
            ConnectionLost: The connection is over, and nobody answers any more.
            ProtocolError: The answer is an error.
        """
        if self.lost is not None:
            raise self.lost
        self._last_id = number = self._last_id + 1
        future = self._asked[number] = asyncio.get_running_loop().create_future()
        try:
            call = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            await self.write(msgspec.json.encode(call))  # whoever asks bounds how much is asked at once
            return await future
        finally:
            del self._asked[number]

    def received(self, data: bytes) -> None:
        """Take a message. Calls do not wait for each other; what they store is in their order."""
        try:
            call = read_call(data)
        except ProtocolError as error:
            self._begin(self.write(answer(None, error=self.told(error))))
            return
        if not call.method:
            self._answered(call)
        elif self.heard(call.method, call.params):
            return
        elif len(self.answering) >= _MOST_UNDER_WAY:
            too_many = InvalidRequest("too many calls are under way")
            self._begin(self.write(answer(call.number, error=self.told(too_many))))
        else:
            self._begin(self._respond(call))

    def _begin(self, answering: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(answering)
        self.answering.add(task)
        task.add_done_callback(self.answering.discard)

    async def _respond(self, call: _Call) -> None:
        try:
            told = answer(call.number, result=await self.respond(call.method, bytes(call.params)))
        except Exception as error:  # noqa: BLE001 - whatever it is, the other end gets an answer
            told = answer(call.number, error=self.told(error))
        if call.id is not msgspec.UNSET:
            with contextlib.suppress(ConnectionLost):
                await self.write(told)

    def _answered(self, call: _Call) -> None:
        future = self._asked.get(call.number)
        if future is None or future.done():
            return
        if isinstance(call.error, dict):
            future.set_exception(_error(call.error))
        elif isinstance(call.result, msgspec.Raw):
            future.set_result(bytes(call.result))

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call something once the connection is over, after all questions have been given up."""
        self._when_closed.append(call)

    def over(self, lost: ConnectionLost) -> None:
        """The connection is over: nobody answers any more."""
        self.lost = lost
        for future in self._asked.values():
            if not future.done():
                future.set_exception(lost)
        for call in self._when_closed:
            call()


# -- from a program to the relay ---------------------------------------------------------------------------


async def _answer(answers: dict[str, Answer], method: str, params: bytes) -> Any:
    if method not in answers:
        raise MethodNotFound(f"nobody here answers {method!r}")
    return await answers[method](params)


class _Told(msgspec.Struct):
    subscription: str
    event: c.WorkspaceEvent


_read_event = msgspec.json.Decoder(_Told).decode


class RemoteLink(RpcPeer):
    """Calls over a WebSocket to `/relay`; events and questions come back."""

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
            return c.decode(await self.request(method, params), c.METHODS[method][1])
        except ProtocolError as error:
            raise _refusal(error) from None

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

    def heard(self, method: str, params: msgspec.Raw) -> bool:
        """See `RpcPeer`."""
        if is_event := method == "event":
            told = _read_event(params)
            self._queue(told.subscription).put_nowait(told.event)
        return is_event

    async def respond(self, method: str, params: bytes) -> Any:
        """See `RpcPeer`."""
        return await _answer(self.answers, method, params)

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


def _refusal(error: ProtocolError) -> SeraiError:
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


class LocalLink:
    """Calls straight into a workspace, from the host's own process."""

    def __init__(self, workspace: Workspace, caller: Caller) -> None:
        self.answers: dict[str, Answer] = {}
        self._workspace = workspace
        self._caller = caller._replace(link=self)
        self._closed = asyncio.Event()
        self._when_closed: list[Callable[[], None]] = []

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """See `RemoteLink`."""
        read = read_params(method, msgspec.json.encode(params))
        return await self._workspace.call(self._caller, method, read)

    async def subscribe(
        self, params: c.SubscribeParams
    ) -> tuple[c.SubscribeResult, AsyncGenerator[c.WorkspaceEvent]]:
        """See `RemoteLink`."""
        return await self._workspace.subscribe(self._caller, params)

    async def closed(self) -> None:
        """See `RemoteLink`."""
        await self._closed.wait()

    async def close(self) -> None:
        """See `RemoteLink`."""
        if not self._closed.is_set():
            self._closed.set()
            for call in self._when_closed:
                call()

    async def request(self, method: str, params: c.Record) -> bytes:
        """See `RpcPeer`."""
        if self._closed.is_set():
            raise ConnectionLost("the connection is over")
        try:
            return msgspec.json.encode(await _answer(self.answers, method, c.encode(params)))
        except Exception as error:
            raise _error(told_as_error(error)) from error

    def when_closed(self, call: Callable[[], None]) -> None:
        """See `RpcPeer`."""
        self._when_closed.append(call)


Link: TypeAlias = RemoteLink | LocalLink
"""How calls get to the relay, and events and questions back."""
