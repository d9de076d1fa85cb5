from __future__ import annotations

import asyncio
import inspect
from typing import Any

import pytest
from msgspec import convert

from contract.shapes import MESSAGE
from requirements import proves
from serai import contract as c
from serai.errors import CapabilityUnsupported
from serai.host.agents import HostedHarness

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


class Minimal(c.BasicSession):
    """A session that does as little as it may."""

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:  # noqa: ARG002
        return c.Accepted(delivery_id=context.id)


@pytest.fixture
def minimal() -> c.AgentSession:
    return Minimal(IDENTITY, CAPABILITIES)


@pytest.mark.parametrize(
    ("protocol", "method", "needed", "optional"),
    [
        pytest.param(protocol, method, needed.split(), optional, marks=proves(*names), id=names[0])
        for protocol, method, needed, optional, *names in [
            (
                c.AgentSession,
                "receive_message",
                "message context",
                [],
                "delivery:AgentSession.receiveMessage",
            ),
            (c.AgentSession, "on_event", "handler", [], "delivery:AgentSession.onEvent"),
            (c.AgentSession, "release", "", ["reason"], "delivery:AgentSession.release"),
            (
                *(c.AgentDeliveryAdapter, "receive_message", "message context", []),
                "delivery:AgentDeliveryAdapter.receiveMessage",
            ),
            (c.AgentDeliveryAdapter, "flush", "", ["delivery_id"], "delivery:AgentDeliveryAdapter.flush"),
            (
                *(c.AgentDeliveryAdapter, "cancel", "delivery_id", ["reason"]),
                "delivery:AgentDeliveryAdapter.cancel",
            ),
        ]
    ],
)
def test_a_protocol_takes_what_the_page_says(
    protocol: Any, method: str, needed: list[str], optional: list[str]
) -> None:
    parameters = list(inspect.signature(getattr(protocol, method)).parameters.values())[1:]
    assert [one.name for one in parameters if one.default is one.empty] == needed
    assert [one.name for one in parameters if one.default is None] == optional


@pytest.mark.parametrize("name", ["identity", "capabilities", "receive_message", *OPERATIONS])
@proves("delivery:AgentSession.identity", "delivery:AgentSession.capabilities")
def test_a_class_is_a_session_without_inheriting_from_it_and_what_lacks_a_part_is_none(name: str) -> None:
    names = {*dir(c.AgentSession), *c.AgentSession.__annotations__}
    parts = {part: getattr(Minimal, part, "") for part in names if not part.startswith("_")}
    assert isinstance(type("Whole", (), parts)(), c.AgentSession)
    del parts[name]
    assert not isinstance(type("Partial", (), parts)(), c.AgentSession)


@proves("delivery:AgentSession.onEvent")
def test_a_session_that_emits_nothing_takes_a_handler_all_the_same(minimal: c.AgentSession) -> None:
    stop = minimal.on_event(lambda _: pytest.fail("nothing is emitted"))
    stop()
    stop()


@proves("delivery:Minimum-Contract/receive-and-release")
def test_a_session_with_one_method_of_its_own_receives_and_has_a_release(minimal: c.AgentSession) -> None:
    assert isinstance(minimal, c.AgentSession)
    assert asyncio.run(minimal.receive_message(HELLO, CONTEXT)) == c.Accepted(delivery_id="d-1")
    assert inspect.iscoroutinefunction(minimal.release)


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


@proves("caps:Session-Capabilities/live-on-session")
def test_capabilities_belong_to_a_session_and_not_to_a_harness() -> None:
    assert not hasattr(HostedHarness, "capabilities")
    assert "capabilities" in c.AgentSession.__annotations__


class Callback(c.AgentDeliveryAdapter):
    """An adapter that holds nothing."""

    async def receive_message(self, message: c.RelayMessage, context: c.MessageContext) -> c.MessageReceipt:  # noqa: ARG002
        return c.Delivered(delivery_id=context.id)


@proves("delivery:AgentDeliveryAdapter.flush", "delivery:AgentDeliveryAdapter.cancel")
def test_an_adapter_that_holds_nothing_refuses_to_flush_and_to_cancel() -> None:
    with pytest.raises(CapabilityUnsupported) as flushed:
        asyncio.run(Callback().flush())
    with pytest.raises(CapabilityUnsupported) as cancelled:
        asyncio.run(Callback().cancel("d-1"))
    assert (flushed.value.capability, cancelled.value.capability) == ("delivery.flush", "delivery.cancel")
