"""Makes an agent of a Python function, or of a session object, wherever its program runs.

    async def review(message: RelayMessage, context: MessageContext) -> str:
        return f"Looks good: {message.text}"

    async with await Relay.connect(url, token) as relay:
        await relay.register(define_harness("reviewer", review))
        await relay.closed()

A function gets one message after the other. What it returns is the answer in the message's thread, if it is
text; a receipt is told as it is; nothing means that the message was delivered. `stay_registered` does the
same and connects again whenever the connection is lost.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from serai.contract import (
    Accepted,
    AgentDeliveryAdapter,
    AgentIdentity,
    AgentSession,
    AgentSessionCapabilities,
    AgentSessionEvent,
    AgentSessionEventType,
    BasicSession,
    Delivered,
    DeliveryCapabilities,
    DeliveryMode,
    DeliveryRecord,
    EventCapabilities,
    EventHandler,
    Failed,
    HeldParams,
    HelloResult,
    IdentityKind,
    LifecycleCapabilities,
    MessageContext,
    MessageReceipt,
    MessagingCapabilities,
    Offer,
    RegisterResult,
    RelayMessage,
    Unsubscribe,
    check_registration,
    decode,
    handle_of,
    to_wire,
)
from serai.errors import CapabilityUnsupported, ConnectionLost, SeraiError
from serai.relay.sdk import Relay

__all__ = [
    "FunctionSession",
    "Receive",
    "Registration",
    "SeenDeliveries",
    "define_harness",
    "register",
    "stay_registered",
]

_log = logging.getLogger(__name__)

_REMEMBERED = 10_000
"""How many deliveries a program remembers, in order not to surface one twice."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 10.0

Receive: TypeAlias = Callable[[RelayMessage, MessageContext], Awaitable[MessageReceipt | str | None]]
"""Takes a message. Whatever it raises is a failure that is tried again."""


class FunctionSession(BasicSession):
    """A session that is a function. Made by `define_harness`."""

    def __init__(
        self, identity: AgentIdentity, capabilities: AgentSessionCapabilities, receive: Receive
    ) -> None:
        super().__init__(identity, capabilities)
        self._receive = receive
        self._turn = asyncio.Lock()
        self._handlers: list[EventHandler] = []
        self.reply: Callable[[str, str], Awaitable[object]] | None = None
        """Answers a message, by its id, in its thread. `register` sets it."""

    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:
        """Call the function, once the calls before are done."""
        async with self._turn:
            answer = await self._receive(message, context)
            if isinstance(answer, str):
                if self.reply is not None:
                    await self.reply(message.id, answer)
                answer = None
            return answer or Delivered(delivery_id=context.id)

    def on_event(self, handler: EventHandler) -> Unsubscribe:
        """See `AgentSession.on_event`."""
        self._handlers.append(handler)

        def unsubscribe() -> None:
            with contextlib.suppress(ValueError):
                self._handlers.remove(handler)

        return unsubscribe

    def emit(self, event: AgentSessionEvent) -> None:
        """Tell those who listen of something that was observed."""
        for handler in list(self._handlers):
            handler(event)


def define_harness(
    name: str,
    receive: Receive,
    *,
    modes: Sequence[DeliveryMode] = (DeliveryMode.ON_IDLE, DeliveryMode.IMMEDIATE, DeliveryMode.MANUAL),
    emits: Sequence[AgentSessionEventType] = (),
    capabilities: AgentSessionCapabilities | None = None,
    description: str | None = None,
) -> FunctionSession:
    """An agent that is a function.

    Args:
        name: Under which name it takes part.
        receive: Is called with one message after the other.
        modes: When messages may surface.
        emits: What it tells of itself, by `emit`.
        capabilities: All that it declares, in place of `modes` and `emits`.
        description: What it is for.
    """
    declared = capabilities or AgentSessionCapabilities(
        messaging=MessagingCapabilities(receive=True, send=True),
        delivery=DeliveryCapabilities(modes=tuple(modes)),
        events=EventCapabilities(emits=tuple(emits)),
        lifecycle=LifecycleCapabilities(release=False),
    )
    kind = IdentityKind.AGENT
    identity = AgentIdentity(id="", name=name, handle=handle_of(name), kind=kind, description=description)
    return FunctionSession(identity, declared, receive)


