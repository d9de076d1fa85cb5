"""Makes an agent of a Python function, or of a session object, wherever its program runs.

    async def review(message: RelayMessage, context: MessageContext) -> str:
        return f"Looks good: {message.text}"

    async with await Relay.connect(url, token) as relay:
        await relay.register(define_harness("reviewer", review))
        await relay.closed()

A function gets one message after the other. Text that it returns is the answer in the message's thread, a
receipt is sent as it is, and `None` means that the message was delivered. `stay_registered` does the same and
connects again whenever the connection is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeAlias

from serai import contract as c
from serai.errors import CapabilityUnsupported, ConnectionLost, SeraiError
from serai.relay.sdk import Relay

_log = logging.getLogger(__name__)

_REMEMBERED = 10_000
"""Most deliveries that a program remembers, in order not to surface one twice."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0

Receive: TypeAlias = Callable[[c.RelayMessage, c.MessageContext], Awaitable[c.MessageReceipt | str | None]]
"""Function that takes a message. An exception is a failure that is tried again."""


class FunctionSession(c.BasicSession):
    """A session that is a function. Made by `define_harness`."""

    def __init__(
        self, identity: c.AgentIdentity, capabilities: c.AgentSessionCapabilities, receive: Receive
    ) -> None:
        super().__init__(identity, capabilities)
        self._receive = receive
        self._turn = asyncio.Lock()
        self._unsent: dict[str, str] = {}
        """The answers that could not be sent, by their deliveries."""
        self._handlers: set[c.EventHandler] = set()
        self.reply: Callable[[str, str, str], Awaitable[str]] | None = None
        """Function that answers a message in its thread, and returns the answer's id. `register` sets it.

        Its arguments are the ids of the message and of the delivery, and the text between them. One delivery
        has one answer, however often that is sent.
        """

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:
        """Call the function, once the calls before are done."""
        async with self._turn:
            answer = self._unsent.get(context.id) or await self._receive(message, context)
            if not isinstance(answer, str):
                return answer or c.Delivered(delivery_id=context.id)
            told = {"text": answer}
            if self.reply is not None and self.capabilities.messaging.send:
                self._unsent[context.id] = (
                    answer  # if it cannot be sent now, the function is not called again
                )
                told["replyId"] = await self.reply(message.id, answer, context.id)
                del self._unsent[context.id]
            return c.Delivered(delivery_id=context.id, metadata={"answer": told})

    def on_event(self, handler: c.EventHandler) -> c.Unsubscribe:
        """See `AgentSession.on_event`."""
        self._handlers.add(handler)
        return partial(self._handlers.discard, handler)

    def emit(self, event: c.AgentSessionEvent) -> None:
        """Send an event that was observed to all handlers."""
        for handler in set(self._handlers):
            handler(event)


def define_harness(
    name: str,
    receive: Receive,
    *,
    modes: Sequence[c.DeliveryMode] = (
        c.DeliveryMode.ON_IDLE,
        c.DeliveryMode.IMMEDIATE,
        c.DeliveryMode.MANUAL,
    ),
    emits: Sequence[c.AgentSessionEventType] = (),
    capabilities: c.AgentSessionCapabilities | None = None,
    description: str | None = None,
) -> FunctionSession:
    """Make an agent of a function.

    Args:
        name: The agent's name.
        receive: The function. It is called with one message after the other.
        modes: The modes in which messages may surface.
        emits: The types of events that it reports with `emit`.
        capabilities: All that it declares, in place of `modes` and `emits`.
        description: A description for others.
    """
    declared = capabilities or c.AgentSessionCapabilities(
        messaging=c.MessagingCapabilities(receive=True, send=True),
        delivery=c.DeliveryCapabilities(modes=tuple(modes)),
        events=c.EventCapabilities(emits=tuple(emits)),
        lifecycle=c.LifecycleCapabilities(release=False),
    )
    kind = c.IdentityKind.AGENT
    identity = c.AgentIdentity(id="", name=name, handle=c.handle_of(name), kind=kind, description=description)
    return FunctionSession(identity, declared, receive)


