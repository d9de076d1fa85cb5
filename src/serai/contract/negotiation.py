"""Checks of requests against a session's capabilities, and of a session before it takes part.

A wish is a member of one of six enumerations, and its type determines the capability that decides. The text
of a message is not an attachment: every session that receives messages receives it.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import TypeAlias, assert_never

from serai.contract.capabilities import (
    ActionCapabilities,
    ActionUse,
    AgentSessionCapabilities,
    ContentType,
    LifecycleOperation,
    MessageUse,
)
from serai.contract.delivery import DeliveryMode
from serai.contract.events import AgentSessionEventType
from serai.contract.session import AgentSession
from serai.errors import CapabilityUnsupported

Wish: TypeAlias = (
    ContentType | MessageUse | DeliveryMode | ActionUse | AgentSessionEventType | LifecycleOperation
)
"""A feature that may be requested of a session."""


def refusal(
    capabilities: AgentSessionCapabilities, wish: Wish, *, agent: str | None = None
) -> CapabilityUnsupported | None:
    """Return the error for a wish that a session cannot fulfil; `None` when it can.

    Args:
        capabilities: What the session declares.
        wish: The requested feature.
        agent: The name of the session's agent, for the error.
    """
    capability, declared = _declared(capabilities, wish)
    if wish in declared or (isinstance(wish, AgentSessionEventType) and not wish.is_live):
        return None
    available = tuple(str(member) for member in declared)
    return CapabilityUnsupported(capability, wish.value, available, agent=agent)


def supports(capabilities: AgentSessionCapabilities, wish: Wish) -> bool:
    """Tell whether a session can fulfil a wish."""
    return refusal(capabilities, wish) is None


def require(capabilities: AgentSessionCapabilities, wish: Wish, *, agent: str | None = None) -> None:
    """Check that a session can fulfil a wish.

    Raises:
        CapabilityUnsupported: It cannot.
    """
    if error := refusal(capabilities, wish, agent=agent):
        raise error


def _declared(capabilities: AgentSessionCapabilities, wish: Wish) -> tuple[str, tuple[Wish, ...]]:
    """Return the capability that decides about a wish, and its declared values."""
    match wish:
        case ContentType():
            return "messaging.attachments", capabilities.messaging.content_types
        case MessageUse():
            return f"messaging.{wish}", tuple(
                use for use in MessageUse if getattr(capabilities.messaging, use)
            )
        case DeliveryMode():
            return "delivery.modes", capabilities.delivery.modes
        case ActionUse():
            declared = capabilities.actions or ActionCapabilities()
            return f"actions.{wish}", tuple(use for use in ActionUse if getattr(declared, use))
        case AgentSessionEventType():
            return "events.emits", capabilities.events.emits
        case LifecycleOperation():
            return f"lifecycle.{wish}", capabilities.lifecycle.operations
        case _:
            assert_never(wish)


def check_registration(session: AgentSession, observed: Collection[AgentSessionEventType] = ()) -> None:
    """Check that a session may be registered.

    It must receive messages, have at least one delivery mode, implement each lifecycle operation that it
    declares, and implement `on_event` if it declares live events other than those of its status and those
    that are `observed`: the host reports these itself. Undeclared methods may be missing altogether.

    Raises:
        CapabilityUnsupported: It declares too little, or something that it does not implement.
    """
    declared, agent = session.capabilities, session.identity.name
    if not _implements(session, "receive_message"):
        raise _missing(session, "messaging.receive", "receive_message")
    check_receives(declared, agent)
    present = tuple(operation.value for operation in LifecycleOperation if _implements(session, operation))
    for operation in declared.lifecycle.operations:
        if operation not in present:
            raise _missing(session, f"lifecycle.{operation}", operation.value, present)
    live = [event for event in declared.events.emits if event.is_live and event.family != "status"]
    own = [event for event in live if event not in observed]
    if own and not _implements(session, "on_event"):
        raise _missing(session, "events.emits", own[0].value)


def check_receives(declared: AgentSessionCapabilities, agent: str) -> None:
    """Check that a session receives messages, and has a delivery mode.

    Raises:
        CapabilityUnsupported: It does not.
    """
    require(declared, MessageUse.RECEIVE, agent=agent)
    if not declared.delivery.modes:
        raise CapabilityUnsupported("delivery.modes", "any", agent=agent)


def _missing(
    session: AgentSession, capability: str, requested: str, present: tuple[str, ...] = ()
) -> CapabilityUnsupported:
    return CapabilityUnsupported(
        capability, requested, present, agent=session.identity.name, remedy="Declare only what it implements"
    )


def _implements(session: AgentSession, name: str) -> bool:
    """Tell whether a session implements a method, and does not only inherit the one that refuses."""
    method = getattr(session, name, None)
    function = getattr(method, "__func__", method)
    return callable(method) and function is not getattr(AgentSession, name)
