"""What a session with an agent declares, from what the agent said of itself."""

from __future__ import annotations

from serai.acp import Handshake
from serai.acp.shapes import object_of
from serai.contract import (
    AgentSessionCapabilities,
    AgentSessionEventType,
    ContentType,
    DeliveryCapabilities,
    DeliveryMode,
    EventCapabilities,
    LifecycleCapabilities,
    MessagingCapabilities,
)

__all__ = ["STEERING_METHOD", "can_steer", "declared"]

STEERING_METHOD = "_session/steering"
"""An extension of ACP that several agents share: a message for the turn that runs."""

_MODES = (
    DeliveryMode.IMMEDIATE,
    DeliveryMode.NEXT_MESSAGE,
    DeliveryMode.ON_IDLE,
    DeliveryMode.MANUAL,
)
_EVENTS = (
    AgentSessionEventType.STATUS_CHANGED,
    AgentSessionEventType.TOOL_CALLED,
    AgentSessionEventType.TOOL_COMPLETED,
    AgentSessionEventType.TOOL_FAILED,
    AgentSessionEventType.USAGE_UPDATED,
    AgentSessionEventType.SESSION_STARTED,
    AgentSessionEventType.SESSION_RELEASED,
    AgentSessionEventType.ERROR,
)


def can_steer(handshake: Handshake) -> bool:
    """Whether the agent says that it takes messages in the middle of a turn."""
    places = (handshake.raw, object_of(handshake.raw.get("agentCapabilities")))
    return any(
        object_of(object_of(place.get("_meta")).get("steering")).get("supported") is True for place in places
    )


def declared(handshake: Handshake) -> AgentSessionCapabilities:
    """What the agent's sessions can do."""
    told = handshake.capabilities
    resumes = told.resume_session or told.load_session
    events = [
        *_EVENTS,
        *([AgentSessionEventType.SESSION_RESUMED] if resumes else ()),
        *([AgentSessionEventType.SESSION_FORKED] if told.fork_session else ()),
    ]
    return AgentSessionCapabilities(
        messaging=MessagingCapabilities(
            receive=True,
            attachments=(ContentType.TEXT, ContentType.IMAGE) if told.prompt.image else (ContentType.TEXT,),
        ),
        delivery=DeliveryCapabilities(
            modes=(*_MODES, DeliveryMode.NEXT_TOOL_CALL) if can_steer(handshake) else _MODES
        ),
        events=EventCapabilities(emits=tuple(events)),
        lifecycle=LifecycleCapabilities(release=True, resume=resumes, fork=told.fork_session),
    )