class Registration:
    """A session that takes part over one connection. Made by `register`."""

    def __init__(self, relay: Relay, session: AgentSession, seen: SeenDeliveries | None) -> None:
        self._relay = relay
        self._session = session
        self._seen = seen or SeenDeliveries()
        self._owns_seen = seen is None
        self._is_own = True
        self._is_over = False
        self._lease_seconds = 30.0
        self._events: asyncio.Queue[AgentSessionEvent] = asyncio.Queue()
        self._reporting: asyncio.Task[None] | None = None
        self._unsubscribe: Unsubscribe = lambda: None
        self.identity = session.identity
        """Under which identity it takes part."""
        self.secret: str | None = None
        """What is posted to its URL is signed with this."""

    async def begin(self, **more: Any) -> None:
        """Register, and answer from then on."""
        session = self._session
        check_registration(session)
        _answer_for_all(self._relay)
        self._relay.registrations[handle_of(session.identity.name)] = self
        if isinstance(session, FunctionSession):
            session.reply = self._reply
        self._unsubscribe = session.on_event(self._events.put_nowait)
        found: RegisterResult = await self._relay.call(
            "sessions.register",
            identity=to_wire(session.identity),
            capabilities=to_wire(session.capabilities),
            **more,
        )
        self.identity, self.secret = found.identity, found.secret
        hello: HelloResult = await self._relay.call("hello")
        self._is_own = hello.identity == found.identity
        self._lease_seconds = found.lease_seconds
        self._reporting = asyncio.create_task(self._report())

    async def receipt(self, receipt: MessageReceipt) -> DeliveryRecord:
        """Say what became of a message that the session has held.

        Raises:
            LeaseLost: It was offered elsewhere since.
            DeliveryFinal: The delivery is over, and ended otherwise.
        """
        return await self._relay.call("deliveries.receipt", receipt=to_wire(receipt))

    async def unregister(self) -> None:
        """Take part no longer. What is still open for the session fails, and its senders are told."""
        self.end()
        await self._relay.call("sessions.unregister", agent=self.identity.handle)

    def end(self) -> None:
        """Take and report nothing any more. What is at work over several connections goes on."""
        self._is_over = True
        if self._owns_seen:
            self._seen.close()
        self._unsubscribe()
        if self._reporting is not None:
            self._reporting.cancel()

    async def _report(self) -> None:
        """Report events in their order, several at once where they are faster than the relay."""
        while True:
            events = [await self._events.get()]
            while not self._events.empty():
                events.append(self._events.get_nowait())
            try:
                told = [to_wire(event) for event in events]
                await self._relay.call("sessions.report", agent=self.identity.handle, events=told)
            except ConnectionLost:
                return
            except SeraiError as error:
                _log.warning(
                    "%d events of %s were not reported: %s", len(events), self.identity.handle, error
                )

    async def _reply(self, message_id: str, text: str) -> None:
        """Answer a message as the session, also over a connection of the owner's."""
        more = {} if self._is_own else {"as": self.identity.handle}
        await self._relay.reply(message_id, text, **more)

    # -- what the relay asks -------------------------------------------------------------------------------

    async def receive(self, offer: Offer) -> MessageReceipt:
        """Take a message, or wait for what the session makes of it already; keep the lease meanwhile."""
        if self._is_over:  # the connection is about to close: what has no answer is offered again
            await asyncio.get_running_loop().create_future()
        task = self._seen.begin(offer, self._session)
        while not task.done():
            await asyncio.wait({task}, timeout=self._lease_seconds / 3)
            if not task.done():
                with contextlib.suppress(SeraiError):
                    await self._relay.call(
                        "deliveries.extend", deliveryId=offer.context.id, lease=offer.lease
                    )
        return task.result()

    async def flush(self, asked: HeldParams) -> list[MessageReceipt]:
        """Have the session surface what it holds.

        Raises:
            CapabilityUnsupported: It holds nothing.
        """
        if not isinstance(self._session, AgentDeliveryAdapter):
            raise CapabilityUnsupported("delivery.flush", "flush", agent=self.identity.name)
        return list(await self._session.flush(asked.delivery_id))

    async def cancel(self, asked: HeldParams) -> dict[str, Any]:
        """Have the session give up what it holds.

        Raises:
            CapabilityUnsupported: It cannot.
        """
        if not isinstance(self._session, AgentDeliveryAdapter):
            raise CapabilityUnsupported("delivery.cancel", "cancel", agent=self.identity.name)
        await self._session.cancel(asked.delivery_id, asked.reason)
        return {}


