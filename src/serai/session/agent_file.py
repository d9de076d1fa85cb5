"""An agent, as its `.agent.yaml` describes it, and what a session may take away from it."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec import Meta

__all__ = ["AgentBudget", "AgentFile", "AgentLimits", "FsScopeTier", "OnExceed"]

Slug: TypeAlias = Annotated[str, Meta(pattern=r"^[a-z0-9]+(-[a-z0-9]+)*$", max_length=64)]
Count: TypeAlias = Annotated[int, Meta(ge=0)]


class FsScopeTier(StrEnum):
    """How much of the file system the tools reach, the narrowest first."""

    SANDBOXED = "sandboxed"
    """What is below the working directory."""
    PROJECT = "project"
    """What is below its git root."""
    FULL = "full"
    """All that the person can reach."""


class OnExceed(StrEnum):
    """What happens when a request would cost more than is left."""

    STOP = "stop"
    ASK = "ask"


class AgentLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """How far a session may go. 0 stands for the default."""

    max_turns: Count = 0
    max_tool_turns: Count = 0
    max_tokens: Count = 0
    max_seconds: Count = 0


class AgentBudget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """What a session may cost. One microcent is 1e-8 dollar."""

    max_cost_microcents: Count
    on_exceed: OnExceed = OnExceed.STOP


class AgentFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An agent. What is absent comes from `[chat]`, or is the default."""

    slug: Slug
    name: str = ""
    description: str = ""
    model: str = ""
    """`NAME:ID`, as `serai.toml` names them."""
    fallback_chain: tuple[str, ...] = ()
    """The models that are asked instead, in order."""
    system_prompt: str = ""
    tools: tuple[str, ...] | None = None
    """The tools that it has; absent, all that are built in."""
    allowed_commands: tuple[str, ...] = ()
    """What `run_command` runs: words, of which a last `*` stands for any more."""
    fs_scope: FsScopeTier = FsScopeTier.SANDBOXED
    allowed_hosts: tuple[str, ...] = ()
    """Private `host:port`s that `http_request` and MCP may reach all the same."""
    mcp_servers: dict[str, dict[str, Any]] = {}
    """By name: `command`, `args` and `env`, or `url` and `headers`."""
    variables: dict[str, str] = {}
    limits: AgentLimits = AgentLimits()
    budget: AgentBudget | None = None
