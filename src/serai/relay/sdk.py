"""The relay from Python: one class, over the port of a host.

For example:

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
import secrets
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator
from contextvars import ContextVar
from functools import partialmethod
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Self
from urllib.parse import urlsplit, urlunsplit

import msgspec
from websockets.asyncio.client import ClientConnection

from serai import contract as c
from serai.client.address import find_address
from serai.client.connection import Connection, websocket_opener
from serai.errors import (
    CapabilityUnsupported,
    ConnectionLost,
    MethodNotFound,
    ProtocolError,
    RelayError,
    SeraiError,
)
from serai.relay.links import CODEC, MOST_UNDER_WAY
from serai.relay.predicates import ActionEvents, Predicate, events, named

if TYPE_CHECKING:
    from serai.relay.harness import Registration

_log = logging.getLogger(__name__)

_ASKED = ("actions.run", "receiveMessage", "flush", "cancel", *c.LifecycleOperation)
"""The methods that the relay calls. All but the first name an agent registered over the connection."""

_chain: ContextVar[dict[str, Any]] = ContextVar("led_by", default={})  # noqa: B039 - it is never changed
"""The chain of messages that a handler continues: its length, and the listeners in it."""

EventHandler = Callable[[c.WorkspaceEvent], Awaitable[None] | None]
"""Function that receives events one after the other. Its exceptions are logged, and disturb nobody else."""


ActionHandler = Callable[[c.ActionRunParams], Awaitable[Any] | Any]
"""Function that runs an action, and returns its output. The caller gets an exception as its failure."""


class Listening:
    """A handler that receives events. Calling this object ends that.

    Awaiting it waits until it is set up, and raises if that is refused: `unsubscribe = await relay.on(…)`.
    """

    def __init__(self, subscribing: asyncio.Task[Any], listening: asyncio.Task[None]) -> None:
        self._subscribing, self._listening = subscribing, listening

    def __call__(self) -> None:
        """Receive no more events."""
        self._listening.cancel()

    def __await__(self) -> Generator[Any, None, Self]:
        yield from asyncio.shield(self._subscribing).__await__()
        return self


class Relay:
    """The relay, for a program.

    Args:
        socket: The WebSocket to the host.
    """

    events = events
    """Makes predicates: `relay.on(relay.events.delivery.failed(), handler)`."""

    def __init__(self, socket: ClientConnection) -> None:
        self.messages = SimpleNamespace(send=self.send, reply=self.reply, get=self.message)
        """The methods for messages, under the names of the pages: `relay.messages.send`."""
        self._socket = socket
        self._subscribing: set[asyncio.Task[Any]] = set()
        """The subscriptions that do not receive anything yet."""
        self._listening: set[asyncio.Task[Any]] = set()
        self._subscriptions: dict[str, asyncio.Queue[c.WorkspaceEvent | None]] = {}
        self._handlers: dict[str, ActionHandler] = {}
        self.registrations: dict[str, Registration] = {}
        """The sessions that are registered over this connection, by their handles."""
        self._connection = Connection(
            socket,
            self._on_notification,
            self._on_request,
            self._ended,
            codec=CODEC,
            most_requests=MOST_UNDER_WAY,
        )
        self._running = asyncio.create_task(self._connection.run())

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
        return cls(await websocket_opener(there)())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """End all listeners, and close the connection. Sessions and messages stay."""
        for registration in self.registrations.values():
            registration.end()
        for task in self._listening:
            task.cancel()
        await asyncio.gather(*self._listening, return_exceptions=True)
        await self._socket.close()
        self._running.cancel()
        await self.closed()

    async def closed(self) -> ConnectionLost:
        """Wait until the connection is over, and return the reason."""
        await asyncio.wait({self._running})
        is_ours = self._running.cancelled()
        return ConnectionLost("the connection is closed") if is_ours else self._running.result()

    async def register(self, session: c.AgentSession, **more: Any) -> Registration:
        """Register a session over this connection, for as long as that lasts.

        Args:
            session: What receives the messages. Each delivery id gets to it once.
            more: What else `sessions.register` takes: `strict`, `leaseSeconds`.

        Raises:
            CapabilityUnsupported: It declares too little, or something that it does not have.
            NameTaken: Someone else has its name.
            Forbidden: The token is for another participant.
        """
        from serai.relay.harness import Registration  # noqa: PLC0415 - it needs this module

        registration = Registration(session)
        await registration.begin(self, **more)
        return registration

    async def call(self, method: str, **params: Any) -> Any:
        """Call a method of the relay, with its parameters under their names on the wire.

        Returns its result, as its type.

        Raises:
            RelayError: The relay refused; its class, and its `code`, say why.
            ProtocolError: The call is not one, or its parameters do not fit.
            ConnectionLost: The host is gone.
        """
        if self._subscribing:
            await asyncio.wait(self._subscribing)  # so that the listeners receive the effects of the call
        if (led_by := _chain.get()) and method in {"messages.send", "messages.reply"}:
            params["metadata"] = {**params.get("metadata", {}), **led_by}
        return await self._call(method, {key: value for key, value in params.items() if value is not None})

    async def _call(self, method: str, params: Any) -> Any:
        try:
            return c.convert(await self._connection.request(method, params), c.METHODS[method][1])
        except ProtocolError as error:
            raise _error_of(error) from None

    async def _on_request(self, method: str, params: Any) -> Any:
        """Let the session, or the action's handler, answer the relay. Exceptions become the answer."""
        if method not in _ASKED:
            raise MethodNotFound(f"this client does not serve {method!r}")
        try:
            if method == "actions.run":
                return await self._run_action(c.convert(params, c.ActionRunParams))
            return await self.registrations[c.convert(params, c.AgentParams).agent].answer(method, params)
        except SeraiError:
            raise
        except Exception as error:
            raise ProtocolError(f"{type(error).__name__}: {error}") from error

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
    ) -> c.SendResult:
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

    async def reply(self, message_id: str, text: str, **more: Any) -> c.SendResult:
        """Answer a message in its thread. See `messages.reply`."""
        return await self.call("messages.reply", messageId=message_id, text=text, **more)

    async def message(self, message_id: str) -> c.RelayMessage:
        """Return a message, with its reactions and the number of its readers."""
        return await self.call("messages.get", messageId=message_id)

    async def delivery(self, delivery_id: str) -> c.DeliveryRecord:
        """Return the record of a delivery."""
        return await self.call("deliveries.get", deliveryId=delivery_id)

    # -- sessions ------------------------------------------------------------------------------------------

    async def _operate(self, operation: str, agent: str, reason: str | None = None) -> c.OperationResult:
        return await self.call(f"sessions.{operation}", agent=agent, reason=reason)

    release = partialmethod(_operate, "release")
    """End an agent's session for good. This and the next four work only where the session declares them."""
    pause = partialmethod(_operate, "pause")
    """Pause an agent's session: nothing enters until it is resumed. A running turn goes on to its end."""
    resume = partialmethod(_operate, "resume")
    """Resume a session: what has waited enters."""
    fork = partialmethod(_operate, "fork")
    """Make a second session that begins with what this one knows: the `agent` of the answer."""
    snapshot = partialmethod(_operate, "snapshot")
    """Return a session's state, as JSON that its harness can read: the `snapshot` of the answer."""

    # -- events --------------------------------------------------------------------------------------------

    async def follow(
        self, *types: str, agent: str | None = None, room: str | None = None, after: str | None = None
    ) -> AsyncGenerator[c.WorkspaceEvent]:
        """Yield events as they come, or all after one of them. Leaving the `async for` ends it."""
        params = c.SubscribeParams(types=types, agent=agent, room=room, after=after)
        async with contextlib.aclosing(await self.subscribe(params)) as events:
            async for event in events:
                yield event

    async def subscribe(self, params: c.SubscribeParams) -> AsyncGenerator[c.WorkspaceEvent]:
        """Subscribe to events. They come from the moment this returns, until their iterator is closed."""
        started: c.SubscribeResult = await self._call("events.subscribe", c.to_wire(params))
        if started.source == "gap":
            _log.warning(
                "not all events after %s are there any more: they begin at %s", params.after, started.first
            )
        return self._events(started.subscription)

    async def _events(self, subscription: str) -> AsyncGenerator[c.WorkspaceEvent]:
        queue = self._queue(subscription)
        try:
            while (event := await queue.get()) is not None:
                yield event
            raise await self.closed()
        finally:
            with contextlib.suppress(SeraiError):
                await self._call("events.unsubscribe", {"subscription": subscription})
            self._subscriptions.pop(subscription, None)

    def _queue(self, subscription: str) -> asyncio.Queue[c.WorkspaceEvent | None]:
        return self._subscriptions.setdefault(subscription, asyncio.Queue())

    def _on_notification(self, method: str, params: Any) -> None:
        if method == "event":
            self._queue(params["subscription"]).put_nowait(c.convert(params["event"], c.WorkspaceEvent))

    def _ended(self) -> None:
        for queue in self._subscriptions.values():
            queue.put_nowait(None)

    def on(self, predicate: Predicate | str, handler: EventHandler, *, after: str | None = None) -> Listening:
        """Call a handler with each event that passes, from now on or after one of them.

        Returns what ends that when it is called. Awaited, it says whether the listener is set up: it raises
        `CapabilityUnsupported` for events that an agent never emits. A name, also with wildcards, is a
        predicate, too.
        """
        wanted = named(predicate) if isinstance(predicate, str) else predicate
        params = c.SubscribeParams(types=wanted.types, agent=wanted.agent, after=after)
        subscribing = asyncio.create_task(self.subscribe(params))
        listening = asyncio.create_task(self._listen(wanted, handler, subscribing))
        for task, kept in ((subscribing, self._subscribing), (listening, self._listening)):
            kept.add(task)
            task.add_done_callback(kept.discard)
        return Listening(subscribing, listening)

    add_listener = on

    def notify(self, to: str, text: str | Callable[[c.WorkspaceEvent], str]) -> EventHandler:
        """Return a handler that sends a message: a text, or what a function makes of the event."""

        async def send(event: c.WorkspaceEvent) -> None:
            await self.send(to, text if isinstance(text, str) else text(event))

        return send

    # -- actions -------------------------------------------------------------------------------------------

    async def action(
        self,
        name: str,
        handler: ActionHandler,
        *,
        description: str = "",
        input: dict[str, Any] | type | None = None,  # noqa: A002 - as on the wire
        output: dict[str, Any] | type | None = None,
        available_to: list[str] | None = None,
    ) -> ActionEvents:
        """Offer an action to others, for as long as this relay is connected.

        Args:
            name: The action's name.
            handler: Does it.
            description: What it does, for those who choose.
            input: JSON Schema, or a type of msgspec's or pydantic's that has one; without it, anything.
            output: The same, of what the handler returns.
            available_to: Names, handles, ids, globs or tags of those who may ask; without it, everyone.

        Returns what makes predicates of its events: `handle.failed()`.
        """
        self._handlers[name] = handler
        await self.call(
            "actions.register",
            name=name,
            description=description,
            inputSchema=_schema_of(input),
            outputSchema=_schema_of(output),
            availableTo=available_to,
        )
        return ActionEvents(name)

    async def invoke(self, name: str, input: Any = None, *, wait_ms: int = 600_000) -> c.InvokeResult:  # noqa: A002 - as on the wire
        """Invoke an action, and wait for its outcome; with `wait_ms=0`, only until it has begun."""
        return await self.call("actions.invoke", name=name, input=input, waitMs=wait_ms)

    async def _run_action(self, call: c.ActionRunParams) -> Any:
        outcome = self._handlers[call.name](call)
        return msgspec.to_builtins(await outcome if inspect.isawaitable(outcome) else outcome)

    async def _listen(
        self,
        wanted: Predicate,
        handler: EventHandler,
        subscribing: asyncio.Task[AsyncGenerator[c.WorkspaceEvent]],
    ) -> None:
        try:
            events = await subscribing
        except SeraiError as error:  # the caller who awaits the listener gets it, too
            _log.warning("a listener was not set up: %s", error)
            return
        own = secrets.token_hex(4)
        async with contextlib.aclosing(events):
            async for event in events:
                await self._handle(wanted, handler, event, own)

    async def _handle(
        self, wanted: Predicate, handler: EventHandler, event: c.WorkspaceEvent, own: str
    ) -> None:
        try:
            before = event.message.metadata if event.message else {}
            heard_by: list[str] = before.get("listeners", [])
            if own in heard_by:
                return  # this listener caused the event: it would react to itself for ever
            _chain.set({"hops": before.get("hops", 0) + 1, "listeners": [*heard_by, own]})
            outcome = handler(event) if wanted(event) else None
            if inspect.isawaitable(outcome):
                await outcome
        except Exception:  # noqa: BLE001 - one failing handler does not stop the others
            _log.exception("a listener failed with the event %s (%s)", event.id, event.type)


def _error_of(error: ProtocolError) -> SeraiError:
    """Return an error of the relay, as an instance of the class that has its code."""
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


def _schema_of(described: dict[str, Any] | type | None) -> dict[str, Any] | None:
    """Return the JSON Schema of a type; a schema stays as it is."""
    if described is None or isinstance(described, dict):
        return described
    of_pydantic = getattr(described, "model_json_schema", None)
    return of_pydantic() if of_pydantic is not None else msgspec.json.schema(described)
