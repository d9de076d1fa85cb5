from __future__ import annotations

import json
from typing import Any

import pytest

from contract.shapes import Shape, shape_tests
from requirements import proves
from serai import contract as c
from serai.contract import decode, encode
from serai.errors import Mismatch

MINIMUM = (
    '{"messaging":{"receive":true},"delivery":{"modes":["immediate"]},'
    '"events":{"emits":["status.changed"]},"lifecycle":{"release":false}}'
)
EVERYTHING = Shape(
    "caps:AgentSessionCapabilities",
    c.AgentSessionCapabilities,
    {
        "messaging.receive": True,
        "delivery.modes": ["immediate", "next-tool-call", "on-idle"],
        "events.emits": ["status.changed", "tool.called", "log"],
        "lifecycle.release": True,
    },
    {
        "messaging.send": True,
        "messaging.attachments": ["text", "image"],
        "delivery.queue": True,
        "actions.invoke": True,
        "actions.expose": True,
        "lifecycle.pause": True,
        "lifecycle.resume": True,
        "lifecycle.fork": True,
        "lifecycle.snapshot": True,
    },
)


test_it_is_written_exactly_as_it_was_read, test_each_field_is_needed_or_may_be_left_out = shape_tests(
    [EVERYTHING]
)


@pytest.mark.parametrize(
    "part",
    [
        pytest.param(part, marks=proves(f"caps:AgentSessionCapabilities.{part}"), id=part)
        for part in ("messaging", "delivery", "events", "lifecycle")
    ],
)
def test_a_part_that_every_session_declares_cannot_be_missing(part: str) -> None:
    with pytest.raises(Mismatch) as caught:
        decode(json.dumps(EVERYTHING.without(part)), c.AgentSessionCapabilities)
    assert caught.value.field == part


@proves("caps:AgentSessionCapabilities.actions")
def test_a_session_need_not_say_anything_about_actions() -> None:
    wire = EVERYTHING.without("actions")
    capabilities = decode(json.dumps(wire), c.AgentSessionCapabilities)
    assert capabilities.actions is None
    assert json.loads(encode(capabilities)) == wire


@proves("caps:Capability-Shape/minimum")
def test_the_minimum_of_the_page_is_read_and_written() -> None:
    minimum = c.AgentSessionCapabilities(
        messaging=c.MessagingCapabilities(receive=True),
        delivery=c.DeliveryCapabilities(modes=(c.DeliveryMode.IMMEDIATE,)),
        events=c.EventCapabilities(emits=(c.AgentSessionEventType.STATUS_CHANGED,)),
        lifecycle=c.LifecycleCapabilities(release=False),
    )
    assert decode(MINIMUM, c.AgentSessionCapabilities) == minimum
    assert encode(minimum).decode() == MINIMUM


@pytest.mark.parametrize(
    "content_type",
    [pytest.param(kind, marks=proves(f"caps:AttachmentKind.{kind}"), id=kind) for kind in ("text", "image")],
)
def test_an_attachment_kind_has_its_name_on_the_wire(content_type: str) -> None:
    messaging = decode(f'{{"receive":true,"attachments":["{content_type}"]}}', c.MessagingCapabilities)
    assert messaging.content_types == (c.ContentType(content_type),)


@proves("caps:Event-Type-List/subset-allowed")
@pytest.mark.parametrize(
    "emits", [[], ["log"], ["tool.called", "file.changed"], [*c.AgentSessionEventType]], ids=len
)
def test_a_session_may_list_any_part_of_the_event_types(emits: list[str]) -> None:
    wire = json.dumps({"emits": emits})
    assert list(decode(wire, c.EventCapabilities).emits) == emits


def wire_names(record: Any) -> set[str]:
    return set(record.__struct_encode_fields__)


@proves("caps:Messaging-Capabilities/no-channels-capability")
def test_there_is_no_capability_for_channels() -> None:
    assert wire_names(c.AgentSessionCapabilities) == {
        "messaging",
        "delivery",
        "events",
        "actions",
        "lifecycle",
    }
    assert wire_names(c.MessagingCapabilities) == {"receive", "send", "attachments"}


@proves("caps:Delivery-Capabilities/no-interrupt-flag")
def test_there_is_no_flag_for_interrupting() -> None:
    assert wire_names(c.DeliveryCapabilities) == {"modes", "queue"}


@proves("caps:Action-Capabilities/no-action-names")
def test_capabilities_name_no_single_action() -> None:
    assert wire_names(c.ActionCapabilities) == {"invoke", "expose"}
    with pytest.raises(Mismatch):
        decode('{"invoke":["deploy"]}', c.ActionCapabilities)
