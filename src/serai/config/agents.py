"""Agents of a configuration file: `[agents.NAME]` describes a new agent, or changes a known one."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from serai.config.toml import briefly, is_name, read_entries

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of one agent in a file. Absent ones keep their defaults.

    Values of `env` may be secrets: they are never part of a message.
    """

    command: Annotated[str, Meta(min_length=1)] | None = None
    """Program of the agent: a name to look up, or a path that begins with `/` or `~`."""
    args: tuple[str, ...] | None = None
    env: dict[str, str] = {}
    label: Annotated[str, Meta(min_length=1)] | None = None
    description: str | None = None
    aliases: tuple[str, ...] | None = None
    homepage: str | None = None
    install: str | None = None
    """Installation instructions, for people."""
    login: tuple[str, ...] | None = None
    """Command that signs in."""
    fs: bool | None = None
    """True when the host may read and write files for the agent."""
    terminal: bool | None = None
    """True when the host may run commands in terminals for the agent."""
    cumulative_tokens: bool | None = None
    """True when the agent reports the tokens of its session, and not those of a turn."""

    def __repr__(self) -> str:
        given = [name for name in self.__struct_fields__ if getattr(self, name) not in (None, {})]
        return f"AgentSettings({', '.join(given)})"


def read_agents(table: Any, place: str) -> dict[str, AgentSettings]:
    """Read the agents of a file's `agents` table. See `read_entries`."""
    return read_entries(table, AgentSettings, "agents", place, _problem)


def _problem(entry: AgentSettings) -> str | None:
    for alias in entry.aliases or ():
        if not is_name(alias):
            return f"the alias {briefly(repr(alias))} cannot be a name of an agent"
    for variable in entry.env:
        if not _VARIABLE.fullmatch(variable):
            return f"{briefly(repr(variable))} cannot be a name of a variable"
    if entry.command is not None and "/" in entry.command and not entry.command.startswith(("/", "~/")):
        # A relative path would be ambiguous: the file, the host and the session all have their own folders.
        return "command must be a name, or a path that begins with / or ~/"
    return None
