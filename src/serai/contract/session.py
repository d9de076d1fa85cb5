"""The protocols of a session: the boundary between the host and one agent.

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
"""A function that is called with each event, in their order. It must not block."""

Unsubscribe: TypeAlias = Callable[[], None]
"""A function that ends a subscription. A second call does nothing."""


@runtime_checkable
class AgentSession(Protocol):
    """A session, as the relay uses it.

    Every session has all of these methods. Those that it does not declare in its capabilities raise
    `CapabilityUnsupported`, as the inherited ones here do. Callers check the capabilities first.
    """

    identity: AgentIdentity
    """Identity under which the session takes part."""
    capabilities: AgentSessionCapabilities
    """Capabilities of the session. They do not change while it is registered."""

    @abstractmethod
    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:
        """Receive a message, and return the receipt.

        `context.id` is an idempotency key: a repeat surfaces nothing again and returns the earlier receipt.
        Every call ends in a receipt; an exception counts as a failure that may be retried.

        Calls may overlap. Cancelling leaves open whether the message surfaced; a repeat settles it.
        """
        ...

    def on_event(self, handler: EventHandler) -> Unsubscribe:  # noqa: ARG002 - there is nothing to call it with
        """Call `handler` with each event from now on, until the returned function is called.

        Only the events that `capabilities.events.emits` names are guaranteed. A session that emits none never
        calls the handler. Secrets are masked before an event is emitted.
        """
        return lambda: None

    async def release(self, reason: str | None = None) -> None:  # noqa: ARG002 - for those who override it
        """Release everything that the session holds. Releasing it again does nothing.

        Cancelling leaves the session half released; only another `release` may follow.
        """
        raise _refusal(self, LifecycleOperation.RELEASE)

    async def pause(self, reason: str | None = None) -> None:  # noqa: ARG002 - for those who override it
        """Stop working at the next boundary and keep everything. Cancelling leaves the session as it was."""
        raise _refusal(self, LifecycleOperation.PAUSE)

    async def resume(self) -> None:
        """Continue after `pause`. Cancelling leaves the session paused."""
        raise _refusal(self, LifecycleOperation.RESUME)

    async def fork(self) -> AgentSession:
        """Create a second session with the same history. From then on both are independent.

        Cancelling creates no session.
        """
        raise _refusal(self, LifecycleOperation.FORK)

    async def snapshot(self) -> dict[str, Any]:
        """Return the session's state as JSON that its harness can read. Cancelling is safe."""
        raise _refusal(self, LifecycleOperation.SNAPSHOT)


def _refusal(session: AgentSession, operation: LifecycleOperation) -> CapabilityUnsupported:
    declared = tuple(other.value for other in session.capabilities.lifecycle.operations)
    return CapabilityUnsupported(
        f"lifecycle.{operation}", operation.value, declared, agent=session.identity.name
    )


class BasicSession(AgentSession):
    """A base class for sessions: implement `receive_message`, and override what your agent supports."""

    def __init__(self, identity: AgentIdentity, capabilities: AgentSessionCapabilities) -> None:
        self.identity = identity
        self.capabilities = capabilities


@runtime_checkable
class AgentDeliveryAdapter(Protocol):
    """Delivers messages into one runtime.

    An adapter that inherits from this class need not write `flush` and `cancel`: it then refuses them.
    """

    @abstractmethod
    async def receive_message(self, message: RelayMessage, context: MessageContext) -> MessageReceipt:
        """See `AgentSession.receive_message`."""
        ...

    async def flush(self, delivery_id: str | None = None) -> list[MessageReceipt]:  # noqa: ARG002 - for those who override it
        """Surface held deliveries now: one, or all in their order. Return a receipt for each.

        Cancelling stops between two deliveries.

        Raises:
            CapabilityUnsupported: The adapter holds nothing.
        """
        raise CapabilityUnsupported("delivery.flush", "flush")

    async def cancel(self, delivery_id: str, reason: str | None = None) -> None:  # noqa: ARG002 - for those who override it
        """Drop a delivery that is held and has not surfaced. One that has surfaced stays as it is.

        Raises:
            CapabilityUnsupported: The adapter cannot take a message back.
        """
        raise CapabilityUnsupported("delivery.cancel", "cancel")
