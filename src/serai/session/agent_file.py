"""An agent, as its `.agent.yaml` describes it, and what a session may take away from it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated, Any, NamedTuple, TypeAlias

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from serai.errors import Mismatch
from serai.session.yaml import Document

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


# -- reading one -------------------------------------------------------------------------------------------


def _anything(_name: str) -> bool:
    return True


class Known(NamedTuple):
    """Who says whether a name means something. By default whatever is named is taken as it is."""

    tools: Callable[[str], bool] = _anything
    models: Callable[[str], bool] = _anything
    """Of `NAME:ID`."""
    agents: Callable[[str], bool] = _anything
    """Of the slugs of agents that have files of their own."""


Problem: TypeAlias = tuple[tuple[str | int, ...], str]
"""A place in a document, and what is wrong there."""


def read_agent(document: Document, known: Known = Known()) -> AgentFile:  # noqa: B008 - it never changes
    """The agent of a document.

    Raises:
        DocumentInvalid: It does not describe one, or names what is not known.
    """
    agent = document.read(AgentFile)
    for place, what in agent_problems(agent, known):
        raise document.error(what, *place)
    return agent


_MODEL = re.compile(r"[^\s:]+:\S+")


def agent_problems(agent: AgentFile, known: Known) -> Iterator[Problem]:
    """What is wrong with an agent that has the right shape."""
    for number, tool in enumerate(agent.tools or ()):
        if not known.tools(tool):
            yield ("tools", number), f"there is no tool {tool!r}"
    models = [(("model",), agent.model)] if agent.model else []
    models += [(("fallback_chain", n), model) for n, model in enumerate(agent.fallback_chain)]
    for place, model in models:
        if not _MODEL.fullmatch(model):
            yield place, f"{model!r} is no model: write NAME:ID, with a NAME of [models] in serai.toml"
        elif not known.models(model):
            yield place, f"there is no model {model!r} in [models] of serai.toml"


def covers(name: str, tool: str) -> bool:
    """Whether a name in a list of tools stands for a tool. A last `*` stands for anything."""
    return tool.startswith(name[:-1]) if name.endswith("*") else tool == name


def is_allowed(words: Sequence[str], allowlist: Iterable[str]) -> bool:
    """Whether an allowlist names a command: `git log *` allows `git log` with anything behind it.

    The program itself is never left open: the entry `*` allows nothing.
    """
    for entry in map(str.split, allowlist):
        is_open = entry[-1:] == ["*"]
        fixed = entry[:-1] if is_open else entry
        if fixed and fixed == list(words[: len(fixed)] if is_open else words):
            return True
    return False


# -- what a session takes away -----------------------------------------------------------------------------


class Narrowing(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """What a session leaves of its agent. What it does not say stays as it is."""

    tools: tuple[str, ...] | None = None
    allowed_commands: tuple[str, ...] | None = None
    max_turns: Count = 0
    max_tool_turns: Count = 0
    fs_scope_tier: FsScopeTier | None = None


def narrow(agent: AgentFile, wish: Narrowing, is_tool: Callable[[str], bool]) -> AgentFile:
    """The agent with what a session leaves of it.

    Where an agent's file sets no number of turns, a session may set any.

    Args:
        agent: The agent as its file describes it.
        wish: What is to be left.
        is_tool: Whether there is such a tool: an agent whose file names none has all.

    Raises:
        Mismatch: Something would be wider than the agent is; `field` names it.
    """
    tiers = list(FsScopeTier)
    tools = agent.tools if wish.tools is None else wish.tools
    commands = agent.allowed_commands if wish.allowed_commands is None else wish.allowed_commands
    tier = wish.fs_scope_tier or agent.fs_scope
    for tool in wish.tools or ():
        mine = is_tool(tool) if agent.tools is None else any(covers(name, tool) for name in agent.tools)
        if not mine:
            raise _wider("tools", f"the agent does not have the tool {tool!r}")
    for command in wish.allowed_commands or ():
        if not is_allowed(command.split(), agent.allowed_commands):
            raise _wider("allowedCommands", f"the agent may not run {command!r}")
    if tiers.index(tier) > tiers.index(agent.fs_scope):
        raise _wider("fsScopeTier", f"the agent's reach is {agent.fs_scope.value}")
    limits = replace(
        agent.limits,
        max_turns=_fewer("maxTurns", agent.limits.max_turns, wish.max_turns),
        max_tool_turns=_fewer("maxToolTurns", agent.limits.max_tool_turns, wish.max_tool_turns),
    )
    return replace(agent, tools=tools, allowed_commands=commands, fs_scope=tier, limits=limits)


def _fewer(field: str, agents: int, wanted: int) -> int:
    if agents and wanted > agents:
        raise _wider(field, f"the agent has {agents}")
    return wanted or agents


def _wider(field: str, what: str) -> Mismatch:
    return Mismatch(f"a session can only narrow its agent: {what}", field=field)
