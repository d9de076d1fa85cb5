"""Who takes part, and what they do right now.

An identity is the stable routing information of an agent, a person, a system or a service, and outlives its
sessions. A status is told by events, and never kept in an identity.
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
    """What sort of participant an identity stands for."""

    AGENT = "agent"
    HUMAN = "human"
    SYSTEM = "system"
    SERVICE = "service"


class AgentIdentity(Record):
    """A participant, under the name by which others reach it."""

    id: AgentId
    name: str
    """Unique in its workspace, without regard to upper and lower case."""
    handle: str
    """How it is written in text and in addresses: `handle_of(name)`."""
    display_name: str | None = None
    description: str | None = None
    kind: IdentityKind | None = None
    metadata: Metadata = field(default_factory=dict)


def handle_of(name: str) -> str:
    """The handle of a name: `@`, then the name with each run of white space as one `-`."""
    return "@" + _WHITE_SPACE.sub("-", name.strip())


def name_key(name: str) -> str:
    """What two spellings of one name have in common: the key to keep names under."""
    return name.strip().casefold()


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
