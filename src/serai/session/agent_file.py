"""An agent, as its `.agent.yaml` describes it, and the restrictions that a session may put on it."""

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
    """The part of the file system that the tools reach, the narrowest first."""

    SANDBOXED = "sandboxed"
    """All below the working directory."""
    PROJECT = "project"
    """All below the git root of the working directory."""
    FULL = "full"
    """All that the person can reach."""


class OnExceed(StrEnum):
    """The reaction to a request that would cost more than is left."""

    STOP = "stop"
    ASK = "ask"


class AgentLimits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Limits of a session. 0 stands for the default."""

    max_turns: Count = 0
    max_tool_turns: Count = 0
    max_tokens: Count = 0
    max_seconds: Count = 0


class AgentBudget(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """The budget of a session. One microcent is 1e-8 dollar."""

    max_cost_microcents: Count
    on_exceed: OnExceed = OnExceed.STOP


class AgentFile(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """An agent. Absent fields come from `[chat]`, or have their defaults."""

    slug: Slug
    name: str = ""
    description: str = ""
    model: str = ""
    """The model, `NAME:ID`, as `serai.toml` names it."""
    fallback_chain: tuple[str, ...] = ()
    """The models that are asked instead when one fails, in order."""
    system_prompt: str = ""
    tools: tuple[str, ...] | None = None
    """The names of its tools; absent, all built-in tools."""
    allowed_commands: tuple[str, ...] = ()
    """The commands that `run_command` runs: words, of which a last `*` stands for any more."""
    fs_scope: FsScopeTier = FsScopeTier.SANDBOXED
    allowed_hosts: tuple[str, ...] = ()
    """Private `host:port`s that `http_request` and MCP may reach nevertheless."""
    mcp_servers: dict[str, dict[str, Any]] = {}
    """MCP servers by name: `command`, `args` and `env`, or `url` and `headers`."""
    variables: dict[str, str] = {}
    limits: AgentLimits = AgentLimits()
    budget: AgentBudget | None = None


# -- reading an agent --------------------------------------------------------------------------------------


def _anything(_name: str) -> bool:
    return True


class Known(NamedTuple):
    """Functions that tell whether a name is known. By default every name is accepted."""

    tools: Callable[[str], bool] = _anything
    models: Callable[[str], bool] = _anything
    """For models, `NAME:ID`."""
    agents: Callable[[str], bool] = _anything
    """For the slugs of agents that have files of their own."""


Problem: TypeAlias = tuple[tuple[str | int, ...], str]
"""A place in a document, and the problem there."""


def read_agent(document: Document, known: Known = Known()) -> AgentFile:  # noqa: B008 - it never changes
    """Return the agent of a document.

    Raises:
        DocumentInvalid: It does not describe one, or names what is not known.
    """
    agent = document.read(AgentFile)
    for place, what in agent_problems(agent, known):
        raise document.error(what, *place)
    return agent


_MODEL = re.compile(r"[^\s:]+:\S+")


def agent_problems(agent: AgentFile, known: Known) -> Iterator[Problem]:
    """Yield the problems of an agent that has the right shape."""
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
    """Tell whether a name in a list of tools stands for a tool. A last `*` stands for anything."""
    return tool.startswith(name[:-1]) if name.endswith("*") else tool == name


def is_allowed(words: Sequence[str], allowlist: Iterable[str]) -> bool:
    """Tell whether an allowlist names a command: `git log *` allows `git log` with any arguments.

    The program itself is never left open: the entry `*` allows nothing.
    """
    for entry in map(str.split, allowlist):
        is_open = entry[-1:] == ["*"]
        fixed = entry[:-1] if is_open else entry
        if fixed and fixed == list(words[: len(fixed)] if is_open else words):
            return True
    return False


# -- restrictions of a session -----------------------------------------------------------------------------


class Narrowing(msgspec.Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """The restrictions that a session puts on its agent. Absent fields restrict nothing."""

    tools: tuple[str, ...] | None = None
    allowed_commands: tuple[str, ...] | None = None
    max_turns: Count = 0
    max_tool_turns: Count = 0
    fs_scope_tier: FsScopeTier | None = None


def narrow(agent: AgentFile, wish: Narrowing, is_tool: Callable[[str], bool]) -> AgentFile:
    """Return the agent, restricted to what a session leaves of it.

    Where an agent's file sets no number of turns, a session may set any.

    Args:
        agent: The agent as its file describes it.
        wish: The restrictions.
        is_tool: Tells whether a tool exists: an agent whose file names none has all.

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
