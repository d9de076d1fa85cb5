"""Delivery events as the workspace sees them: they say whose delivery it is, and of which message.

The events of the same name inside one session (`serai.contract.events`) carry ids only, because there it is
known whose they are.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

from serai.contract.identity import AgentIdentity
from serai.contract.messages import RelayMessage
from serai.contract.record import Moment, Record, refuse_naive

__all__ = [
    "DeliveryEvent",
    "DeliveryEventType",
    "WorkspaceDeliveryAccepted",
    "WorkspaceDeliveryCreated",
    "WorkspaceDeliveryDeferred",
    "WorkspaceDeliveryDelivered",
    "WorkspaceDeliveryEvent",
    "WorkspaceDeliveryFailed",
]


class DeliveryEventType(StrEnum):
    """The type of a delivery event."""

    CREATED = "delivery.created"
    ACCEPTED = "delivery.accepted"
    DELIVERED = "delivery.delivered"
    DEFERRED = "delivery.deferred"
    FAILED = "delivery.failed"


class WorkspaceDeliveryEvent(Record, tag_field="type"):
    """What all delivery events of a workspace have in common."""

    delivery_id: str
    message_id: str | None = None
    agent: AgentIdentity

    @property
    def type(self) -> DeliveryEventType:
        """Which event this is."""
        return DeliveryEventType(self.__struct_config__.tag)


class WorkspaceDeliveryCreated(WorkspaceDeliveryEvent, tag="delivery.created"):
    """The delivery is persisted; nothing has been tried yet."""

    message: RelayMessage


class DeliveryOutcome(WorkspaceDeliveryEvent):
    """A delivery has come to a new stage. A relay need not say of which message; ours does."""

    message: RelayMessage | None = None


class WorkspaceDeliveryAccepted(DeliveryOutcome, tag="delivery.accepted"):
    """The message is held for its boundary."""


class WorkspaceDeliveryDelivered(DeliveryOutcome, tag="delivery.delivered"):
    """The message is in the agent's input."""


class WorkspaceDeliveryDeferred(DeliveryOutcome, tag="delivery.deferred"):
    """The message cannot be taken before `available_at`."""

    available_at: Moment
    reason: str | None = None

    def __post_init__(self) -> None:
        refuse_naive(self.available_at)


class WorkspaceDeliveryFailed(DeliveryOutcome, tag="delivery.failed"):
    """The message was not delivered."""

    reason: str
    retryable: bool = False


DeliveryEvent: TypeAlias = (
    WorkspaceDeliveryCreated
    | WorkspaceDeliveryAccepted
    | WorkspaceDeliveryDelivered
    | WorkspaceDeliveryDeferred
    | WorkspaceDeliveryFailed
)
"""Any delivery event of a workspace. On the wire `type` tells which it is."""
