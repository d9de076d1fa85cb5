"""What may be asked of a session: yes, or a structured error that says what it declares instead.

A wish is a member of one of six enumerations, and its type says which capability decides. A message's own
text is not an attachment: whoever receives, receives it.
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
    """Go on only when a session may be registered.

    It must receive messages, have at least one delivery mode, have a method for each lifecycle operation that
    it declares, and `on_event` if it declares live observations. The status is exempt from the last, and what
    else is `observed`: the host can tell it without the session. What is not declared may be missing
    altogether.

    Raises:
        CapabilityUnsupported: It declares too little, or something that it does not have.
    """
    declared, agent = session.capabilities, session.identity.name
    if not _implements(session, "receive_message"):
        raise _missing(session, "messaging.receive", "receive_message")
    check_receives(declared, agent)
    present = tuple(operation.value for operation in LifecycleOperation if _implements(session, operation))
    for operation in declared.lifecycle.operations:
        if operation not in present:
            raise _missing(session, f"lifecycle.{operation}", operation.value, present)
    told = [event for event in declared.events.emits if event.is_live and event.family != "status"]
    told = [event for event in told if event not in observed]
    if told and not _implements(session, "on_event"):
        raise _missing(session, "events.emits", told[0].value)


def check_receives(declared: AgentSessionCapabilities, agent: str) -> None:
    """Go on only when a session receives messages, and says when.

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
    """Whether a session has a method of its own, and not just the one that refuses."""
    method = getattr(session, name, None)
    function = getattr(method, "__func__", method)
    return callable(method) and function is not getattr(AgentSession, name)