def _answer_for_all(relay: Relay) -> None:
    """Answer what the relay asks of any session of a connection."""

    async def receive(params: bytes) -> MessageReceipt:
        offer = decode(params, Offer)
        return await relay.registrations[offer.agent].receive(offer)

    async def flush(params: bytes) -> list[MessageReceipt]:
        asked = decode(params, HeldParams)
        return await relay.registrations[asked.agent].flush(asked)

    async def cancel(params: bytes) -> dict[str, Any]:
        asked = decode(params, HeldParams)
        return await relay.registrations[asked.agent].cancel(asked)

    for method, answer in (("receiveMessage", receive), ("flush", flush), ("cancel", cancel)):
        relay.link.answer(method, answer)


async def register(
    relay: Relay, session: AgentSession, *, seen: SeenDeliveries | None = None, **more: Any
) -> Registration:
    """Have a session take part over a connection, for as long as that lasts.

    Args:
        relay: The connection.
        session: What receives the messages. Each delivery id gets to it once.
        seen: What it was given over earlier connections.
        more: What else `sessions.register` takes: `strict`, `leaseSeconds`.

    Raises:
        CapabilityUnsupported: It declares too little, or something that it does not have.
        NameTaken: Someone else has its name.
        Forbidden: The token is for another participant.
    """
    registration = Registration(relay, session, seen)
    await registration.begin(**more)
    return registration


async def stay_registered(
    session: AgentSession,
    url: str | None = None,
    token: str | None = None,
    *,
    home: str | None = None,
    registered: Callable[[Registration], None] | None = None,
    **more: Any,
) -> None:
    """Have a session take part, and connect again whenever the connection is lost, until cancelled.

    Args:
        session: What receives the messages.
        url: Where the host is; by default, on this machine.
        token: What opens it.
        home: Where the host of this machine is looked for.
        registered: Is called each time the session has been registered.
        more: What else `sessions.register` takes.

    Raises:
        SeraiError: The host refuses the token, or the session.
    """
    seen, wait = SeenDeliveries(), _FIRST_WAIT
    try:
        while True:
            try:
                async with await Relay.connect(url, token, home=home) as relay:
                    registration = await register(relay, session, seen=seen, **more)
                    wait = _FIRST_WAIT
                    if registered is not None:
                        registered(registration)
                    await relay.closed()
            except ConnectionLost as error:
                _log.info("%s is not connected: %s", session.identity.name, error)
            await asyncio.sleep(wait)
            wait = min(wait * 2, _LONGEST_WAIT)
    finally:
        seen.close()


class SeenDeliveries:
    """The deliveries that a session was given: each id gets to it once, over any number of connections."""

    def __init__(self) -> None:
        self._tasks: OrderedDict[str, asyncio.Task[MessageReceipt]] = OrderedDict()

    def begin(self, offer: Offer, session: AgentSession) -> asyncio.Task[MessageReceipt]:
        """What becomes of a message: what is known already, or what the session makes of it now."""
        delivery_id = offer.context.id
        task = self._tasks.get(delivery_id)
        if task is None or (task.done() and _may_come_again(task)):
            task = asyncio.create_task(session.receive_message(offer.message, offer.context))
            self._tasks[delivery_id] = task
            task.add_done_callback(lambda _task: self._trim())
        return task

    def close(self) -> None:
        """Stop what the session makes of messages now: they are offered again."""
        for task in self._tasks.values():
            task.cancel()

    def _trim(self) -> None:
        while len(self._tasks) > _REMEMBERED and next(iter(self._tasks.values())).done():
            self._tasks.popitem(last=False)


def _may_come_again(task: asyncio.Task[MessageReceipt]) -> bool:
    if task.cancelled() or task.exception() is not None:
        return True
    receipt = task.result()
    return not isinstance(receipt, Accepted | Delivered | Failed) or (
        isinstance(receipt, Failed) and receipt.retryable
    )
