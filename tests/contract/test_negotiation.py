from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, cast

import pytest

from contract.shapes import MESSAGE
from requirements import proves
from serai import contract as c
from serai.contract import check_registration, decode, refusal, require, supports
from serai.errors import CapabilityUnsupported

RECEIVES = c.MessagingCapabilities(receive=True)


def capabilities(
    *,
    messaging: c.MessagingCapabilities = RECEIVES,
    modes: tuple[c.DeliveryMode, ...] = (c.DeliveryMode.IMMEDIATE,),
    emits: tuple[c.AgentSessionEventType, ...] = (c.AgentSessionEventType.STATUS_CHANGED,),
    actions: c.ActionCapabilities | None = None,
    operations: Iterable[str] = (),
) -> c.AgentSessionCapabilities:
    return c.AgentSessionCapabilities(
        messaging=messaging,
        delivery=c.DeliveryCapabilities(modes=modes),
        events=c.EventCapabilities(emits=emits),
        actions=actions,
        lifecycle=c.LifecycleCapabilities(**{"release": False, **dict.fromkeys(operations, True)}),
    )


def refused(declared: c.AgentSessionCapabilities, wish: c.Wish) -> dict[str, Any]:
    error = refusal(declared, wish)
    assert isinstance(error, CapabilityUnsupported)
    assert not supports(declared, wish)
    return error.to_wire()


def allowed(declared: c.AgentSessionCapabilities, wish: c.Wish) -> bool:
    require(declared, wish)
    return refusal(declared, wish) is None and supports(declared, wish)


@proves("caps:Capability-Negotiation/structured-error")
def test_a_refusal_has_the_shape_of_the_documentation() -> None:
    declared = capabilities(modes=(c.DeliveryMode.IMMEDIATE, c.DeliveryMode.MANUAL))
    with pytest.raises(CapabilityUnsupported) as caught:
        require(declared, c.DeliveryMode.ON_IDLE, agent="reviewer")
    assert json.dumps(caught.value.to_wire()) == (
        '{"code": "capability_unsupported", "capability": "delivery.modes", "requested": "on-idle", '
        '"available": ["immediate", "manual"], "agent": "reviewer"}'
    )


LIVE = [kind for kind in c.AgentSessionEventType if not kind.startswith(("message.", "delivery.", "action."))]


def content(*kinds: c.ContentType) -> c.AgentSessionCapabilities:
    return capabilities(messaging=c.MessagingCapabilities(receive=True, attachments=kinds))


def actions(*uses: c.ActionUse) -> c.AgentSessionCapabilities:
    return capabilities(actions=c.ActionCapabilities(**dict.fromkeys(uses, True)))


def modes(*some: c.DeliveryMode) -> c.AgentSessionCapabilities:
    return capabilities(modes=some)


def emits(*some: c.AgentSessionEventType) -> c.AgentSessionCapabilities:
    return capabilities(emits=some)


def operations(*some: str) -> c.AgentSessionCapabilities:
    return capabilities(operations=some)


WISHES: list[tuple[Any, Callable[..., c.AgentSessionCapabilities], str, tuple[str, ...]]] = [
    (
        *(c.ContentType, content, "messaging.attachments"),
        ("Capability-Negotiation/content-decided", "Messaging-Capabilities/content-decides"),
    ),
    (
        *(c.DeliveryMode, modes, "delivery.modes"),
        ("Capability-Negotiation/mode-decided", "Delivery-Capabilities/modes-are-boundaries"),
    ),
    (
        *(c.ActionUse, actions, "actions.{}"),
        ("Capability-Negotiation/invoke-decided", "Capability-Negotiation/expose-decided"),
    ),
    (
        *(LIVE, emits, "events.emits"),
        ("Capability-Negotiation/predicate-decided", "Event-Capabilities/emits-explicit"),
    ),
    (
        *(c.LifecycleOperation, operations, "lifecycle.{}"),
        ("Capability-Negotiation/lifecycle-decided", "Lifecycle-Capabilities/others-optional"),
    ),
]


@pytest.mark.parametrize(
    ("wish", "every", "declare", "capability"),
    [
        pytest.param(
            wish, list(every), declare, name, marks=proves(*(f"caps:{one}" for one in proofs)), id=wish
        )
        for every, declare, name, proofs in WISHES
        for wish in every
    ],
)
def test_what_may_be_asked_is_what_is_declared(
    wish: c.Wish, every: list[c.Wish], declare: Callable[..., c.AgentSessionCapabilities], capability: str
) -> None:
    others = [other for other in every if other is not wish]
    assert allowed(declare(wish), wish)
    assert refused(declare(*others), wish) == {
        "code": "capability_unsupported",
        "capability": capability.format(wish),
        "requested": wish.value,
        "available": [other.value for other in others],
    }


