from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from requirements import proves
from serai import contract as c
from serai.contract import check_registration, decode, registration_refusal
from serai.errors import CapabilityUnsupported

MINIMUM = decode(
    '{"messaging":{"receive":true},"delivery":{"modes":["immediate"]},'
    '"events":{"emits":["status.changed"]},"lifecycle":{"release":false}}',
    c.AgentSessionCapabilities,
)


async def something(*_: Any) -> None:
    """Stands for a method that is there."""


def declare(
    *,
    receive: bool = True,
    modes: tuple[c.DeliveryMode, ...] = (c.DeliveryMode.IMMEDIATE,),
    emits: tuple[str, ...] = ("status.changed",),
    operations: Iterable[str] = (),
) -> c.AgentSessionCapabilities:
    return c.AgentSessionCapabilities(
        messaging=c.MessagingCapabilities(receive=receive),
        delivery=c.DeliveryCapabilities(modes=modes),
        events=c.EventCapabilities(emits=tuple(map(c.AgentSessionEventType, emits))),
        lifecycle=c.LifecycleCapabilities(**{"release": False, **dict.fromkeys(operations, True)}),
    )


def session(capabilities: c.AgentSessionCapabilities, *methods: str) -> c.AgentSession:
    """A plain object with just these methods, as a foreign adapter may hand it in."""
    identity = c.AgentIdentity(id="a-1", name="reviewer", handle="@reviewer")
    parts = dict.fromkeys(methods, something)
    return cast("c.AgentSession", SimpleNamespace(identity=identity, capabilities=capabilities, **parts))


def refused(candidate: c.AgentSession) -> dict[str, Any]:
    with pytest.raises(CapabilityUnsupported) as caught:
        check_registration(candidate)
    error = registration_refusal(candidate)
    assert error is not None
    assert error.to_wire() == caught.value.to_wire()
    return error.to_wire()


def accepted(candidate: c.AgentSession) -> bool:
    check_registration(candidate)
    return registration_refusal(candidate) is None


@proves("caps:Capability-Shape/minimum", "caps:Capability-Shape/release-false-without-method")
def test_a_session_with_the_minimum_needs_receive_message_alone() -> None:
    assert accepted(session(MINIMUM, "receive_message"))


@proves("caps:Capability-Shape/release-needs-method", "caps:Lifecycle-Capabilities/release-matches-method")
def test_a_session_that_declares_release_without_a_method_is_refused() -> None:
    assert refused(session(declare(operations=["release"]), "receive_message", "pause")) == {
        "code": "capability_unsupported",
        "capability": "lifecycle.release",
        "requested": "release",
        "available": ["pause"],
        "agent": "reviewer",
    }


@proves("caps:Lifecycle-Capabilities/release-matches-method")
def test_a_session_that_declares_release_and_has_a_method_is_accepted() -> None:
    assert accepted(session(declare(operations=["release"]), "receive_message", "release"))


@proves("caps:Capability-Shape/declared-means-implemented")
@pytest.mark.parametrize("operation", c.LifecycleOperation)
def test_each_declared_operation_needs_its_method(operation: c.LifecycleOperation) -> None:
    declared = declare(operations=[operation])
    others = [other for other in c.LifecycleOperation if other is not operation]
    assert accepted(session(declared, "receive_message", operation))
    error = refused(session(declared, "receive_message", *others))
    assert error["capability"] == f"lifecycle.{operation}"
    assert error["available"] == others


class Inherits(c.BasicSession):
    receive_message = something  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]


@proves("caps:Capability-Shape/declared-means-implemented")
@pytest.mark.parametrize("operation", c.LifecycleOperation)
def test_an_inherited_refusal_is_not_an_implementation(operation: c.LifecycleOperation) -> None:
    identity = c.AgentIdentity(id="a-1", name="reviewer", handle="@reviewer")
    error = refused(Inherits(identity, declare(operations=[operation])))
    assert (error["capability"], error["available"]) == (f"lifecycle.{operation}", [])
    assert accepted(Inherits(identity, declare()))


def test_an_empty_method_inherited_from_the_protocol_is_not_an_implementation() -> None:
    parts = vars(session(declare(operations=["release"]), "receive_message"))
    candidate = type("InheritsFromTheProtocol", (c.AgentSession,), {**parts, "receive_message": something})()
    assert refused(candidate)["capability"] == "lifecycle.release"


@proves("caps:AgentSessionCapabilities.messaging.receive")
def test_a_session_that_does_not_receive_is_refused() -> None:
    error = refused(session(declare(receive=False), "receive_message"))
    assert (error["capability"], error["requested"]) == ("messaging.receive", "receive")


def test_a_session_without_receive_message_is_refused() -> None:
    error = refused(session(MINIMUM, "release"))
    assert (error["capability"], error["requested"]) == ("messaging.receive", "receive_message")


def test_a_session_without_any_delivery_mode_is_refused() -> None:
    error = refused(session(declare(modes=()), "receive_message"))
    assert (error["capability"], error["available"]) == ("delivery.modes", [])


def test_a_session_that_declares_live_observations_needs_on_event() -> None:
    declared = declare(emits=("status.changed", "tool.called"))
    assert accepted(session(declared, "receive_message", "on_event"))
    error = refused(session(declared, "receive_message"))
    assert (error["capability"], error["requested"]) == ("events.emits", "tool.called")


def test_what_the_host_and_the_relay_can_tell_needs_no_on_event() -> None:
    assert accepted(session(declare(emits=("status.idle", "delivery.failed")), "receive_message"))
