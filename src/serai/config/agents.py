"""Agents that a configuration file describes: `[agents.NAME]`, a new one or a change to one that is known."""

from __future__ import annotations

import re
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from serai.config.toml import briefly, is_name, read_entries

_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


class AgentSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a file says about one agent. What it does not say stays as it was, or is unknown.

    Values of `env` may be secrets: they are never part of a message.
    """

    command: Annotated[str, Meta(min_length=1)] | None = None
    """The program: a name that is looked for, or a path that begins with `/` or `~`."""
    args: tuple[str, ...] | None = None
    env: dict[str, str] = {}
    label: Annotated[str, Meta(min_length=1)] | None = None
    description: str | None = None
    aliases: tuple[str, ...] | None = None
    homepage: str | None = None
    install: str | None = None
    """How to install it, for people."""
    login: tuple[str, ...] | None = None
    """The command that signs in."""
    fs: bool | None = None
    """Whether the agent may have files read and written by the host."""
    terminal: bool | None = None
    """Whether the agent may have commands run in terminals of the host."""
    cumulative_tokens: bool | None = None
    """Whether the tokens that the agent tells are those of its session, and not those of a turn."""

    def __repr__(self) -> str:
        told = [name for name in self.__struct_fields__ if getattr(self, name) not in (None, {})]
        return f"AgentSettings({', '.join(told)})"


def read_agents(table: Any, place: str) -> dict[str, AgentSettings]:
    """The agents of a file's `agents` table. See `read_entries`."""
    return read_entries(table, AgentSettings, "agents", place, _problem)


def _problem(entry: AgentSettings) -> str | None:
    for alias in entry.aliases or ():
        if not is_name(alias):
            return f"the alias {briefly(repr(alias))} cannot be a name of an agent"
    for variable in entry.env:
        if not _VARIABLE.fullmatch(variable):
            return f"{briefly(repr(variable))} cannot be a name of a variable"
    if entry.command is not None and "/" in entry.command and not entry.command.startswith(("/", "~/")):
        # Relative to what? The file, the host and the session all have folders of their own.
        return "command must be a name, or a path that begins with / or ~/"
    return None
