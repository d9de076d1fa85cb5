"""What is checked when a session is registered: it declares nothing that it does not have."""

from __future__ import annotations

from serai.contract.capabilities import LifecycleOperation, MessageUse
from serai.contract.negotiation import refusal
from serai.contract.session import AgentSession, BasicSession
from serai.errors import CapabilityUnsupported

__all__ = ["check_registration", "registration_refusal"]


def registration_refusal(session: AgentSession) -> CapabilityUnsupported | None:
    """Why a session cannot be registered; `None` when it can.

    It must receive messages, have at least one delivery mode, have a method for each lifecycle operation that
    it declares, and `on_event` if it declares live observations. The status is exempt from the last: the host
    can tell it without the session. What is not declared may be missing altogether.
    """
    return _messaging(session) or _delivery(session) or _lifecycle(session) or _events(session)


def check_registration(session: AgentSession) -> None:
    """Go on only when a session may be registered.

    Raises:
        CapabilityUnsupported: It declares too little, or something that it does not have.
    """
    if error := registration_refusal(session):
        raise error


def _messaging(session: AgentSession) -> CapabilityUnsupported | None:
    if not _implements(session, "receive_message"):
        return _missing(session, "messaging.receive", "receive_message")
    return refusal(session.capabilities, MessageUse.RECEIVE, agent=session.identity.name)


def _delivery(session: AgentSession) -> CapabilityUnsupported | None:
    if session.capabilities.delivery.modes:
        return None
    return CapabilityUnsupported("delivery.modes", "any", agent=session.identity.name)


def _lifecycle(session: AgentSession) -> CapabilityUnsupported | None:
    present = tuple(operation.value for operation in LifecycleOperation if _implements(session, operation))
    for operation in session.capabilities.lifecycle.operations:
        if operation not in present:
            return _missing(session, f"lifecycle.{operation}", operation.value, present)
    return None


def _events(session: AgentSession) -> CapabilityUnsupported | None:
    if _implements(session, "on_event"):
        return None
    for event in session.capabilities.events.emits:
        if event.is_live and event.family != "status":
            return _missing(session, "events.emits", event.value)
    return None


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
    return callable(method) and function not in {getattr(AgentSession, name), getattr(BasicSession, name)}
