"""Every setting, and its default."""

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
"""At most 31 years: what has no end is no number of JSON."""

_MIB = 1024 * 1024


class Inbound(StrEnum):
    """What becomes of messages from a kind of sender."""

    ACCEPT = "accept"
    HOLD = "hold"
    """They wait until a person flushes or cancels them."""
    REFUSE = "refuse"


class RelayPolicy(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[relay]`: who may interrupt whom, what is held, and how long things are tried."""

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


class ChatSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """`[chat]`: the model, the reach and the budget of model sessions whose agent names none."""

    default_model: str = ""
    """`NAME:ID`, for agents without a model, and for sessions without an agent."""
    fs_scope: FsScopeTier = FsScopeTier.SANDBOXED
    allowed_commands: tuple[str, ...] = ()
    """What `run_command` runs: words, of which a last `*` stands for any more."""
    max_messages: Annotated[int, Meta(ge=0)] = 0
    """How many messages of a conversation a model sees, the newest; 0 stands for all."""
    max_cost_microcents: Annotated[int, Meta(ge=0)] | None = None
    """What a session may cost. One microcent is 1e-8 dollar; without it there is no bound."""
    on_exceed: OnExceed = OnExceed.STOP


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """How a host is set up. Where the files are is not among it: see `serai.config.paths`."""

    host: Annotated[str, Meta(min_length=1)] = "127.0.0.1"
    """The address to listen on. Beyond loopback a token is always required."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 7777
    """0 takes a free one."""
    allowed_hosts: tuple[str, ...] = ()
    """More names by which clients may call this host: those of a tunnel, or of a network."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages of others that may connect, as `http://localhost:3000`."""
    require_token: bool = True
    """Whether clients show a token. It can be switched off on loopback only."""
    max_frame_bytes: Count = 16 * _MIB
    """A longer frame closes its connection."""
    slow_reader_bytes: Count = 8 * _MIB
    """How far a client may lag behind before its connection is closed."""
    requests_per_connection: Count = 64
    """How many requests of one client may be under way."""

    default_agent: Annotated[str, Meta(min_length=1)] = "demo"
    """The agent of a session that names none."""
    agent_registry: str = ""
    """A registry of agents: a file, or the address of one. Its agents are known besides those of Serai."""
    idle_memory_bytes: Count = 64 * _MIB
    """How much state that nobody watches stays in memory."""
    client_grace_seconds: Seconds = 30.0
    """How long a client that is gone may take to come back to the tool calls that it runs."""
    client_tool_timeout_seconds: Seconds = 600.0
    """How long a client may take to run a tool."""
    mailbox_size: Count = 256
    """How many messages may wait for one session."""
    retention_days: Count | None = None
    """How long actions stay that no state needs any more; without it, for ever."""

    relay: RelayPolicy = RelayPolicy()
    """Messages between agents, people and programs (`[relay]`)."""
    chat: ChatSettings = ChatSettings()
    """Sessions with models (`[chat]`)."""

    log_level: Literal["debug", "info", "warning", "error"] = "info"
    use_keyring: bool = True
    """Whether the key of the database may be kept in the keyring of the system."""


FROM_PROJECTS = frozenset({"agent_registry", "default_agent"})
"""What is taken from the file of a trusted folder: the agent of its sessions, and the registry of `serai ask`
and `serai agents` there. All else is the host's, and a host has no project."""


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone. Of names only `localhost` is."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
