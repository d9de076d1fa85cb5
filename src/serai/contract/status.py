"""What a session does right now, and which status may follow which."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from serai.errors import IllegalTransition

__all__ = ["TRANSITIONS", "AgentStatus", "check_transition", "may_become"]


class AgentStatus(StrEnum):
    """The status of a session: computed from evidence, told by events, never kept in its identity."""

    STARTING = "starting"
    """The harness makes the session, or attaches to it."""
    ACTIVE = "active"
    """It streams, or a tool runs."""
    IDLE = "idle"
    """It has nothing to do and takes more."""
    WAITING = "waiting"
    """A confirmation, a question or another result from outside is open."""
    BLOCKED = "blocked"
    """It cannot go on unless someone steps in: a sign-in is needed, or the budget is used up."""
    PAUSED = "paused"
    """Someone paused it."""
    RELEASING = "releasing"
    """Its release has begun."""
    RELEASED = "released"
    """Its release is done. Nothing follows."""
    OFFLINE = "offline"
    """It cannot be reached at the moment."""
    FAILED = "failed"
    """It, or its harness, broke down."""


_LIVE = frozenset(
    {AgentStatus.ACTIVE, AgentStatus.IDLE, AgentStatus.WAITING, AgentStatus.BLOCKED, AgentStatus.PAUSED}
)
_OUT_OF_LIFE = frozenset({AgentStatus.OFFLINE, AgentStatus.RELEASING, AgentStatus.FAILED})

TRANSITIONS: Mapping[AgentStatus, frozenset[AgentStatus]] = {
    AgentStatus.STARTING: _LIVE | {AgentStatus.FAILED},
    # The live ones follow each other freely, and any of them may leave life.
    **{status: (_LIVE - {status}) | _OUT_OF_LIFE for status in _LIVE},
    AgentStatus.OFFLINE: _LIVE | {AgentStatus.FAILED, AgentStatus.RELEASED},
    AgentStatus.RELEASING: frozenset({AgentStatus.RELEASED, AgentStatus.FAILED}),
    AgentStatus.FAILED: frozenset({AgentStatus.STARTING, AgentStatus.RELEASED}),
    AgentStatus.RELEASED: frozenset(),
}
"""Which statuses may follow each one. None follows itself: that would be no change."""


def may_become(before: AgentStatus, after: AgentStatus) -> bool:
    """Whether a session in status `before` may go to `after` in one step."""
    return after in TRANSITIONS[before]


def check_transition(before: AgentStatus, after: AgentStatus) -> None:
    """Refuse a step that `TRANSITIONS` does not have.

    Raises:
        IllegalTransition: `after` may not follow `before`.
    """
    if not may_become(before, after):
        raise IllegalTransition("the status of a session", before, after)
