"""The record of one delivery, and its changes by receipts: pure, so that a test can check every path.

    created ──→ accepted ⇄ deferred ──→ handing ──→ delivered
       └───────────┴──────────┴────────────┴─────→ failed

Any open state may become any other, except that none becomes `created` again: a harness may defer what it
accepted, and what was handed over may come back as not taken. `delivered` and `failed` are final. A failure
that may be tried again is not final: the record is `deferred` until then, with the error beside it.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import field
from msgspec.structs import replace

from serai.contract.delivery import (
    Accepted,
    Deferred,
    Delivered,
    DeliveryMode,
    DeliveryReason,
    Failed,
    MessageReceipt,
    Priority,
)
from serai.contract.identity import AgentId
from serai.contract.record import Metadata, Moment, Record
from serai.errors import DeliveryFinal

__all__ = ["DeliveryAnswer", "DeliveryRecord", "DeliveryState", "KeptReceipt", "settled"]

_MOST_RECEIPTS = 12
"""Most receipts that a record keeps: the first one, and the latest."""


class DeliveryState(StrEnum):
    """The progress of a delivery."""

    CREATED = "created"
    """It is recorded."""
    ACCEPTED = "accepted"
    """Someone holds it for its boundary."""
    DEFERRED = "deferred"
    """It cannot be held now; it is retried at a known time."""
    HANDING = "handing"
    """It is on its way to another process, which has not answered yet."""
    DELIVERED = "delivered"
    """It is in the agent's input. Final."""
    FAILED = "failed"
    """It was not delivered, and is not retried. Final."""


_FINAL = frozenset({DeliveryState.DELIVERED, DeliveryState.FAILED})

_CLEARED: dict[str, Any] = dict.fromkeys(
    ("next_attempt_at", "available_at", "lease_until", "held_by", "waits_for", "error")
)
"""Fields that only the latest receipt sets."""


class KeptReceipt(Record, host_made=True):
    """A receipt, and the moment of its arrival."""

    at: Moment
    receipt: MessageReceipt


class DeliveryAnswer(Record):
    """The outcome of the turn that a message has started or entered."""

    turn_id: str
    state: str
    """End of the turn: `complete`, `cancelled` or `error`."""
    text: str = ""
    reply_id: str | None = None
    """Id of the message by which the agent has answered, if it has."""


class DeliveryRecord(Record, host_made=True):
    """The record of one delivery."""

    id: str
    message_id: str
    agent: AgentId
    sequence: int = 0
    """Its place among all deliveries of its session. It is the journal's number, known once it is written."""
    state: DeliveryState = DeliveryState.CREATED
    mode: DeliveryMode
    requested_mode: DeliveryMode | None = None
    """Mode that the sender has asked for, where it was not possible."""
    reason: DeliveryReason
    priority: Priority = Priority.NORMAL
    attempts: int = 0
    next_attempt_at: Moment | None = None
    available_at: Moment | None = None
    deadline: Moment | None = None
    expires_at: Moment | None = None
    lease_until: Moment | None = None
    """End of the time in which the receiving process may answer."""
    held_by: str | None = None
    waits_for: str | None = None
    """Event that it waits for: `idle`, `next-tool-call`, `next-message`, `flush`, `approval`, …"""
    hops: int = 0
    """Number of agents' messages that led to this one since a person's message."""
    evidence: Metadata = field(default_factory=dict)
    error: str | None = None
    redelivery_of: str | None = None
    answer: DeliveryAnswer | None = None
    receipts: tuple[KeptReceipt, ...] = ()
    metadata: Metadata = field(default_factory=dict)
    created_at: Moment
    updated_at: Moment

    @property
    def is_open(self) -> bool:
        """True until it is delivered or has failed."""
        return self.state not in _FINAL

    @property
    def due(self) -> datetime | None:
        """The next moment at which something has to be done about it."""
        if self.state in _FINAL:
            return None
        if self.state == DeliveryState.HANDING:
            return self.lease_until  # the receiving process answers until then
        soonest = self.expires_at
        for moment in (self.next_attempt_at, self.available_at, self.deadline):
            if moment is not None and (soonest is None or moment < soonest):
                soonest = moment
        return soonest


def settled(
    record: DeliveryRecord, receipt: MessageReceipt, at: datetime, *, retry_at: datetime | None = None
) -> DeliveryRecord:
    """Return the record after a receipt.

    Args:
        record: The record before it.
        receipt: The receipt. A repeated final receipt changes nothing.
        at: The moment of the receipt.
        retry_at: The moment of the next attempt after a retryable failure; `None` for no further attempt.

    Raises:
        DeliveryFinal: The record is final, and the receipt contradicts it.
    """
    if record.state in _FINAL:
        if record.receipts and record.receipts[-1].receipt.status == receipt.status:
            return record
        raise DeliveryFinal(f"{record.id} is {record.state.value} already, and stays so")
    kept = (*record.receipts, KeptReceipt(at=at, receipt=receipt))
    if len(kept) > _MOST_RECEIPTS:
        kept = (kept[0], *kept[1 - _MOST_RECEIPTS :])
    metadata, changes = receipt.metadata, dict[str, Any]()
    match receipt:
        case Accepted():
            state = DeliveryState.ACCEPTED
            changes = {"held_by": metadata.get("heldBy"), "waits_for": metadata.get("waitsFor")}
        case Delivered():
            state, changes = DeliveryState.DELIVERED, {"evidence": metadata}
        case Deferred():
            state = DeliveryState.DEFERRED
            changes = {
                "available_at": receipt.available_at,
                "error": receipt.reason,
                "waits_for": metadata.get("waitsFor"),
            }
        case Failed(retryable=True) if retry_at is not None:
            state = DeliveryState.DEFERRED
            changes = {"next_attempt_at": retry_at, "error": receipt.reason, "waits_for": "retry"}
        case Failed():
            state, changes = DeliveryState.FAILED, {"error": receipt.reason}
    return replace(record, **_CLEARED | changes, state=state, receipts=kept, updated_at=at)
