"""What can be said when an agent is asked something. All of it is optional."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict, cast

from serai.acp import ClientSide, McpServer, read_server
from serai.agents.catalogue import Catalogue
from serai.agents.costs import CostTracker
from serai.agents.filters import ToolFilter
from serai.agents.finding import Finder
from serai.agents.policies import PermissionPolicy, read_policy
from serai.agents.retrying import Renewed, Retries
from serai.errors import Mismatch
from serai.processes.processes import Processes

__all__ = ["OPENINGS", "Options", "SessionOptions", "checked_options", "log_warning", "merged"]

_log = logging.getLogger("serai.agents")

OPENINGS = ("load", "resume", "fork")
"""The options that name an earlier session."""
_SEVERAL = ("mcp_servers", "additional_directories")


class SessionOptions(TypedDict, total=False):
    """What is said for one session."""

    cwd: Path | str
    """Where the agent works; by default where this program does."""
    model: str
    """The model, as the agent calls it."""
    effort: str
    """How much it thinks, in the agent's words."""
    mode: str
    """The mode to begin in, by its id."""
    config: Mapping[str, str | bool]
    """Further options of the agent, by their ids."""
    system_prompt: str
    """What holds for the whole session."""
    mcp_servers: Iterable[McpServer | Mapping[str, Any]]
    """MCP servers that the agent can use."""
    additional_directories: Iterable[Path | str]
    """Folders beside `cwd`. An agent that does not know of such works without them, with one warning."""
    meta: Mapping[str, Any]
    """The `_meta` of the request that opens the session, and of its prompts. `traceparent` of a span that is
    active goes along by itself."""
    permissions: PermissionPolicy
    """Who answers when the agent asks for permission; by default `auto-allow`."""
    permission_timeout: float
    """How long someone may take to answer, the tool filter included, in seconds, before the turn fails; by
    default, and with 0, for ever."""
    tools: ToolFilter
    """Which tools may be used at all."""
    costs: CostTracker
    """Adds up what is spent, and holds a budget."""


class Options(SessionOptions, total=False):
    """What is said when an agent is started."""

    env: Mapping[str, str]
    """Variables beside those of this program. Those of the catalogue win."""
    env_filter: Callable[[dict[str, str]], Mapping[str, str]]
    """Is given all variables that the agent would have, and returns those that it gets."""
    program: Path | str
    """The agent's program, by name or path, instead of the one that would be found. The arguments stay."""
    client: ClientSide
    """Who serves files, terminals and questions of the agent. It is told exactly what that one has."""
    on_warning: Callable[[str], None]
    """Is told, in a sentence, what was left out or could not be done; by default that is logged."""
    on_stderr: Callable[[str], None]
    """Is told every line of the agent's log, redacted."""
    record: Path | str
    """A file to which the conversation with the agent is written, redacted; `serai.agents.testing.Replay`
    plays it. What it holds already stays."""
    retries: Retries | int
    """How often `ask` is tried again when the agent has ended or its model is busy, and how often a session
    is opened again for these reasons, or when the agent does not start; by default never, since a turn that
    failed may have changed files. An agent that has ended is started anew."""
    recycle_after: int
    """After so many turns a session's agent is started anew; by default (0) never."""
    on_renewed: Callable[[Renewed], None]
    """Is told when a session's agent was started anew, and what it knows of what was said before."""
    mask: Callable[[str], str]
    """Takes secrets out of the agent's log and its errors."""
    start_timeout: float
    """How long it may take to start, in seconds (30); 0 for ever."""
    inactivity_timeout: float
    """How long it may do nothing in a turn (180). While someone is asked, time does not count. 0 for ever."""
    cancel_timeout: float
    """How long it may take to stop (30), before it is ended."""
    catalogue: Catalogue
    """The agents that there are; by default those of Serai and of the configuration files."""
    finder: Finder
    """Finds them; by default on this machine."""
    processes: Processes
    """Where the agent is started; by default a place of its own."""
    load: str
    """An earlier session to open instead of a new one, by its id; its history is told again."""
    resume: str
    """The same, without its history."""
    fork: str
    """An earlier session that the new one begins as a copy of."""


def checked_options(options: Mapping[str, Any]) -> Options:
    """The options, if there are such.

    Raises:
        TypeError: There is none of that name, or two that exclude each other.
        Mismatch: The permission policy is none, its time is less than nothing, or a variable is no text.
    """
    for name in options:
        if name not in Options.__annotations__:
            raise TypeError(f"there is no option {name!r}")
    openings = [name for name in OPENINGS if options.get(name) is not None]
    if len(openings) > 1:
        raise TypeError(f"{' and '.join(openings)} cannot be meant at once")
    if "permissions" in options:
        read_policy(options["permissions"])
    if not (options.get("permission_timeout") or 0) >= 0:  # nor is NaN
        raise Mismatch("must not be less than 0", field="permission_timeout")
    if "env" in options and not _are_variables(options["env"]):
        raise Mismatch("must be variables with their values, all of them texts", field="env")
    # They are looked at more than once, and by more than one agent.
    lasting = {name: tuple(options[name]) for name in _SEVERAL if name in options}
    return cast("Options", {**options, **lasting})


def merged(first: Options, second: Options) -> Options:
    """Both; what the second says counts. Variables and `_meta` are joined, MCP servers by their names.

    Of two tool filters both count: to say more never allows more.
    """
    second = checked_options(second)
    both: dict[str, Any] = {**first, **second}
    for name in ("env", "meta", "config"):
        if (one := first.get(name)) is not None and (other := second.get(name)) is not None:
            both[name] = {**one, **other}
    if "mcp_servers" in first and "mcp_servers" in second:
        servers = [read_server(server) for server in (*first["mcp_servers"], *second["mcp_servers"])]
        both["mcp_servers"] = tuple({server.name: server for server in servers}.values())
    if "tools" in first and "tools" in second:
        both["tools"] = first["tools"] & second["tools"]
    return checked_options(both)


def _are_variables(told: object) -> bool:
    return isinstance(told, Mapping) and all(
        isinstance(name, str) and isinstance(value, str)
        for name, value in cast("Mapping[object, object]", told).items()
    )


def log_warning(warning: str) -> None:
    """Where warnings go that nobody else hears."""
    _log.warning("%s", warning)
