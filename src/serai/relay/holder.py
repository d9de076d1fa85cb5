"""The box of someone who fetches: a person, a service, an agent that only has tools to ask with."""

from __future__ import annotations

from serai.contract import (
    Accepted,
    AgentSessionCapabilities,
    ContentType,
    DeliveryCapabilities,
    DeliveryMode,
    DeliveryRecord,
    EventCapabilities,
    LifecycleCapabilities,
    MessagingCapabilities,
    RelayMessage,
)
from serai.host.ledger import Ledger

__all__ = ["InboxBox"]

_CAPABILITIES = AgentSessionCapabilities(
    messaging=MessagingCapabilities(receive=True, send=True, attachments=tuple(ContentType)),
    delivery=DeliveryCapabilities(modes=tuple(DeliveryMode)),
    events=EventCapabilities(emits=()),
    lifecycle=LifecycleCapabilities(release=False),
)


class InboxBox:
    """Holds messages until someone looks into the inbox: only then are they delivered."""

    capabilities = _CAPABILITIES
    is_busy = False
    hops = 0

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def take(self, record: DeliveryRecord, message: RelayMessage) -> DeliveryRecord:  # noqa: ARG002 - it is stored
        """Hold a message for whoever looks."""
        held = {"heldBy": "inbox", "waitsFor": "fetch"}
        return self._ledger.settle(record, Accepted(delivery_id=record.id, metadata=held), own=True)

    def drop(self, record: DeliveryRecord, why: str | None = None) -> None:
        """Nothing is kept here."""
