from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest

from contract.shapes import MESSAGE
from requirements import proves
from serai import contract as c
from serai.contract import decode, refusal, require, supports
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


@proves("caps:Capability-Negotiation/content-decided", "caps:Messaging-Capabilities/content-decides")
def test_content_is_decided_by_the_attachments_that_a_session_takes() -> None:
    both = capabilities(
        messaging=c.MessagingCapabilities(receive=True, attachments=(c.ContentType.TEXT, c.ContentType.IMAGE))
    )
    assert all(allowed(both, content_type) for content_type in c.ContentType)
    image = capabilities(messaging=c.MessagingCapabilities(receive=True, attachments=(c.ContentType.IMAGE,)))
    assert allowed(image, c.ContentType.IMAGE)
    assert refused(image, c.ContentType.TEXT) == {
        "code": "capability_unsupported",
        "capability": "messaging.attachments",
        "requested": "text",
        "available": ["image"],
    }


def test_a_session_that_does_not_say_which_attachments_it_takes_takes_text_and_no_images() -> None:
    silent = capabilities()
    assert allowed(silent, c.ContentType.TEXT)
    assert refused(silent, c.ContentType.IMAGE)["available"] == ["text"]


@proves("caps:Messaging-Capabilities/receive-covers-every-kind")
@pytest.mark.parametrize("kind", c.MessageKind)
def test_a_session_that_receives_may_be_sent_messages_of_every_kind(kind: c.MessageKind) -> None:
    message = decode(json.dumps({**MESSAGE, "kind": kind}), c.RelayMessage)
    wishes: tuple[c.Wish, ...] = (c.MessageUse.RECEIVE, *message.content_types)
    assert all(allowed(capabilities(), wish) for wish in wishes)


def test_sending_must_be_declared() -> None:
    assert allowed(
        capabilities(messaging=c.MessagingCapabilities(receive=True, send=True)), c.MessageUse.SEND
    )
    error = refused(capabilities(), c.MessageUse.SEND)
    assert (error["capability"], error["available"]) == ("messaging.send", ["receive"])


@proves("caps:Capability-Negotiation/mode-decided", "caps:Delivery-Capabilities/modes-are-boundaries")
@pytest.mark.parametrize("mode", c.DeliveryMode)
def test_a_mode_is_supported_only_where_it_is_declared(mode: c.DeliveryMode) -> None:
    others = tuple(other for other in c.DeliveryMode if other is not mode)
    assert allowed(capabilities(modes=(mode,)), mode)
    assert refused(capabilities(modes=others), mode) == {
        "code": "capability_unsupported",
        "capability": "delivery.modes",
        "requested": mode.value,
        "available": [other.value for other in others],
    }


@pytest.mark.parametrize(
    ("use", "declared", "other"),
    [
        pytest.param(
            c.ActionUse.INVOKE,
            c.ActionCapabilities(invoke=True),
            c.ActionCapabilities(expose=True),
            marks=proves("caps:Capability-Negotiation/invoke-decided"),
            id="invoke",
        ),
        pytest.param(
            c.ActionUse.EXPOSE,
            c.ActionCapabilities(expose=True),
            c.ActionCapabilities(invoke=True),
            marks=proves("caps:Capability-Negotiation/expose-decided"),
            id="expose",
        ),
    ],
)
def test_actions_are_invoked_and_exposed_only_where_that_is_declared(
    use: c.ActionUse, declared: c.ActionCapabilities, other: c.ActionCapabilities
) -> None:
    assert allowed(capabilities(actions=declared), use)
    error = refused(capabilities(actions=other), use)
    assert error["capability"] == f"actions.{use}"
    assert error["requested"] == use
    assert error["available"] == [one.value for one in c.ActionUse if one is not use]
    assert refused(capabilities(actions=None), use)["available"] == []


LIVE = [kind for kind in c.AgentSessionEventType if not kind.startswith(("message.", "delivery.", "action."))]


@proves("caps:Capability-Negotiation/predicate-decided", "caps:Event-Capabilities/emits-explicit")
@pytest.mark.parametrize("kind", LIVE)
def test_a_live_observation_can_be_waited_for_only_where_it_is_declared(
    kind: c.AgentSessionEventType,
) -> None:
    others = tuple(other for other in LIVE if other is not kind)
    assert allowed(capabilities(emits=(kind,)), kind)
    assert refused(capabilities(emits=others), kind) == {
        "code": "capability_unsupported",
        "capability": "events.emits",
        "requested": kind.value,
        "available": [other.value for other in others],
    }


@proves("caps:Capability-Negotiation/predicate-decided")
@pytest.mark.parametrize("kind", sorted(set(c.AgentSessionEventType) - set(LIVE)))
def test_what_the_relay_itself_tells_can_be_waited_for_whatever_is_declared(
    kind: c.AgentSessionEventType,
) -> None:
    assert allowed(capabilities(emits=()), kind)


@proves("caps:Capability-Negotiation/lifecycle-decided")
@pytest.mark.parametrize("operation", c.LifecycleOperation)
def test_a_lifecycle_operation_exists_only_where_it_is_declared(operation: c.LifecycleOperation) -> None:
    others = [other.value for other in c.LifecycleOperation if other is not operation]
    assert allowed(capabilities(operations=[operation]), operation)
    assert refused(capabilities(operations=others), operation) == {
        "code": "capability_unsupported",
        "capability": f"lifecycle.{operation}",
        "requested": operation.value,
        "available": others,
    }


@proves("caps:Lifecycle-Capabilities/others-optional")
@pytest.mark.parametrize("operation", ["pause", "resume", "fork", "snapshot"])
def test_an_operation_that_is_left_out_is_unsupported(operation: str) -> None:
    error = refused(capabilities(operations=["release"]), c.LifecycleOperation(operation))
    assert error["available"] == ["release"]