class Registration:
    """A registered session: over one connection, or over several after each other. See `Relay.register`.

    It remembers the deliveries that the session was given: each id gets to it once, over all connections.

    Args:
        session: The session that receives the messages.
        stays: True if the session's work goes on when a connection is over.
    """

    def __init__(self, session: c.AgentSession, *, stays: bool = False) -> None:
        self._session = session
        self._stays = stays
        self._relay: Relay | None = None
        self._tasks: OrderedDict[str, asyncio.Task[c.MessageReceipt]] = OrderedDict()
        """The tasks that handle the messages which the session was given, by their deliveries."""
        self._lease_seconds = 30.0
        self._events: asyncio.Queue[c.AgentSessionEvent] = asyncio.Queue()
        self._reporting: asyncio.Task[None] | None = None
        self._unsubscribe: c.Unsubscribe = lambda: None
        self.identity = session.identity
        """The identity under which the session takes part."""
        self.secret: str | None = None
        """The secret that signs what is posted to the session's URL."""

    @property
    def relay(self) -> Relay:
        """The connection.

        Raises:
            ConnectionLost: It is over.
        """
        if self._relay is None:
            raise ConnectionLost("the session is not registered any more")
        return self._relay

    async def begin(self, relay: Relay, **more: Any) -> None:
        """Register over a connection, and answer from then on."""
        session = self._session
        c.check_registration(session)
        self._relay = relay
        relay.registrations[c.handle_of(session.identity.name)] = self
        if isinstance(session, FunctionSession):
            session.reply = self._reply
        self._unsubscribe = session.on_event(self._events.put_nowait)
        found: c.RegisterResult = await relay.call(
            "sessions.register",
            identity=c.to_wire(session.identity),
            capabilities=c.to_wire(session.capabilities),
            **more,
        )
        self.identity, self.secret = found.identity, found.secret
        self._lease_seconds = found.lease_seconds
        self._reporting = asyncio.create_task(self._report(relay))

    async def receipt(self, receipt: c.MessageReceipt) -> c.DeliveryRecord:
        """Send the receipt of a message that the session has held.

        Raises:
            LeaseLost: It was offered elsewhere since.
            DeliveryFinal: The delivery is over, and ended otherwise.
        """
        return await self.relay.call("deliveries.receipt", receipt=c.to_wire(receipt))

    async def unregister(self) -> None:
        """End the registration. Deliveries that are still open fail, and their senders are told."""
        relay = self.relay
        self.close()
        await relay.call("sessions.unregister", agent=self.identity.handle)

    def end(self) -> None:
        """Take and report nothing more over this connection."""
        self._relay = None
        self._unsubscribe()
        if self._reporting is not None:
            self._reporting.cancel()
        if not self._stays:
            for task in self._tasks.values():
                task.cancel()

    def close(self) -> None:
        """Take and report nothing more, and cancel what the session does with messages now."""
        self._stays = False
        self.end()

    async def _report(self, relay: Relay) -> None:
        """Report events in their order."""
        handle = self.identity.handle
        while True:
            event = await self._events.get()
            try:
                await relay.call("sessions.report", agent=handle, events=[c.to_wire(event)])
            except ConnectionLost:
                return
            except SeraiError as error:
                _log.warning("the event %s of %s was not reported: %s", event.type, handle, error)

    async def _reply(self, message_id: str, text: str, delivery_id: str) -> str:
        """Answer a message as the session, also over a connection of the owner."""
        more = {"as": self.identity.handle, "idempotencyKey": f"answer to {delivery_id}"}
        return (await self.relay.reply(message_id, text, **more)).message.id

    # -- requests of the relay -----------------------------------------------------------------------------

    async def receive(self, offer: c.DeliveryOffer) -> c.MessageReceipt:
        """Take a message, or wait for its handling that has begun already; renew the lease meanwhile."""
        if (
            self._relay is None
        ):  # the connection is about to close: messages without an answer are offered again
            await asyncio.get_running_loop().create_future()
        relay, delivery_id = self.relay, offer.context.id
        task = self._tasks.get(delivery_id)
        if task is None or (task.done() and _may_come_again(task)):
            task = asyncio.create_task(self._session.receive_message(offer.message, offer.context))
            self._tasks[delivery_id] = task
            task.add_done_callback(lambda _task: self._trim())
        while not task.done():
            await asyncio.wait({task}, timeout=self._lease_seconds / 3)
            if not task.done():
                with contextlib.suppress(SeraiError):
                    await relay.call("deliveries.extend", deliveryId=delivery_id, lease=offer.lease)
        return task.result()

    def _trim(self) -> None:
        while len(self._tasks) > _REMEMBERED and next(iter(self._tasks.values())).done():
            self._tasks.popitem(last=False)

    async def answer(self, method: str, params: Any) -> Any:
        """Let the session do what the relay asks: with a message, or as a whole. Returns the answer."""
        session = self._session
        if method == "receiveMessage":
            return await self.receive(c.convert(params, c.DeliveryOffer))
        if method in {"flush", "cancel"}:
            if not isinstance(session, c.AgentDeliveryAdapter):
                raise CapabilityUnsupported(f"delivery.{method}", method, agent=self.identity.name)
            held = c.convert(params, c.HeldParams)
            if method == "flush":
                return list(await session.flush(held.delivery_id))
            await session.cancel(held.delivery_id, held.reason)
            return {}
        match c.LifecycleOperation(method):
            case c.LifecycleOperation.FORK:  # the new session is registered over the same connection
                return {"agent": (await self.relay.register(await session.fork())).identity.handle}
            case c.LifecycleOperation.SNAPSHOT:
                return await session.snapshot()
            case c.LifecycleOperation.RESUME:
                await session.resume()
            case c.LifecycleOperation.PAUSE:
                await session.pause(c.convert(params, c.OperationParams).reason)
            case c.LifecycleOperation.RELEASE:  # nothing more is asked of it
                await session.release(c.convert(params, c.OperationParams).reason)
                self.close()
        return {}


async def stay_registered(
    session: c.AgentSession,
    url: str | None = None,
    token: str | None = None,
    *,
    home: str | None = None,
    registered: Callable[[Registration], None] | None = None,
    **more: Any,
) -> None:
    """Register a session, and connect again whenever the connection is lost, until cancelled.

    Args:
        session: The session that receives the messages.
        url: The host's address; by default, that of this machine.
        token: The token for the host.
        home: The folder of this machine's host.
        registered: Called each time the session has been registered.
        more: Other parameters of `sessions.register`.

    Raises:
        SeraiError: The host refuses the token, or the session.
    """
    registration, wait = Registration(session, stays=True), _FIRST_WAIT
    try:
        while True:
            try:
                async with await Relay.connect(url, token, home=home) as relay:
                    await registration.begin(relay, **more)
                    wait = _FIRST_WAIT
                    if registered is not None:
                        registered(registration)
                    await relay.closed()
            except ConnectionLost as error:
                _log.info("%s is not connected: %s", session.identity.name, error)
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
    finally:
        registration.close()


def _may_come_again(task: asyncio.Task[c.MessageReceipt]) -> bool:
    if task.cancelled() or task.exception() is not None:
        return True
    receipt = task.result()
    return not isinstance(receipt, c.Accepted | c.Delivered | c.Failed) or (
        isinstance(receipt, c.Failed) and receipt.retryable
    )
