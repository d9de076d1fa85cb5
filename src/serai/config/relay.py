"""The settings of `[relay]`: what the workspace lets happen to a message."""

from __future__ import annotations

from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from serai.contract import AgentStatus, DeliveryMode, IdentityKind


class Inbound(StrEnum):
    """What becomes of messages from a kind of sender."""

    ACCEPT = "accept"
    HOLD = "hold"
    """They wait until a person flushes or cancels them."""
    REFUSE = "refuse"


class RelayPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Who may interrupt whom, what is held, and how long things are tried."""

    me: str = ""
    """The name of the host's owner; without one, the login name."""
    default_mode: DeliveryMode | None = DeliveryMode.ON_IDLE
    """The mode of messages that name none; without it, the first that the session declares."""
    interrupt: frozenset[IdentityKind] = frozenset({IdentityKind.HUMAN})
    """Who may interrupt a running turn."""
    unsupported: Literal["downgrade", "fail"] = "downgrade"
    """What becomes of a mode that a session lacks."""
    images: Literal["describe", "fail"] = "describe"
    """What becomes of an image for a session that takes none."""
    inbound: dict[IdentityKind, Inbound] = {}
    """What becomes of messages, by the kind of their sender; by default they are accepted."""
    safe_states: frozenset[AgentStatus] = frozenset({AgentStatus.IDLE})
    """In which states a session takes what waits for `on-idle`."""
    max_hops: Annotated[int, Meta(ge=1)] = 8
    """How many messages of agents may follow each other since a person spoke."""
    rate: Annotated[int, Meta(ge=1)] = 60
    """How many messages an agent may send to one other in a minute."""
    mailbox: Annotated[int, Meta(ge=1)] = 100_000
    """How many deliveries may wait for one session."""
    attempts: Annotated[int, Meta(ge=1)] = 6
    """How often a delivery is tried."""
    max_age_days: Annotated[float, Meta(gt=0, le=3650)] = 7
    """How long a delivery may wait."""
    lease_seconds: Annotated[float, Meta(gt=0, le=86400)] = 30
    """How long a session elsewhere may take to answer."""
    message_bytes: Annotated[int, Meta(ge=1024)] = 256 * 1024
    """The largest message."""

    @property
    def max_age(self) -> timedelta:
        """How long a delivery may wait."""
        return timedelta(days=self.max_age_days)

    @property
    def lease(self) -> timedelta:
        """How long a session elsewhere may take to answer."""
        return timedelta(seconds=self.lease_seconds)
