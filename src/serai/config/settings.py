"""All settings, and their defaults."""

from __future__ import annotations

import ipaddress
from datetime import timedelta
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

import msgspec
from msgspec import Meta

from serai.contract import AgentStatus, DeliveryMode, IdentityKind
from serai.session.agent_file import FsScopeTier, OnExceed

Count: TypeAlias = Annotated[int, Meta(ge=1)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e9)]
"""Seconds, at most 31 years: JSON has no number for infinity."""

_MIB = 1024 * 1024


class Inbound(StrEnum):
    """The handling of messages from a kind of sender."""

    ACCEPT = "accept"
    HOLD = "hold"
    """Messages wait until a person flushes or cancels them."""
    REFUSE = "refuse"


class RelayPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[relay]`: the policy for interrupting, holding and retrying messages."""

    me: str = ""
    """Name of the host's owner; by default the login name."""
    default_mode: DeliveryMode | None = DeliveryMode.ON_IDLE
    """Mode of messages that name none; without it, the first mode that the session declares."""
    interrupt: frozenset[IdentityKind] = frozenset({IdentityKind.HUMAN})
    """Kinds of senders that may interrupt a running turn."""
    unsupported: Literal["downgrade", "fail"] = "downgrade"
    """Handling of a mode that a session does not support."""
    images: Literal["describe", "fail"] = "describe"
    """Handling of an image for a session that accepts none."""
    inbound: dict[IdentityKind, Inbound] = {}
    """Handling of messages, by the kind of their sender; by default they are accepted."""
    safe_states: frozenset[AgentStatus] = frozenset({AgentStatus.IDLE})
    """Statuses in which a session accepts deliveries that wait for `on-idle`."""
    max_hops: Annotated[int, Meta(ge=1)] = 8
    """Most agents' messages in a row since a person's message."""
    rate: Annotated[int, Meta(ge=1)] = 60
    """Most messages an agent may send to one other agent, per minute."""
    mailbox: Annotated[int, Meta(ge=1)] = 100_000
    """Most deliveries that may wait for one session."""
    attempts: Annotated[int, Meta(ge=1)] = 6
    """Most attempts of a delivery."""
    max_age_days: Annotated[float, Meta(gt=0, le=3650)] = 7
    """Longest time a delivery may wait, in days."""
    lease_seconds: Annotated[float, Meta(gt=0, le=86400)] = 30
    """Time in which an external session must answer, in seconds."""
    message_bytes: Annotated[int, Meta(ge=1024)] = 256 * 1024
    """Largest message, in bytes."""

    @property
    def max_age(self) -> timedelta:
        """The longest time a delivery may wait."""
        return timedelta(days=self.max_age_days)

    @property
    def lease(self) -> timedelta:
        """The time in which an external session must answer."""
        return timedelta(seconds=self.lease_seconds)


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[chat]`: defaults for the model, file access and budget of model sessions."""

    default_model: str = ""
    """Model as `NAME:ID`, for agents without a model, and for sessions without an agent."""
    fs_scope: FsScopeTier = FsScopeTier.SANDBOXED
    allowed_commands: tuple[str, ...] = ()
    """Commands that `run_command` may run: words, of which a final `*` matches any others."""
    max_messages: Annotated[int, Meta(ge=0)] = 0
    """Number of a conversation's newest messages that a model sees; 0 means all."""
    max_cost_microcents: Annotated[int, Meta(ge=0)] | None = None
    """Budget of a session. One microcent is 1e-8 dollar; without it there is no limit."""
    on_exceed: OnExceed = OnExceed.STOP


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a host. The paths of its files are in `serai.config.paths`."""

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    """Address to listen on. Beyond loopback a token is always required."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 7777
    """Port to listen on; 0 takes a free one."""
    allowed_hosts: tuple[str, ...] = ()
    """Additional host names that clients may use, such as those of a tunnel or a network."""
    allowed_origins: tuple[str, ...] = ()
    """Origins of other web pages that may connect, such as `http://localhost:3000`."""
    require_token: bool = True
    """True when clients must show a token. It can be switched off on loopback only."""
    max_frame_bytes: Count = 16 * _MIB
    """Largest frame, in bytes. A larger one closes its connection."""
    slow_reader_bytes: Count = 8 * _MIB
    """Most unread bytes of a client. With more, its connection is closed."""
    requests_per_connection: Count = 64
    """Most concurrent requests of one client."""

    default_agent: Annotated[str, Meta(min_length=1)] = "demo"
    """Agent of a session that names none."""
    agent_registry: str = ""
    """Registry of agents: a file, or its address. Its agents are added to those of Serai."""
    idle_memory_bytes: Count = 64 * _MIB
    """Most state without subscribers that stays in memory, in bytes."""
    client_grace_seconds: Seconds = 30.0
    """Time in which a disconnected client may come back to the tool calls that it runs."""
    client_tool_timeout_seconds: Seconds = 600.0
    """Longest time a client may take to run a tool."""
    mailbox_size: Count = 256
    """Most messages that may wait for one session."""
    retention_days: Count | None = None
    """Days for which actions are kept that no state needs any more; without it, for ever."""

    relay: RelayPolicy = RelayPolicy()
    """Settings of messages between agents, people and programs (`[relay]`)."""
    chat: ChatSettings = ChatSettings()
    """Settings of sessions with models (`[chat]`)."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    use_keyring: bool = True
    """True when the key of the database may be kept in the keyring of the system."""


FROM_PROJECTS = frozenset({"agent_registry", "default_agent"})
"""The settings that a trusted folder's file may set: the agent of its sessions, and the registry of `serai
ask` and `serai agents` there. All others are the host's, and a host has no project."""


def is_loopback(host: str) -> bool:
    """Tell whether an address can be reached from this machine alone. Of names only `localhost` can."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
