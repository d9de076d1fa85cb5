"""The live boundary to one agent, and those who stand on either side of it.

All are protocols, except `BasicSession`: a class need not inherit from them. The methods of one session are
called by one task at a time, unless a docstring says otherwise.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Protocol, TypeAlias, runtime_checkable

from serai.contract.capabilities import AgentSessionCapabilities, LifecycleOperation
from serai.contract.delivery import MessageContext, MessageReceipt
from serai.contract.events import AgentSessionEvent
from serai.contract.identity import AgentIdentity
from serai.contract.messages import RelayMessage
from serai.errors import CapabilityUnsupported

EventHandler: TypeAlias = Callable[[AgentSessionEvent], None]
"""Is called with each event, in the order in which they happened. It must not block."""

Unsubscribe: TypeAlias = Callable[[], None]
"""Ends a subscription. Calling it again does nothing."""


@runtime_checkable
class AgentSession(Protocol):
    """A session as the relay knows it.

    Every session has all of these methods. Those that it does not declare in its capabilities raise
    `CapabilityUnsupported`, as those do that a class inherits from here, and nobody who asks the capabilities
    first ever calls them.
    """

    identity: AgentIdentity
    """Under which name the session takes part."""
    capabilities: AgentSessionCapabilities
    """What it can do. This does not change while it is registered."""

    @abstractmethod
    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:
        """Take a message in, and say what became of it.

        `context.id` is an idempotency key: a repeat surfaces nothing again and returns the earlier receipt.
        Every call ends in a receipt; an exception counts as a failure that may be tried again.

        Calls may overlap. Cancelling leaves open whether the message surfaced; a repeat settles it.
        """
        ...

    def on_event(self, handler: EventHandler) -> Unsubscribe:  # noqa: ARG002 - there is nothing to call it with
        """Call `handler` with each event from now on, until the returned function is called.

        Only the events that `capabilities.events.emits` names are promised. A session that emits none never
        calls the handler. Secrets are masked before an event is emitted.
        """
        return lambda: None

    async def release(self, reason: str | None = None) -> None:  # noqa: ARG002 - for those who override it
        """Undo what creating the session did. Releasing it again does nothing.

        Cancelling leaves the session half released; only another `release` may follow.
        """
        raise _refusal(self, LifecycleOperation.RELEASE)

    async def pause(self, reason: str | None = None) -> None:  # noqa: ARG002 - for those who override it
        """Stop working at the next boundary and keep everything. Cancelling leaves the session as it was."""
        raise _refusal(self, LifecycleOperation.PAUSE)

    async def resume(self) -> None:
        """Go on where `pause` stopped. Cancelling leaves the session paused."""
        raise _refusal(self, LifecycleOperation.RESUME)

    async def fork(self) -> AgentSession:
        """Make a second session that starts with what this one knows; both then go their own ways.

        Cancelling makes no session.
        """
        raise _refusal(self, LifecycleOperation.FORK)

    async def snapshot(self) -> dict[str, Any]:
        """The session's state as JSON that its harness can read. It goes on, and cancelling is harmless."""
        raise _refusal(self, LifecycleOperation.SNAPSHOT)


def _refusal(session: AgentSession, operation: LifecycleOperation) -> CapabilityUnsupported:
    declared = tuple(other.value for other in session.capabilities.lifecycle.operations)
    return CapabilityUnsupported(
        f"lifecycle.{operation}", operation.value, declared, agent=session.identity.name
    )


class BasicSession(AgentSession):
    """A session to inherit from: write `receive_message`, and override what your agent can really do."""

    def __init__(self, identity: AgentIdentity, capabilities: AgentSessionCapabilities) -> None:
        self.identity = identity
        self.capabilities = capabilities


@runtime_checkable
class AgentDeliveryAdapter(Protocol):
    """What knows how messages get into one runtime.

    An adapter that inherits from this class need not write `flush` and `cancel`: it then refuses them.
    """

    @abstractmethod
    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:
        """See `AgentSession.receive_message`."""
        ...

    async def flush(self, delivery_id: str | None = None) -> list[MessageReceipt]:  # noqa: ARG002 - for those who override it
        """Surface what is held now: one delivery, or all in their order. Returns a receipt for each.

        Cancelling stops between two deliveries.

        Raises:
            CapabilityUnsupported: The adapter holds nothing.
        """
        raise CapabilityUnsupported("delivery.flush", "flush")

    async def cancel(self, delivery_id: str, reason: str | None = None) -> None:  # noqa: ARG002 - for those who override it
        """Give up a delivery that is held and not yet surfaced. One that has surfaced stays as it is.

        Raises:
            CapabilityUnsupported: The adapter cannot take a message back.
        """
        raise CapabilityUnsupported("delivery.cancel", "cancel")
