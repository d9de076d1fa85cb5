"""The relay from Python: one class, in the host's own process or over the port.

async with await Relay.connect() as relay:
sent = await relay.send("@reviewer", "Please look at the last commit.", wait_for="answered")
print(sent.deliveries[0].answer.text)
relay.on(events.delivery.failed(), tell_someone)
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType
from typing import Any, Protocol, Self
from urllib.parse import urlsplit, urlunsplit

import msgspec

from serai.client.address import find_address
from serai.client.connection import Transport, websocket_opener
from serai.contract import (
    METHODS,
    DeliveryRecord,
    Inbox,
    RelayMessage,
    Room,
    SendResult,
    SubscribeParams,
    SubscribeResult,
    WorkspaceEvent,
    decode,
    to_wire,
)
from serai.errors import ConnectionLost, ProtocolError, RelayError, SeraiError
from serai.relay.predicates import Predicate, named

__all__ = ["EventHandler", "Link", "Relay"]

_log = logging.getLogger(__name__)

EventHandler = Callable[[WorkspaceEvent], Awaitable[None] | None]
"""Is called with each event, one after the other. What it raises is logged, and disturbs nobody else."""


class Link(Protocol):
    """How calls get to the relay, and events back."""

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """Call a method. Returns its result, as its type.

        Raises:
            SeraiError: The relay refused, or cannot be reached.
        """
        ...

    async def subscribe(
        self, params: SubscribeParams
    ) -> tuple[SubscribeResult, AsyncGenerator[WorkspaceEvent]]:
        """Subscribe to events. They come from the moment this returns, until their iterator is closed."""
        ...

    async def close(self) -> None:
        """Call nothing any more."""
        ...


class Relay:
    """The relay, for a program."""

    def __init__(self, link: Link) -> None:
        self._link = link
        self._subscribing: set[asyncio.Future[None]] = set()
        """Who listens, and does not hear anything yet."""
        self._listening: set[asyncio.Task[None]] = set()

    @classmethod
    async def connect(
        cls, url: str | None = None, token: str | None = None, *, home: str | None = None
    ) -> Relay:
        """Connect to the relay of a host: by default that of this machine. Cancelling leaves nothing open.

        Raises:
            ConnectionLost: No host answers.
            AccessRefused: The token is not right.
        """
        address = find_address(url, token, home=home)
        parts = urlsplit(address.url)
        there = address._replace(url=urlunsplit((parts.scheme, parts.netloc, "/relay", "", "")))
        return cls(RemoteLink(await websocket_opener(there)()))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Listen no longer, and close the connection. Sessions and messages stay."""
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        await self._link.close()

    async def call(self, method: str, **params: Any) -> Any:
        """Call a method of the relay, with its parameters under their names on the wire.

        Raises:
            RelayError: The relay refused; its class, and its `code`, say why.
            ProtocolError: The call is not one, or its parameters do not fit.
            ConnectionLost: The host is gone.
        """
        if self._subscribing:
            await asyncio.wait(self._subscribing)  # what comes of the call is heard
        return await self._link.call(
            method, {key: value for key, value in params.items() if value is not None}
        )

    # -- messages ------------------------------------------------------------------------------------------

    async def send(
        self,
        to: str | list[str],
        text: str,
        *,
        mode: str | None = None,
        priority: str | None = None,
        idempotency_key: str | None = None,
        wait_for: str | None = None,
        timeout_ms: int | None = None,
        **more: Any,
    ) -> SendResult:
        """Send a message to `#room`, to `@handle` or to several handles. See `messages.send`."""
        return await self.call(
            "messages.send",
            to=to,
            text=text,
            mode=mode,
            priority=priority,
            idempotencyKey=idempotency_key,
            waitFor=wait_for,
            timeoutMs=timeout_ms,
            **more,
        )

    async def reply(self, message_id: str, text: str, **more: Any) -> SendResult:
        """Answer a message in its thread. See `messages.reply`."""
        return await self.call("messages.reply", messageId=message_id, text=text, **more)

    async def message(self, message_id: str) -> RelayMessage:
        """A message, with its reactions and how many have read it."""
        return await self.call("messages.get", messageId=message_id)

    async def inbox(self, *, peek: bool = False) -> Inbox:
        """What waits for whoever calls. Unless it only peeks, what is in it is delivered by that."""
        return await self.call("inbox.get", peek=peek)

    async def create_room(self, name: str, topic: str | None = None) -> Room:
        """Make a room."""
        return await self.call("rooms.create", name=name, topic=topic)

    async def delivery(self, delivery_id: str) -> DeliveryRecord:
        """How far a delivery has come."""
        return await self.call("deliveries.get", deliveryId=delivery_id)

    # -- events --------------------------------------------------------------------------------------------

    async def events(
        self, *types: str, agent: str | None = None, room: str | None = None, after: str | None = None
    ) -> AsyncGenerator[WorkspaceEvent]:
        """Events as they come, or all after one of them. `async for` over it; leaving the loop ends it."""
        params = SubscribeParams(types=types, agent=agent, room=room, after=after)
        async with contextlib.aclosing(await self._subscribe(params)) as events:
            async for event in events:
                yield event

    async def _subscribe(self, params: SubscribeParams) -> AsyncGenerator[WorkspaceEvent]:
        started, events = await self._link.subscribe(params)
        if started.source == "gap":
            _log.warning(
                "not all events after %s are there any more: they begin at %s", params.after, started.first
            )
        return events

    def on(
        self, predicate: Predicate | str, handler: EventHandler, *, after: str | None = None
    ) -> Callable[[], None]:
        """Call a handler with each event that passes, from now on or after one of them.

        Returns what ends that. A name, also with wildcards, is a predicate, too.
        """
        wanted = named(predicate) if isinstance(predicate, str) else predicate
        subscribed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._subscribing.add(subscribed)
        subscribed.add_done_callback(self._subscribing.discard)
        task = asyncio.create_task(self._listen(wanted, handler, after, subscribed))
        task.add_done_callback(lambda _task: subscribed.cancel())
        self._listening.add(task)
        task.add_done_callback(self._listening.discard)

        def unsubscribe() -> None:
            task.cancel()

        return unsubscribe

    add_listener = on

    def notify(self, to: str, text: str | Callable[[WorkspaceEvent], str]) -> EventHandler:
        """A handler that sends a message: a text, or what a function makes of the event."""

        async def send(event: WorkspaceEvent) -> None:
            await self.send(to, text if isinstance(text, str) else text(event))

        return send

    async def _listen(
        self, wanted: Predicate, handler: EventHandler, after: str | None, subscribed: asyncio.Future[None]
    ) -> None:
        events = await self._subscribe(SubscribeParams(types=wanted.types, after=after))
        subscribed.set_result(None)
        async with contextlib.aclosing(events):
            async for event in events:
                if not wanted(event):
                    continue
                try:
                    outcome = handler(event)
                    if inspect.isawaitable(outcome):
                        await outcome
                except Exception:  # noqa: BLE001 - whatever a handler raises, others go on
                    _log.exception("a listener failed with the event %s (%s)", event.id, event.type)


