"""What a session with an agent declares, and messages for the turn that runs, for agents that take them."""

from __future__ import annotations

from serai.acp import AcpSession, Agent, Handshake, fit_prompt
from serai.acp.shapes import object_of
from serai.ahp.types import UserMessage
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
from serai.harness.acp.content import blocks_of

__all__ = ["can_steer", "declared", "steer"]

_STEERING_METHOD = "_session/steering"
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


async def steer(agent: Agent, session: AcpSession, message: UserMessage) -> tuple[str, ...] | None:
    """Have the agent take a message in its turn. Returns the types of what was left out; `None` for a no.

    Raises:
        AgentError: The agent refused, or is gone.
    """
    blocks, unknown = blocks_of(message)
    kept, dropped = fit_prompt(blocks, agent.capabilities)
    if not kept:
        return None
    params = {
        "sessionId": session.id,
        "prompt": kept,
        "_meta": {"steering": {"idleBehavior": "promptRequired"}},
    }
    answer = await agent.request(_STEERING_METHOD, params)
    return (*dropped, *unknown) if object_of(answer).get("outcome") == "injected" else None
