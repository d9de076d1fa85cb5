"""Delivery of a message to a session: its mode, its context, and the receipt that comes back.

A mode says *when* a message surfaces in a session; the harness decides *how*. Every attempt is answered
with one of four receipts, which never claim more than is known.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, TypeAlias

from msgspec import field

from serai.contract.record import Metadata, Moment, Record


class DeliveryMode(StrEnum):
    """The boundary at which a message surfaces in a session."""

    IMMEDIATE = "immediate"
    """Now, even if that interrupts a turn. No other mode interrupts."""
    NEXT_MESSAGE = "next-message"
    """With the next message that a user sends to the session."""
    NEXT_TOOL_CALL = "next-tool-call"
    """Before the session's next tool call."""
    ON_IDLE = "on-idle"
    """As soon as the session is in a safe state."""
    MANUAL = "manual"
    """Only when someone flushes the pending messages."""


class DeliveryReason(StrEnum):
    """The reason why a session gets a message."""

    MESSAGE = "message"
    MENTION = "mention"
    DM = "dm"
    THREAD_REPLY = "thread-reply"
    ACTION_RESULT = "action-result"
    NOTIFICATION = "notification"


class Priority(StrEnum):
    """The order among deliveries that wait for one session."""

    NORMAL = "normal"
    URGENT = "urgent"


class MessageContext(Record):
    """The context of a delivery: its reason, and instructions for the harness."""

    id: str
    """The delivery's id. A session surfaces a message once per id, however often it is called with it."""
    mode: DeliveryMode
    reason: DeliveryReason
    priority: Priority = Priority.NORMAL
    deadline: Moment | None = None
    """Moment after which the message is of no use and the delivery fails."""
    idempotency_key: str | None = None
    metadata: Metadata = field(default_factory=dict)


class ReceiptStatus(StrEnum):
    """The kinds of receipts for a delivery attempt."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    DEFERRED = "deferred"
    FAILED = "failed"


class Receipt(Record, tag_field="status"):
    """The base of all receipts."""

    status: ClassVar[ReceiptStatus]
    """The kind of this receipt."""
    metadata: Metadata = field(default_factory=dict)


class Accepted(Receipt, tag="accepted"):
    """The message was accepted and is held; the agent has not seen it yet."""

    status = ReceiptStatus.ACCEPTED
    delivery_id: str
    retryable: bool = False


class Delivered(Receipt, tag="delivered"):
    """The message has reached the agent's input."""

    status = ReceiptStatus.DELIVERED
    delivery_id: str


class Deferred(Receipt, tag="deferred"):
    """The mode is supported, but the session cannot take the message before `available_at`."""

    status = ReceiptStatus.DEFERRED
    delivery_id: str | None = None
    available_at: Moment
    reason: str | None = None


class Failed(Receipt, tag="failed"):
    """The message was not delivered. With `retryable` it may be tried again later."""

    status = ReceiptStatus.FAILED
    delivery_id: str | None = None
    reason: str
    retryable: bool = False


MessageReceipt: TypeAlias = Accepted | Delivered | Deferred | Failed
"""The answer to one delivery attempt. On the wire `status` tells which it is."""