class RemoteLink:
    """Calls over a WebSocket to `/relay`."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._last_id = 0
        self._calls: dict[int, tuple[str, asyncio.Future[Any]]] = {}
        self._subscriptions: dict[str, asyncio.Queue[WorkspaceEvent | None]] = {}
        self._lost: ConnectionLost | None = None
        self._reading = asyncio.create_task(self._read())

    async def call(self, method: str, params: dict[str, Any]) -> Any:
        """See `Link`."""
        if self._lost is not None:
            raise self._lost
        self._last_id += 1
        call_id = self._last_id
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._calls[call_id] = method, answer
        try:
            call = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
            await self._transport.send(msgspec.json.encode(call))
            return await answer
        finally:
            self._calls.pop(call_id, None)

    async def subscribe(
        self, params: SubscribeParams
    ) -> tuple[SubscribeResult, AsyncGenerator[WorkspaceEvent]]:
        """See `Link`."""
        started: SubscribeResult = await self.call("events.subscribe", to_wire(params))
        return started, self._events(started.subscription)

    async def _events(self, subscription: str) -> AsyncGenerator[WorkspaceEvent]:
        queue = self._queue(subscription)
        try:
            while (event := await queue.get()) is not None:
                yield event
            if self._lost is not None:
                raise self._lost
        finally:
            with contextlib.suppress(SeraiError):
                await self.call("events.unsubscribe", {"subscription": subscription})
            self._subscriptions.pop(subscription, None)

    def _queue(self, subscription: str) -> asyncio.Queue[WorkspaceEvent | None]:
        return self._subscriptions.setdefault(subscription, asyncio.Queue())

    async def close(self) -> None:
        """See `Link`."""
        await self._transport.close()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def _read(self) -> None:
        try:
            while True:
                self._take(msgspec.json.decode(await self._transport.receive()))
        except ConnectionLost as error:
            self._lost = error
        finally:
            self._lost = self._lost or ConnectionLost("the connection is closed")
            for _, answer in self._calls.values():
                if not answer.done():
                    answer.set_exception(self._lost)
            for queue in self._subscriptions.values():
                queue.put_nowait(None)

    def _take(self, message: dict[str, Any]) -> None:
        if message.get("method") == "event":
            told = message["params"]
            event = msgspec.convert(told["event"], WorkspaceEvent)
            self._queue(told["subscription"]).put_nowait(event)
            return
        method, answer = self._calls.get(message.get("id") or 0, ("", None))
        if answer is None or answer.done():
            return
        if (error := message.get("error")) is not None:
            answer.set_exception(_refusal(error))
        else:
            answer.set_result(decode(msgspec.json.encode(message["result"]), METHODS[method][1]))


def _refusal(error: dict[str, Any]) -> SeraiError:
    """The error that the relay told of, as the class that has its code."""
    data: dict[str, Any] = error.get("data") or {}
    for kind in RelayError.__subclasses__():
        if kind.code == data.get("code"):
            return kind(data.get("message") or error["message"], remedy=data.get("remedy"))
    return ProtocolError(error["message"], number=error["code"], data=data)
