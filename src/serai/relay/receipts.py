"""What is kept of a receipt of a session elsewhere. Only the relay says who holds a message, and for what."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import msgspec
from msgspec.structs import replace

from serai import contract as c
from serai.host.session.turns import MOST_OF_ANSWER

__all__ = ["answer_in", "kept_receipt"]

_SOONEST = timedelta(milliseconds=100)
"""What a harness puts off is not offered again before that."""
_OWN_WORDS = frozenset({"heldBy", "waitsFor", "answer"})
"""What a receipt may not say of itself, or is kept beside it."""


def kept_receipt(record: c.DeliveryRecord, receipt: c.MessageReceipt, now: datetime) -> c.MessageReceipt:
    """A receipt as it is kept. One that names another delivery is a failure, to be tried again."""
    if receipt.delivery_id not in {None, record.id}:
        return c.Failed(delivery_id=record.id, reason="receipt_of_another_delivery", retryable=True)
    own = {key: value for key, value in receipt.metadata.items() if key not in _OWN_WORDS}
    match receipt:
        case c.Accepted():
            return replace(receipt, metadata={**own, "heldBy": "adapter", "waitsFor": "adapter"})
        case c.Delivered():
            via = record.evidence.get("via", "receipt")
            return replace(receipt, metadata={"evidence": "receipt", "via": via, **own})
        case c.Deferred():
            at = max(receipt.available_at, now + _SOONEST)
            return replace(receipt, delivery_id=record.id, available_at=at, metadata=own)
        case c.Failed():
            return replace(receipt, delivery_id=record.id, metadata=own)


def answer_in(record: c.DeliveryRecord, receipt: c.MessageReceipt) -> c.DeliveryAnswer | None:
    """What came of the message, as a receipt tells it: a text, or the fields of an answer."""
    told: Any = receipt.metadata.get("answer")
    if told is None or not isinstance(receipt, c.Delivered):
        return None
    fields: Any = {"text": told} if isinstance(told, str) else told
    try:
        answer = msgspec.convert({"turnId": record.id, "state": "complete", **fields}, c.DeliveryAnswer)
    except (msgspec.ValidationError, TypeError):
        return None  # the message is delivered all the same
    return replace(answer, text=answer.text[:MOST_OF_ANSWER])
