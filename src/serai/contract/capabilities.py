"""What a session can do: declared by the session itself, once it has been made.

Two sessions of one harness may declare different things. A capability is declared only where it is
implemented; `serai.contract.negotiation` holds sessions to that, and answers what may be asked of them.
"""

from __future__ import annotations

from enum import StrEnum

from serai.contract.delivery import DeliveryMode
from serai.contract.events import AgentSessionEventType
from serai.contract.record import Record


class ContentType(StrEnum):
    """The kinds of content that a session may or may not take."""

    TEXT = "text"
    IMAGE = "image"


class MessageUse(StrEnum):
    """The two directions in which a session may take part in messaging."""

    RECEIVE = "receive"
    SEND = "send"


class ActionUse(StrEnum):
    """What a session may do with the relay's actions."""

    INVOKE = "invoke"
    """Call actions that others have registered."""
    EXPOSE = "expose"
    """Register actions that others may call."""


class LifecycleOperation(StrEnum):
    """What may be done to a session as a whole. The methods of `AgentSession` have the same names."""

    RELEASE = "release"
    PAUSE = "pause"
    RESUME = "resume"
    FORK = "fork"
    SNAPSHOT = "snapshot"


class MessagingCapabilities(Record):
    """Which messages a session takes and whether it sends any.

    One that receives does so from everywhere: rooms, direct and group conversations, threads.
    """

    receive: bool
    """Always true: a session that does not receive is refused at registration."""
    send: bool = False
    attachments: tuple[ContentType, ...] | None = None
    """Which attachments it takes. Absent means text only."""

    @property
    def content_types(self) -> tuple[ContentType, ...]:
        """Which attachments it takes, also where it did not say so."""
        return (ContentType.TEXT,) if self.attachments is None else self.attachments


class DeliveryCapabilities(Record):
    """At which boundaries a session takes messages."""

    modes: tuple[DeliveryMode, ...]
    """The first one is used where neither the sender nor the policy names a mode."""
    queue: bool = False
    """The harness takes a message now, holds it for its boundary, and still reports receipts."""


class EventCapabilities(Record):
    """Which live observations a session reports."""

    emits: tuple[AgentSessionEventType, ...]


class ActionCapabilities(Record):
    """Whether a session calls actions and offers its own. Which ones is a matter of the registry."""

    invoke: bool = False
    expose: bool = False


class LifecycleCapabilities(Record):
    """Which operations on the session as a whole exist."""

    release: bool
    pause: bool = False
    resume: bool = False
    fork: bool = False
    snapshot: bool = False

    @property
    def operations(self) -> tuple[LifecycleOperation, ...]:
        """The operations that are declared."""
        return tuple(operation for operation in LifecycleOperation if getattr(self, operation))


class AgentSessionCapabilities(Record):
    """All that a session declares about itself."""

    messaging: MessagingCapabilities
    delivery: DeliveryCapabilities
    events: EventCapabilities
    actions: ActionCapabilities | None = None
    lifecycle: LifecycleCapabilities
