"""Agents that a configuration file describes: `[agents.NAME]`, a new one or a change to one that is known."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from serai.config.toml import briefly
from serai.errors import ConfigInvalid

_NAME = re.compile(r"[a-z0-9](?:[a-z0-9_-]{0,62}[a-z0-9])?")
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


def is_agent_name(name: str) -> bool:
    """Whether an agent can be called so: small letters, digits, and `-` or `_` between them."""
    return _NAME.fullmatch(name) is not None


def read_agents(table: Any, place: str) -> dict[str, AgentSettings]:
    """The agents of a file's `agents` table, by name.

    Args:
        table: The table as it was read.
        place: The file, for messages.

    Raises:
        ConfigInvalid: It is no table, or an entry is wrong. The message names the entry, and no value.
    """
    if not isinstance(table, dict):
        raise ConfigInvalid(f"{place}: agents must be a table: [agents.NAME]")
    entries = cast("Mapping[str, Any]", table)
    return {name: _entry(name, value, f"{place}: agents.{briefly(name)}") for name, value in entries.items()}


def _entry(name: str, value: Any, place: str) -> AgentSettings:
    if not is_agent_name(name):
        raise ConfigInvalid(f"{place}: an agent's name has small letters, digits, - and _ only")
    try:
        entry = msgspec.convert(value, AgentSettings)
    except msgspec.ValidationError as error:
        problem = briefly(str(error))
        raise ConfigInvalid(f"{place}: {problem[:1].lower()}{problem[1:]}") from None
    for alias in entry.aliases or ():
        if not is_agent_name(alias):
            raise ConfigInvalid(f"{place}: the alias {briefly(repr(alias))} cannot be a name of an agent")
    for variable in entry.env:
        if not _VARIABLE.fullmatch(variable):
            raise ConfigInvalid(f"{place}: {briefly(repr(variable))} cannot be a name of a variable")
    if entry.command is not None and "/" in entry.command and not entry.command.startswith(("/", "~/")):
        # Relative to what? The file, the host and the session all have folders of their own.
        raise ConfigInvalid(f"{place}: command must be a name, or a path that begins with / or ~/")
    return entry