def test_what_is_left_out_is_text_alone_and_neither_sending_nor_actions() -> None:
    silent = capabilities()
    assert allowed(silent, c.ContentType.TEXT)
    assert refused(silent, c.ContentType.IMAGE)["available"] == ["text"]
    assert refused(silent, c.MessageUse.SEND)["available"] == ["receive"]
    assert refused(silent, c.ActionUse.INVOKE)["available"] == []
    sending = capabilities(messaging=c.MessagingCapabilities(receive=True, send=True))
    assert allowed(sending, c.MessageUse.SEND)


@proves("caps:Messaging-Capabilities/receive-covers-every-kind")
@pytest.mark.parametrize("kind", c.MessageKind)
def test_a_session_that_receives_may_be_sent_messages_of_every_kind(kind: c.MessageKind) -> None:
    assert decode(json.dumps({**MESSAGE, "kind": kind}), c.RelayMessage).kind is kind
    assert allowed(capabilities(), c.MessageUse.RECEIVE)


@proves("caps:Capability-Negotiation/predicate-decided")
@pytest.mark.parametrize("kind", sorted(set(c.AgentSessionEventType) - set(LIVE)))
def test_what_the_relay_itself_tells_can_be_waited_for_whatever_is_declared(
    kind: c.AgentSessionEventType,
) -> None:
    assert allowed(capabilities(emits=()), kind)


# -- registration ------------------------------------------------------------------------------------------


def kinds(*names: str) -> tuple[c.AgentSessionEventType, ...]:
    return tuple(map(c.AgentSessionEventType, names))


async def something(*_: Any) -> None:
    """Stands for a method that is there."""


def session(capabilities: c.AgentSessionCapabilities, *methods: str) -> c.AgentSession:
    """A plain object with just these methods, as a foreign adapter may hand it in."""
    identity = c.AgentIdentity(id="a-1", name="reviewer", handle="@reviewer")
    parts = dict.fromkeys(methods, something)
    return cast("c.AgentSession", SimpleNamespace(identity=identity, capabilities=capabilities, **parts))


def refused_entry(candidate: c.AgentSession) -> dict[str, Any]:
    with pytest.raises(CapabilityUnsupported) as caught:
        check_registration(candidate)
    return caught.value.to_wire()


def accepted(candidate: c.AgentSession) -> bool:
    check_registration(candidate)
    return True


@proves("caps:Capability-Shape/minimum", "caps:Capability-Shape/release-false-without-method")
def test_a_session_with_the_minimum_needs_receive_message_alone() -> None:
    assert accepted(session(capabilities(), "receive_message"))


@proves("caps:Capability-Shape/release-needs-method", "caps:Lifecycle-Capabilities/release-matches-method")
def test_a_session_that_declares_release_without_a_method_is_refused() -> None:
    assert refused_entry(session(capabilities(operations=["release"]), "receive_message", "pause")) == {
        "code": "capability_unsupported",
        "capability": "lifecycle.release",
        "requested": "release",
        "available": ["pause"],
        "agent": "reviewer",
    }


@proves("caps:Capability-Shape/declared-means-implemented")
@pytest.mark.parametrize("operation", c.LifecycleOperation)
def test_each_declared_operation_needs_its_method(operation: c.LifecycleOperation) -> None:
    declared = capabilities(operations=[operation])
    others = [other for other in c.LifecycleOperation if other is not operation]
    assert accepted(session(declared, "receive_message", operation))
    error = refused_entry(session(declared, "receive_message", *others))
    assert error["capability"] == f"lifecycle.{operation}"
    assert error["available"] == others


class Inherits(c.BasicSession):
    receive_message = something  # pyright: ignore[reportAssignmentType, reportIncompatibleMethodOverride]


@proves("caps:Capability-Shape/declared-means-implemented")
@pytest.mark.parametrize("operation", c.LifecycleOperation)
def test_an_inherited_refusal_is_not_an_implementation(operation: c.LifecycleOperation) -> None:
    identity = c.AgentIdentity(id="a-1", name="reviewer", handle="@reviewer")
    error = refused_entry(Inherits(identity, capabilities(operations=[operation])))
    assert (error["capability"], error["available"]) == (f"lifecycle.{operation}", [])
    assert accepted(Inherits(identity, capabilities()))


@proves("caps:AgentSessionCapabilities.messaging.receive")
def test_a_session_that_does_not_receive_or_has_no_mode_is_refused() -> None:
    deaf = capabilities(messaging=c.MessagingCapabilities(receive=False))
    error = refused_entry(session(deaf, "receive_message"))
    assert (error["capability"], error["requested"]) == ("messaging.receive", "receive")
    error = refused_entry(session(capabilities(), "release"))
    assert (error["capability"], error["requested"]) == ("messaging.receive", "receive_message")
    error = refused_entry(session(capabilities(modes=()), "receive_message"))
    assert (error["capability"], error["available"]) == ("delivery.modes", [])


def test_a_session_that_declares_live_observations_needs_on_event() -> None:
    declared = capabilities(emits=kinds("status.changed", "tool.called"))
    assert accepted(session(declared, "receive_message", "on_event"))
    error = refused_entry(session(declared, "receive_message"))
    assert (error["capability"], error["requested"]) == ("events.emits", "tool.called")
