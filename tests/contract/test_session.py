from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping
from typing import Any

import pytest
from msgspec import convert

from contract.shapes import MESSAGE
from requirements import proves
from serai import contract as c
from serai.errors import CapabilityUnsupported

IDENTITY = c.AgentIdentity(id="a-1", name="reviewer", handle="@reviewer")
CAPABILITIES = c.AgentSessionCapabilities(
    messaging=c.MessagingCapabilities(receive=True),
    delivery=c.DeliveryCapabilities(modes=(c.DeliveryMode.IMMEDIATE,)),
    events=c.EventCapabilities(emits=(c.AgentSessionEventType.STATUS_CHANGED,)),
    lifecycle=c.LifecycleCapabilities(release=True),
)
HELLO = convert(MESSAGE, c.RelayMessage)
CONTEXT = c.MessageContext(id="d-1", mode=c.DeliveryMode.IMMEDIATE, reason=c.DeliveryReason.DM)
OPERATIONS = ("release", "pause", "resume", "fork", "snapshot")


class Everything:
    """A session that inherits from nothing and does everything."""

    def __init__(self) -> None:
        self.identity = IDENTITY
        self.capabilities = CAPABILITIES
        self.handlers: list[c.EventHandler] = []
        self.released: str | None = None

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:
        return c.Delivered(delivery_id=context.id, metadata={"message": message.id})

    def on_event(self, handler: c.EventHandler) -> c.Unsubscribe:
        self.handlers.append(handler)
        return lambda: self.handlers.remove(handler)

    async def release(self, reason: str | None = None) -> None:
        self.released = reason

    async def pause(self, reason: str | None = None) -> None:
        pass

    async def resume(self) -> None:
        pass

    async def fork(self) -> c.AgentSession:
        return Everything()

    async def snapshot(self) -> dict[str, Any]:
        return {}


class Minimal(c.BasicSession):
    """A session that does as little as it may."""

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:  # noqa: ARG002
        return c.Accepted(delivery_id=context.id)


@pytest.fixture
def session() -> c.AgentSession:
    return Everything()


@pytest.fixture
def minimal() -> c.AgentSession:
    return Minimal(IDENTITY, CAPABILITIES)


def test_a_class_is_a_session_without_inheriting_from_it(session: c.AgentSession) -> None:
    assert isinstance(session, c.AgentSession)


@pytest.mark.parametrize("name", ["identity", "capabilities", "receive_message", *OPERATIONS])
def test_what_lacks_a_part_of_a_session_is_none(name: str) -> None:
    parts = {
        part: getattr(Everything, part, None) for part in dir(c.AgentSession) if not part.startswith("_")
    }
    assert isinstance(type("Whole", (), parts)(), c.AgentSession)
    del parts[name]
    assert not isinstance(type("Partial", (), parts)(), c.AgentSession)


@proves("delivery:AgentSession.identity", "delivery:AgentSession.capabilities")
def test_a_session_says_who_it_is_and_what_it_can_do(session: c.AgentSession) -> None:
    assert session.identity == IDENTITY
    assert session.capabilities == CAPABILITIES


@proves("delivery:AgentSession.receiveMessage")
def test_a_session_takes_a_message_with_its_context_and_answers_with_a_receipt(
    session: c.AgentSession,
) -> None:
    receipt = asyncio.run(session.receive_message(HELLO, CONTEXT))
    assert receipt == c.Delivered(delivery_id="d-1", metadata={"message": "m-1"})


@proves("delivery:AgentSession.onEvent")
def test_a_session_takes_a_handler_and_returns_how_to_stop() -> None:
    session, seen = Everything(), list[Any]()
    stop = session.on_event(seen.append)
    changed = c.StatusChanged(status=c.AgentStatus.IDLE)
    for handler in session.handlers:
        handler(changed)
    stop()
    assert seen == [changed]
    assert session.handlers == []


@proves("delivery:AgentSession.onEvent")
def test_a_session_that_emits_nothing_takes_a_handler_all_the_same(minimal: c.AgentSession) -> None:
    stop = minimal.on_event(lambda _: pytest.fail("nothing is emitted"))
    stop()
    stop()


@proves("delivery:AgentSession.release")
def test_a_session_is_released_with_a_reason_or_without() -> None:
    session = Everything()
    asyncio.run(session.release("done"))
    assert session.released == "done"
    asyncio.run(session.release())
    assert session.released is None


@proves("delivery:Minimum-Contract/receive-and-release")
def test_a_session_with_one_method_of_its_own_receives_and_has_a_release(minimal: c.AgentSession) -> None:
    assert isinstance(minimal, c.AgentSession)
    assert asyncio.run(minimal.receive_message(HELLO, CONTEXT)) == c.Accepted(delivery_id="d-1")
    assert inspect.iscoroutinefunction(minimal.release)


def test_a_session_cannot_be_made_without_receive_message() -> None:
    with pytest.raises(TypeError, match="receive_message"):
        c.BasicSession(IDENTITY, CAPABILITIES)  # pyright: ignore[reportAbstractUsage]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_that_is_not_overridden_raises_the_structured_error(operation: str) -> None:
    declared = c.LifecycleCapabilities(release=operation == "pause")
    session = Minimal(
        IDENTITY,
        c.AgentSessionCapabilities(
            messaging=CAPABILITIES.messaging,
            delivery=CAPABILITIES.delivery,
            events=CAPABILITIES.events,
            lifecycle=declared,
        ),
    )
    with pytest.raises(CapabilityUnsupported) as caught:
        asyncio.run(getattr(session, operation)())
    assert caught.value.to_wire() == {
        "code": "capability_unsupported",
        "capability": f"lifecycle.{operation}",
        "requested": operation,
        "available": [other.value for other in declared.operations],
        "agent": "reviewer",
    }


