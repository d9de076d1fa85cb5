"""Participants, and their status.

An identity is the stable routing information of an agent, a person, a system or a service, and outlives its
sessions. A status is reported by events, and never stored in an identity.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TypeAlias

from msgspec import field

from serai.contract.record import Metadata, Record

AgentId: TypeAlias = str
"""The `id` of an `AgentIdentity`."""

_WHITE_SPACE = re.compile(r"\s+")


class IdentityKind(StrEnum):
    """The kind of a participant."""

    AGENT = "agent"
    HUMAN = "human"
    SYSTEM = "system"
    SERVICE = "service"


class AgentIdentity(Record):
    """A participant, with the name by which others reach it."""

    id: AgentId
    name: str
    """Unique in its workspace, without regard to upper and lower case."""
    handle: str
    """Form of the name in text and in addresses: `handle_of(name)`."""
    display_name: str | None = None
    description: str | None = None
    kind: IdentityKind | None = None
    metadata: Metadata = field(default_factory=dict)


def handle_of(name: str) -> str:
    """Return the handle of a name: `@`, then the name with each run of white space as one `-`."""
    return "@" + _WHITE_SPACE.sub("-", name.strip())


def name_key(name: str) -> str:
    """Return the key of a name, which is equal for all its spellings."""
    return name.strip().casefold()


class AgentStatus(StrEnum):
    """The status of a session: derived from its events, and never stored in its identity."""

    STARTING = "starting"
    """The harness creates the session, or attaches to it."""
    ACTIVE = "active"
    """It streams, or a tool runs."""
    IDLE = "idle"
    """It has nothing to do and accepts messages."""
    WAITING = "waiting"
    """A confirmation, a question or another result from outside is open."""
    BLOCKED = "blocked"
    """It needs a person to continue: for a sign-in, or for a higher budget."""
    PAUSED = "paused"
    """Someone paused it."""
    RELEASING = "releasing"
    """Its release has begun."""
    RELEASED = "released"
    """It was released. No other status follows."""
    OFFLINE = "offline"
    """It cannot be reached now."""
    FAILED = "failed"
    """It, or its harness, has failed."""
