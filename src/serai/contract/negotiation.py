"""What may be asked of a session: yes, or a structured error that says what it declares instead.

A wish is a member of one of six enumerations, and its type says which capability decides:

    ContentType             may it be sent this content?        messaging.attachments
    MessageUse              does it receive, does it send?      messaging.receive, messaging.send
    DeliveryMode            may it be delivered in this mode?   delivery.modes
    ActionUse               may it invoke or expose actions?    actions.invoke, actions.expose
    AgentSessionEventType   can this event ever happen?         events.emits
    LifecycleOperation      does this operation exist?          lifecycle.release, lifecycle.pause, ...

A message's own text is not an attachment: whoever receives, receives it.
"""

from __future__ import annotations

from typing import TypeAlias, assert_never

from serai.contract.capabilities import (
    ActionUse,
    AgentSessionCapabilities,
    ContentType,
    LifecycleOperation,
    MessageUse,
)
from serai.contract.delivery import DeliveryMode
from serai.contract.event_types import AgentSessionEventType
from serai.errors import CapabilityUnsupported

__all__ = ["Wish", "refusal", "require", "supports"]

Wish: TypeAlias = (
    ContentType | MessageUse | DeliveryMode | ActionUse | AgentSessionEventType | LifecycleOperation
)
"""Something that may be asked of a session."""


def refusal(
    capabilities: AgentSessionCapabilities, wish: Wish, *, agent: str | None = None
) -> CapabilityUnsupported | None:
    """Why a session cannot fulfil a wish; `None` when it can.

    Args:
        capabilities: What the session declares.
        wish: What is asked of it.
        agent: The name of the session's agent, for the error.
    """
    capability, declared = _declared(capabilities, wish)
    if wish in declared or (isinstance(wish, AgentSessionEventType) and not wish.is_live):
        return None
    available = tuple(str(member) for member in declared)
    return CapabilityUnsupported(capability, wish.value, available, agent=agent)


def supports(capabilities: AgentSessionCapabilities, wish: Wish) -> bool:
    """Whether a session can fulfil a wish."""
    return refusal(capabilities, wish) is None


def require(capabilities: AgentSessionCapabilities, wish: Wish, *, agent: str | None = None) -> None:
    """Go on only when a session can fulfil a wish.

    Raises:
        CapabilityUnsupported: It cannot.
    """
    if error := refusal(capabilities, wish, agent=agent):
        raise error


def _declared(capabilities: AgentSessionCapabilities, wish: Wish) -> tuple[str, tuple[Wish, ...]]:
    """The capability that decides about a wish, and what is declared there."""
    match wish:
        case ContentType():
            return "messaging.attachments", capabilities.messaging.content_types
        case MessageUse():
            return f"messaging.{wish}", capabilities.messaging.uses
        case DeliveryMode():
            return "delivery.modes", capabilities.delivery.modes
        case ActionUse():
            return f"actions.{wish}", capabilities.actions.uses if capabilities.actions else ()
        case AgentSessionEventType():
            return "events.emits", capabilities.events.emits
        case LifecycleOperation():
            return f"lifecycle.{wish}", capabilities.lifecycle.operations
        case _:
            assert_never(wish)