class DemoHarness:
    name = "demo"

    async def create(self, settings: Mapping[str, Any], context: c.HarnessContext) -> c.AgentSession:  # noqa: ARG002
        return Minimal(context.identity, CAPABILITIES)


@proves("caps:Session-Capabilities/live-on-session")
def test_capabilities_belong_to_a_session_and_not_to_a_harness() -> None:
    harness: c.Harness = DemoHarness()
    assert isinstance(harness, c.Harness)
    assert not hasattr(harness, "capabilities")
    assert not hasattr(c.Harness, "capabilities")
    assert hasattr(c.AgentSession, "capabilities")


class Callback(c.AgentDeliveryAdapter):
    """An adapter that holds nothing."""

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:  # noqa: ARG002
        return c.Delivered(delivery_id=context.id)


class Mailbox(Callback):
    """An adapter that holds what it gets."""

    def __init__(self) -> None:
        self.held: list[str] = []

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:  # noqa: ARG002
        self.held.append(context.id)
        return c.Accepted(delivery_id=context.id)

    async def flush(self, delivery_id: str | None = None) -> list[c.MessageReceipt]:
        taken = [held for held in self.held if delivery_id in {None, held}]
        self.held = [held for held in self.held if held not in taken]
        return [c.Delivered(delivery_id=held) for held in taken]

    async def cancel(self, delivery_id: str, reason: str | None = None) -> None:  # noqa: ARG002
        self.held.remove(delivery_id)


@proves("delivery:AgentDeliveryAdapter.receiveMessage")
def test_an_adapter_takes_a_message_with_its_context_and_answers_with_a_receipt() -> None:
    assert asyncio.run(Callback().receive_message(HELLO, CONTEXT)) == c.Delivered(delivery_id="d-1")
    with pytest.raises(TypeError, match="receive_message"):
        type("Nothing", (c.AgentDeliveryAdapter,), {})()


@proves("delivery:AgentDeliveryAdapter.flush")
def test_an_adapter_flushes_one_delivery_or_all_that_it_holds() -> None:
    mailbox = Mailbox()
    mailbox.held = ["d-1", "d-2", "d-3"]
    assert asyncio.run(mailbox.flush("d-2")) == [c.Delivered(delivery_id="d-2")]
    assert asyncio.run(mailbox.flush()) == [c.Delivered(delivery_id="d-1"), c.Delivered(delivery_id="d-3")]


@proves("delivery:AgentDeliveryAdapter.cancel")
def test_an_adapter_takes_a_delivery_back_with_a_reason_or_without() -> None:
    mailbox = Mailbox()
    mailbox.held = ["d-1", "d-2"]
    asyncio.run(mailbox.cancel("d-1", "changed my mind"))
    asyncio.run(mailbox.cancel("d-2"))
    assert mailbox.held == []


@proves("delivery:AgentDeliveryAdapter.flush", "delivery:AgentDeliveryAdapter.cancel")
def test_an_adapter_that_holds_nothing_refuses_to_flush_and_to_cancel() -> None:
    with pytest.raises(CapabilityUnsupported) as flushed:
        asyncio.run(Callback().flush())
    with pytest.raises(CapabilityUnsupported) as cancelled:
        asyncio.run(Callback().cancel("d-1"))
    assert (flushed.value.capability, cancelled.value.capability) == ("delivery.flush", "delivery.cancel")


class Runner:
    async def deliver(
        self, *, message: c.RelayMessage, target: c.AgentSession, context: c.MessageContext
    ) -> c.MessageReceipt:
        return await target.receive_message(message, context)

    async def retry(self, delivery_id: str) -> c.MessageReceipt:
        return c.Delivered(delivery_id=delivery_id)

    async def flush(self, *, agent: str, mode: c.DeliveryMode | None = None) -> list[c.MessageReceipt]:
        return [c.Delivered(delivery_id=f"{agent} {mode or 'any'}")]


@pytest.fixture
def runner() -> c.DeliveryRunner:
    return Runner()


@proves(
    "delivery:DeliveryRunner.deliver",
    "delivery:DeliverInput.message",
    "delivery:DeliverInput.target",
    "delivery:DeliverInput.context",
)
def test_a_runner_delivers_a_message_to_a_session_in_a_context(
    runner: c.DeliveryRunner, minimal: c.AgentSession
) -> None:
    receipt = asyncio.run(runner.deliver(message=HELLO, target=minimal, context=CONTEXT))
    assert receipt == c.Accepted(delivery_id="d-1")
    assert required(c.DeliveryRunner.deliver) == {"message", "target", "context"}


@proves("delivery:DeliveryRunner.retry")
def test_a_runner_tries_again_by_id(runner: c.DeliveryRunner) -> None:
    assert asyncio.run(runner.retry("d-1")) == c.Delivered(delivery_id="d-1")
    assert required(c.DeliveryRunner.retry) == {"delivery_id"}


@proves("delivery:DeliveryRunner.flush", "delivery:FlushInput.agent", "delivery:FlushInput.mode")
def test_a_runner_flushes_what_waits_for_an_agent_in_one_mode_or_in_any(runner: c.DeliveryRunner) -> None:
    assert asyncio.run(runner.flush(agent="a-1")) == [c.Delivered(delivery_id="a-1 any")]
    held = asyncio.run(runner.flush(agent="a-1", mode=c.DeliveryMode.MANUAL))
    assert held == [c.Delivered(delivery_id="a-1 manual")]
    assert required(c.DeliveryRunner.flush) == {"agent"}


def required(method: Any) -> set[str]:
    parameters = inspect.signature(method).parameters
    return {name for name, one in parameters.items() if one.default is one.empty and name != "self"}
