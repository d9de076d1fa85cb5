from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, get_args

import pytest

from contract.shapes import NOON, Shape, shape_tests
from requirements import proves
from serai import contract as c
from serai.contract import decode, encode
from serai.errors import Mismatch

METADATA = {"metadata": {"evidence": "first update"}}
CONTEXT: dict[str, Any] = {"id": "d-1", "mode": "on-idle", "reason": "mention"}


def receipt(name: str, status: str, required: dict[str, Any], optional: dict[str, Any]) -> Shape:
    return Shape(
        f"delivery:{name}", c.MessageReceipt, {"status": status, **required}, {**optional, **METADATA}
    )


SHAPES = [
    Shape(
        "delivery:MessageContext",
        c.MessageContext,
        CONTEXT,
        {"priority": "urgent", "deadline": NOON, "idempotencyKey": "k-1", "metadata": {"hops": 1}},
    ),
    receipt("AcceptedReceipt", "accepted", {"deliveryId": "d-1"}, {"retryable": True}),
    receipt("DeliveredReceipt", "delivered", {"deliveryId": "d-1"}, {}),
    receipt(
        "DeferredReceipt", "deferred", {"availableAt": NOON}, {"deliveryId": "d-1", "reason": "rate limit"}
    ),
    receipt("FailedReceipt", "failed", {"reason": "gone"}, {"deliveryId": "d-1", "retryable": True}),
]


test_it_is_written_exactly_as_it_was_read, test_each_field_is_needed_or_may_be_left_out = shape_tests(SHAPES)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        pytest.param(field, value, marks=proves(f"delivery:{name}.{value}"), id=f"{name}.{value}")
        for field, name, values in [
            ("mode", "DeliveryMode", "immediate next-message next-tool-call on-idle manual"),
            ("reason", "DeliveryReason", "message mention dm thread-reply action-result notification"),
            ("priority", "DeliveryPriority", "normal urgent"),
        ]
        for value in values.split()
    ],
)
def test_a_choice_has_its_name_on_the_wire(field: str, value: str) -> None:
    assert getattr(decode(json.dumps({**CONTEXT, field: value}), c.MessageContext), field) == value


@proves("delivery:Delivery-Context/deadline-date-or-text")
def test_a_deadline_is_given_as_a_date_or_read_from_its_text() -> None:
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    made = c.MessageContext(
        id="d-1", mode=c.DeliveryMode.ON_IDLE, reason=c.DeliveryReason.MENTION, deadline=noon
    )
    assert decode(json.dumps({**CONTEXT, "deadline": NOON}), c.MessageContext) == made
    assert decode(json.dumps({**CONTEXT, "deadline": "2026-03-01T13:00:00+01:00"}), c.MessageContext) == made


@proves("delivery:Receipts/available-at-date-or-text")
def test_the_time_of_a_deferral_is_given_as_a_date_or_read_from_its_text() -> None:
    made = c.Deferred(available_at=datetime(2026, 3, 1, 12, tzinfo=UTC))
    assert decode(f'{{"status":"deferred","availableAt":"{NOON}"}}', c.MessageReceipt) == made
    assert encode(made) == b'{"status":"deferred","availableAt":"2026-03-01T12:00:00Z"}'


@pytest.mark.parametrize(
    ("status", "variant"),
    [
        pytest.param(status, variant, marks=proves(f"delivery:ReceiptStatus.{status}"), id=status)
        for status, variant in [
            ("accepted", c.Accepted),
            ("delivered", c.Delivered),
            ("deferred", c.Deferred),
            ("failed", c.Failed),
        ]
    ],
)
def test_the_status_tells_which_receipt_it_is(status: str, variant: type[Any]) -> None:
    wire = {"status": status, "deliveryId": "d-1", "availableAt": NOON, "reason": "because"}
    found = decode(json.dumps(wire), c.MessageReceipt)
    assert type(found) is variant
    assert found.status is c.ReceiptStatus(status)


@proves("delivery:MessageReceipt")
def test_there_are_four_receipts_and_no_fifth() -> None:
    assert get_args(c.MessageReceipt) == (c.Accepted, c.Delivered, c.Deferred, c.Failed)
    with pytest.raises(Mismatch) as caught:
        decode('{"status":"lost","deliveryId":"d-1"}', c.MessageReceipt)
    assert caught.value.field == "status"
