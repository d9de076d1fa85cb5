"""Every setting, its default, and what a folder that nobody trusts may do to it."""

from __future__ import annotations

import ipaddress
from enum import StrEnum
from typing import Annotated, Any, Literal, TypeAlias

import msgspec
from msgspec import Meta

from serai.config.relay import RelayPolicy
from serai.session.agent_file import FsScopeTier, OnExceed

Count: TypeAlias = Annotated[int, Meta(ge=1)]
Seconds: TypeAlias = Annotated[float, Meta(ge=0, le=1e9)]
"""At most 31 years: what has no end is no number of JSON."""

_MIB = 1024 * 1024


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


FROM_PROJECTS = frozenset(
    {
        "client_grace_seconds",
        "client_tool_timeout_seconds",
        "default_agent",
        "mailbox_size",
    }
)
"""What is taken from a project's file, for the sessions in its folder. All else is the host's, and a host
has no project."""


class Narrowing(StrEnum):
    """What a project's file may do to a setting while its folder is not trusted."""

    NOTHING = "nothing"
    SMALLER = "make it smaller"
    SUBSET = "leave some out"
    ON = "switch it on"
    ANYTHING = "anything"


UNTRUSTED: dict[str, Narrowing] = {
    "host": Narrowing.NOTHING,
    "port": Narrowing.NOTHING,
    "allowed_hosts": Narrowing.SUBSET,
    "allowed_origins": Narrowing.SUBSET,
    "require_token": Narrowing.ON,
    "max_frame_bytes": Narrowing.SMALLER,
    "slow_reader_bytes": Narrowing.SMALLER,
    "requests_per_connection": Narrowing.SMALLER,
    "default_agent": Narrowing.NOTHING,
    "idle_memory_bytes": Narrowing.SMALLER,
    "client_grace_seconds": Narrowing.SMALLER,
    "client_tool_timeout_seconds": Narrowing.SMALLER,
    "mailbox_size": Narrowing.SMALLER,
    "retention_days": Narrowing.NOTHING,
    "relay": Narrowing.NOTHING,
    "chat": Narrowing.NOTHING,
    "log_level": Narrowing.ANYTHING,
    "use_keyring": Narrowing.NOTHING,
}


def narrows(rule: Narrowing, before: Any, after: Any) -> bool:
    """Whether a change from one value to another is one that the rule allows."""
    match rule:
        case Narrowing.NOTHING:
            return before == after
        case Narrowing.SMALLER:
            return after <= before
        case Narrowing.SUBSET:
            return set(after) <= set(before)
        case Narrowing.ON:
            return after or not before
        case Narrowing.ANYTHING:
            return True


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine alone. Of names only `localhost` is."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
