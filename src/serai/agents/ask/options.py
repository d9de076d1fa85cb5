"""What can be said when an agent is asked something. All of it is optional."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict, cast

from serai.acp.client_side import ClientSide
from serai.acp.servers import McpServer, read_server
from serai.agents.ask.costs import CostTracker
from serai.agents.ask.permissions import PermissionPolicy, ToolFilter, read_policy
from serai.agents.ask.retries import Renewed, Retries
from serai.agents.catalogue.agents import Catalogue
from serai.agents.catalogue.finder import Finder
from serai.errors import Mismatch
from serai.machine.processes.processes import Processes

__all__ = ["Options", "SessionOptions"]

_log = logging.getLogger("serai.agents")

OPENINGS = ("load", "resume", "fork")
"""The options that name an earlier session."""


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
    """The options, with lists that can be read more than once.

    Raises:
        TypeError: There is none of that name, or two that exclude each other.
        Mismatch: There is no such permission policy, or a list is none; `field` names it.
    """
    if unknown := [name for name in options if name not in Options.__annotations__]:
        raise TypeError(f"there is no option {unknown[0]!r}")
    openings = [name for name in OPENINGS if options.get(name) is not None]
    if len(openings) > 1:
        raise TypeError(f"{' and '.join(openings)} cannot be meant at once")
    if "permissions" in options:
        read_policy(options["permissions"])
    lists = {name: options[name] for name in ("mcp_servers", "additional_directories") if name in options}
    for name, told in lists.items():
        if isinstance(told, str | Mapping):  # these, too, could be looked at one by one
            raise Mismatch("must be a list", field=name)
        lists[name] = tuple(told)
    if "mcp_servers" in lists:
        servers = enumerate(lists["mcp_servers"])
        lists["mcp_servers"] = tuple(read_server(each, f"mcpServers[{number}]") for number, each in servers)
    return cast("Options", {**options, **lists})


def merged(first: Options, second: Options) -> Options:
    """Both; what the second says counts. Variables and `_meta` are joined, MCP servers by their names.

    Of two tool filters both count: to say more never allows more.
    """
    second = checked_options(second)
    both: dict[str, Any] = {**first, **second}
    for name in ("env", "config", "meta"):
        if (one := first.get(name)) is not None and (other := second.get(name)) is not None:
            both[name] = {**cast("dict[str, Any]", one), **cast("dict[str, Any]", other)}
    if "mcp_servers" in first and "mcp_servers" in second:
        servers = [read_server(server) for server in (*first["mcp_servers"], *second["mcp_servers"])]
        both["mcp_servers"] = tuple({server.name: server for server in servers}.values())
    if (filter_ := first.get("tools")) is not None:
        other = second.get("tools")
        both["tools"] = filter_ if other is None else filter_ & other
    return checked_options(both)


def without_openings(options: Options) -> Options:
    """The options without those that name an earlier session."""
    return cast("Options", {name: value for name, value in options.items() if name not in OPENINGS})


def warn_of(options: Options) -> Callable[[str], None]:
    """Who hears warnings; by default they are logged."""
    return options.get("on_warning") or log_warning


def log_warning(warning: str) -> None:
    """Logs a warning that nobody else hears."""
    _log.warning("%s", warning)


def meta_of(options: SessionOptions) -> dict[str, Any]:
    """The `_meta` of requests: what was said, and `traceparent` and `tracestate` of the span that is active.

    ACP keeps these names free. A program that has not imported OpenTelemetry has no span, so it need not be
    installed.
    """
    carrier: dict[str, str] = {}
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry.propagate import inject  # noqa: PLC0415 - it is an extra, and is there by now

        inject(carrier)
    traced = {name: carrier[name] for name in ("traceparent", "tracestate") if name in carrier}
    return {**traced, **options.get("meta", {})}
