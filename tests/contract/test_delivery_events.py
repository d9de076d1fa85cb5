from __future__ import annotations

import json
from typing import Any, get_args

import pytest

from contract.shapes import AGENT, MESSAGE, NOON, Shape, check_field, check_whole, fields, wholes
from requirements import proves
from serai.contract import AgentSessionEvent, DeliveryEvent, DeliveryEventType, decode
from serai.errors import Mismatch

BASE: dict[str, Any] = {"deliveryId": "d-1", "agent": AGENT}
ID = {"messageId": "m-1"}
BOTH = {**ID, "message": MESSAGE}


def event(
    name: str, required: dict[str, Any], optional: dict[str, Any] | None = None, beyond: dict[str, Any] = BOTH
) -> Shape:
    return Shape(
        f"delivery:Delivery{name}Event",
        DeliveryEvent,
        {"type": f"delivery.{name.lower()}", **BASE, **required},
        optional or {},
        beyond,
    )


EVENTS = [
    event("Created", {"message": MESSAGE}, beyond=ID),
    event("Accepted", {}),
    event("Delivered", {}),
    event("Deferred", {"availableAt": NOON}, {"reason": "quiet time"}),
    event("Failed", {"reason": "gone"}, {"retryable": True}),
]


@pytest.mark.parametrize("shape", wholes(EVENTS))
def test_a_delivery_event_is_written_exactly_as_it_was_read(shape: Shape) -> None:
    check_whole(shape)


@pytest.mark.parametrize(("shape", "field"), fields(EVENTS))
def test_each_field_is_needed_or_may_be_left_out(shape: Shape, field: str) -> None:
    check_field(shape, field)


@proves("delivery:DeliveryEvent")
def test_there_are_five_delivery_events_and_no_sixth() -> None:
    found = [decode(json.dumps(shape.wire), DeliveryEvent) for shape in EVENTS]
    assert [event.type for event in found] == list(DeliveryEventType)
    assert [type(event) for event in found] == list(get_args(DeliveryEvent))
    with pytest.raises(Mismatch):
        decode(json.dumps({**BASE, "type": "delivery.lost"}), DeliveryEvent)


@pytest.mark.parametrize("shape", wholes(EVENTS[1:]))
def test_an_event_of_the_workspace_can_be_read_as_the_event_of_its_session(shape: Shape) -> None:
    inside = decode(json.dumps(shape.wire), AgentSessionEvent)
    assert (inside.type, inside.delivery_id, inside.message_id) == (shape.wire["type"], "d-1", "m-1")
