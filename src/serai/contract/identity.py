"""Who takes part: the stable routing information of an agent, a person, a system or a service.

An identity outlives its sessions. What a participant does right now is told by events, and what it can do is
declared by its session; neither stands here.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import TypeAlias

from msgspec import field

from serai.contract.record import Metadata, Record

__all__ = ["AgentId", "AgentIdentity", "IdentityKind", "handle_of", "name_key", "same_name"]

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


def same_name(one: str, other: str) -> bool:
    """Whether two names are the same participant's: upper and lower case do not count."""
    return name_key(one) == name_key(other)
