"""The base of all queues of deliveries, and the queue of participants who fetch their messages."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from typing import TYPE_CHECKING

from msgspec.structs import replace

from serai import contract as c
from serai.host.identities import Participant
from serai.relay import WorkspacePart

if TYPE_CHECKING:
    from serai.relay.workspace import Workspace


class DeliveryQueue(WorkspacePart, ABC):
    """The deliveries to one participant: hands them on, or holds them until they may surface.

    Args:
        workspace: The relay.
        participant: The recipient.
    """

    def __init__(self, workspace: Workspace, participant: Participant) -> None:
        super().__init__(workspace)
        self.participant = participant
        """The recipient, with the capabilities that it declared last."""
        self.waiting: Counter[str] = Counter()
        """Numbers of deliveries that wait, by what they wait for."""

    @property
    @abstractmethod
    def capabilities(self) -> c.AgentSessionCapabilities:
        """Capabilities of the recipient: what can be delivered, and in which modes."""

    @property
    def status(self) -> c.AgentStatus | None:
        """Status of the recipient's session; `None` without a session."""
        return None

    @property
    def is_busy(self) -> bool:
        """True while `immediate` would interrupt something."""
        return False

    @property
    def hops(self) -> int:
        """Number of messages, since a person spoke, that led to what the recipient does now."""
        return 0

    @property
    def size(self) -> int:
        """Number of deliveries that wait."""
        return max(0, self.waiting.total())

    @property
    def has_room(self) -> bool:
        """True while one more delivery may wait."""
        return self.size < self._policy.mailbox

    @abstractmethod
    def take(self, record: c.DeliveryRecord, message: c.RelayMessage) -> c.DeliveryRecord:
        """Take a delivery that was written down: hand it on, or hold it for its boundary."""

    def count(self, waits_for: str, number: int = 1) -> None:
        """Count deliveries that wait, by what they wait for."""
        self.waiting[waits_for] += number

    def drop(self, record: c.DeliveryRecord, why: str | None = None) -> None:
        """Hold a delivery no longer. With `why` it is over for good, otherwise it is offered again."""

    async def recover(self) -> None:
        """Go on after a restart with the deliveries that wait."""

    async def close(self) -> None:
        """Deliver nothing more."""


class InboxQueue(DeliveryQueue):
    """Holds messages until someone looks into the inbox: only then are they delivered.

    A person takes messages in any mode, because they only have to wait. Others who fetch take `manual` alone.
    """

    def __init__(self, workspace: Workspace, participant: Participant) -> None:
        super().__init__(workspace, participant)
        self._capabilities = c.AgentSessionCapabilities(
            messaging=c.MessagingCapabilities(receive=True, send=True, attachments=tuple(c.ContentType)),
            delivery=c.DeliveryCapabilities(
                modes=tuple(c.DeliveryMode) if participant.is_person else (c.DeliveryMode.MANUAL,)
            ),
            events=c.EventCapabilities(emits=()),
            actions=c.ActionCapabilities(invoke=True, expose=True),
            lifecycle=c.LifecycleCapabilities(release=False),
        )

    @property
    def capabilities(self) -> c.AgentSessionCapabilities:
        """See `DeliveryQueue.capabilities`."""
        return self._capabilities

    @property
    def has_room(self) -> bool:
        """True: an inbox has room for everything."""
        return True

    def count(self, waits_for: str, number: int = 1) -> None:
        """Count nothing."""

    def take(self, record: c.DeliveryRecord, message: c.RelayMessage) -> c.DeliveryRecord:  # noqa: ARG002 - it is stored
        """Hold a message until its recipient looks."""
        if record.mode not in self.capabilities.delivery.modes:  # it was flushed
            record = replace(record, mode=c.DeliveryMode.MANUAL)
        held = {"heldBy": "inbox", "waitsFor": "fetch"}
        return self._ledger.settle(record, c.Accepted(delivery_id=record.id, metadata=held), own=True)
