"""The capabilities of a session, declared by the session itself once it exists.

Two sessions of one harness may declare different things. A capability is declared only where it is
implemented; `serai.contract.negotiation` checks that, and checks requests against it.
"""

from __future__ import annotations

from enum import StrEnum

from serai.contract.delivery import DeliveryMode
from serai.contract.events import AgentSessionEventType
from serai.contract.record import Record


class ContentType(StrEnum):
    """A kind of content that a session may accept."""

    TEXT = "text"
    IMAGE = "image"


class MessageUse(StrEnum):
    """A direction of messaging."""

    RECEIVE = "receive"
    SEND = "send"


class ActionUse(StrEnum):
    """A use of the relay's actions."""

    INVOKE = "invoke"
    """Call actions that others have registered."""
    EXPOSE = "expose"
    """Register actions that others may call."""


class LifecycleOperation(StrEnum):
    """An operation on a session as a whole. The methods of `AgentSession` have the same names."""

    RELEASE = "release"
    PAUSE = "pause"
    RESUME = "resume"
    FORK = "fork"
    SNAPSHOT = "snapshot"


class MessagingCapabilities(Record):
    """The messages that a session accepts, and whether it sends any.

    One that receives does so from everywhere: rooms, direct and group conversations, threads.
    """

    receive: bool
    """Always true: a session that does not receive is refused at registration."""
    send: bool = False
    attachments: tuple[ContentType, ...] | None = None
    """Kinds of attachments that it accepts; absent means text only."""

    @property
    def content_types(self) -> tuple[ContentType, ...]:
        """Kinds of attachments that it accepts, with the default."""
        return (ContentType.TEXT,) if self.attachments is None else self.attachments


class DeliveryCapabilities(Record):
    """The boundaries at which a session accepts messages."""

    modes: tuple[DeliveryMode, ...]
    """The first one is used where neither the sender nor the policy names a mode."""
    queue: bool = False
    """The harness takes a message now, holds it for its boundary, and still reports receipts."""


class EventCapabilities(Record):
    """The live events that a session reports."""

    emits: tuple[AgentSessionEventType, ...]


class ActionCapabilities(Record):
    """The use of actions by a session. The registry has the actions themselves."""

    invoke: bool = False
    expose: bool = False


class LifecycleCapabilities(Record):
    """The operations on the session as a whole."""

    release: bool
    pause: bool = False
    resume: bool = False
    fork: bool = False
    snapshot: bool = False

    @property
    def operations(self) -> tuple[LifecycleOperation, ...]:
        """The declared operations."""
        return tuple(operation for operation in LifecycleOperation if getattr(self, operation))


class AgentSessionCapabilities(Record):
    """All capabilities of a session."""

    messaging: MessagingCapabilities
    delivery: DeliveryCapabilities
    events: EventCapabilities
    actions: ActionCapabilities | None = None
    lifecycle: LifecycleCapabilities
