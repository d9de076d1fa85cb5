"""How a message gets into a session: its mode, the context that goes with it, the receipt that comes back.

A mode says *when* a message surfaces in a session and leaves to the harness *how*. Every attempt is answered
with one of four receipts, which never promise more than is known.
"""

from __future__ import annotations

from enum import StrEnum
from typing import ClassVar, TypeAlias

from msgspec import field

from serai.contract.record import Metadata, Moment, Record


class DeliveryMode(StrEnum):
    """At which boundary a message surfaces in a session."""

    IMMEDIATE = "immediate"
    """Now, even if that interrupts. The only mode that does."""
    NEXT_MESSAGE = "next-message"
    """With the next message that a user sends to the session."""
    NEXT_TOOL_CALL = "next-tool-call"
    """Before the session's next tool call."""
    ON_IDLE = "on-idle"
    """As soon as the session is in a safe state."""
    MANUAL = "manual"
    """When someone flushes what is pending, and not before."""


class DeliveryReason(StrEnum):
    """Why a session gets a message."""

    MESSAGE = "message"
    MENTION = "mention"
    DM = "dm"
    THREAD_REPLY = "thread-reply"
    ACTION_RESULT = "action-result"
    NOTIFICATION = "notification"


class Priority(StrEnum):
    """Which of the deliveries that wait for one session goes first."""

    NORMAL = "normal"
    URGENT = "urgent"


class MessageContext(Record):
    """Why a message is delivered, and how the harness is to treat it."""

    id: str
    """The delivery's id. A session surfaces a message once per id, however often it is called with it."""
    mode: DeliveryMode
    reason: DeliveryReason
    priority: Priority = Priority.NORMAL
    deadline: Moment | None = None
    """After this moment the message is of no use and the delivery fails."""
    idempotency_key: str | None = None
    metadata: Metadata = field(default_factory=dict)


class ReceiptStatus(StrEnum):
    """What a receipt says about a delivery attempt."""

    ACCEPTED = "accepted"
    DELIVERED = "delivered"
    DEFERRED = "deferred"
    FAILED = "failed"


class Receipt(Record, tag_field="status"):
    """What all receipts have in common."""

    status: ClassVar[ReceiptStatus]
    """Which of the four receipts this is."""
    metadata: Metadata = field(default_factory=dict)


class Accepted(Receipt, tag="accepted"):
    """Someone has taken the message on and holds it; the agent has not seen it yet."""

    status = ReceiptStatus.ACCEPTED
    delivery_id: str
    retryable: bool = False


class Delivered(Receipt, tag="delivered"):
    """The message has reached the agent's input."""

    status = ReceiptStatus.DELIVERED
    delivery_id: str


class Deferred(Receipt, tag="deferred"):
    """The mode is understood, but the session cannot take the message before `available_at`."""

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
