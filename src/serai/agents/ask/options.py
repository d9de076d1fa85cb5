"""The options for asking an agent. All of them are optional."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

from serai.acp.process.connection import StartOptions
from serai.acp.servers import read_server
from serai.acp.session import SessionOpening
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


class SessionOptions(SessionOpening, total=False):
    """Options of one session."""

    cwd: Path | str
    """Working directory of the agent; by default that of this program."""
    model: str
    """The model, as the agent calls it."""
    effort: str
    """Effort of the model, in the agent's words."""
    mode: str
    """The mode to begin in, by its id."""
    config: Mapping[str, str | bool]
    """Further options of the agent, by their ids."""
    system_prompt: str
    """Instructions for the whole session."""
    permissions: PermissionPolicy
    """Answers the agent's requests for permission; by default `auto-allow`."""
    permission_timeout: float
    """Seconds for the answer to a request, with the tool filter, before the turn fails; by default, and with
    0, no limit."""
    tools: ToolFilter
    """Filter of the tools that may be used at all."""
    costs: CostTracker
    """Adds up the cost, and enforces a budget."""


class Options(SessionOptions, StartOptions, total=False):
    """Options for the start of an agent, and for its sessions."""

    env: Mapping[str, str]
    """Variables beside those of this program. Those of the catalogue win."""
    env_filter: Callable[[dict[str, str]], Mapping[str, str]]
    """Takes all variables that the agent would have, and returns those that it gets."""
    program: Path | str
    """The agent's program, by name or path, instead of the one that is found. The arguments stay."""
    on_warning: Callable[[str], None]
    """Takes a sentence about something that was left out or could not be done; by default it is logged."""
    record: Path | str
    """A file for a redacted record of the conversation, which is appended; `serai.agents.testing.Replay`
    plays it."""
    retries: Retries | int
    """Number of retries of `ask` when the agent has ended or its model is busy, and of opening a session for
    these reasons or when the agent does not start. By default none, because a failed turn may have changed
    files. An agent that has ended is started anew."""
    recycle_after: int
    """Number of turns after which a session's agent is started anew; by default (0) never."""
    on_renewed: Callable[[Renewed], None]
    """Called when a session's agent was started anew, with what it knows of the conversation."""
    catalogue: Catalogue
    """The known agents; by default those of Serai and of the configuration files."""
    finder: Finder
    """Finds agents; by default on this machine."""
    processes: Processes
    """Starts the agent; by default separate for each agent."""
    load: str
    """Id of an earlier session to open instead of a new one; the agent replays its history."""
    resume: str
    """The same, without its history."""
    fork: str
    """Id of an earlier session; the new one begins as its copy."""


def checked_options(options: Mapping[str, Any]) -> Options:
    """Check the options, and make their lists readable more than once.

    Raises:
        TypeError: An option does not exist, or two exclude each other.
        Mismatch: The permission policy does not exist, or a list is none; `field` names it.
    """
    if unknown := [name for name in options if name not in Options.__annotations__]:
        raise TypeError(f"there is no option {unknown[0]!r}")
    openings = [name for name in OPENINGS if options.get(name) is not None]
    if len(openings) > 1:
        raise TypeError(f"{' and '.join(openings)} cannot be meant at once")
    if "permissions" in options:
        read_policy(options["permissions"])
    lists = {name: options[name] for name in ("mcp_servers", "additional_directories") if name in options}
    for name, given in lists.items():
        if isinstance(given, str | Mapping):  # these are iterable, too
            raise Mismatch("must be a list", field=name)
        lists[name] = tuple(given)
    if "mcp_servers" in lists:
        servers = enumerate(lists["mcp_servers"])
        lists["mcp_servers"] = tuple(read_server(each, f"mcpServers[{number}]") for number, each in servers)
    return cast("Options", {**options, **lists})


def merged(first: Options, second: Options) -> Options:
    """Merge options; the second ones win. Variables and `_meta` are merged, MCP servers by their names.

    Of two tool filters both count: more options never allow more tools.
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
    """Return the options without those that name an earlier session."""
    return cast("Options", {name: value for name, value in options.items() if name not in OPENINGS})


def warn_of(options: Options) -> Callable[[str], None]:
    """Return the function that takes warnings; by default they are logged."""
    return options.get("on_warning") or log_warning


def log_warning(warning: str) -> None:
    """Log a warning."""
    _log.warning("%s", warning)


def meta_of(options: SessionOptions) -> dict[str, Any]:
    """Return the `_meta` of requests: the option, and `traceparent` and `tracestate` of the active span.

    ACP reserves these names. A program that has not imported OpenTelemetry has no span, so it need not be
    installed.
    """
    carrier: dict[str, str] = {}
    if "opentelemetry.trace" in sys.modules:
        from opentelemetry.propagate import inject  # noqa: PLC0415 - it is an extra, and is there by now

        inject(carrier)
    traced = {name: carrier[name] for name in ("traceparent", "tracestate") if name in carrier}
    return {**traced, **options.get("meta", {})}
