"""The known agents: Serai's own list, those of the configuration files, and those of a registry."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec

from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.registry import Registry, load_registry
from serai.config.agents import AgentSettings
from serai.config.load import Configuration
from serai.errors import AgentUnknown, ConfigInvalid

_NEAR = 0.7
"""Least similarity of a misspelt name, of 1. A wrong letter in a name of four leaves 0.75."""
_SIMPLE = (
    *("label", "description", "aliases", "homepage", "install", "login"),
    *("fs", "terminal", "cumulative_tokens"),
)
"""Keys that a configuration file and a definition share."""


class Catalogue:
    """An immutable list of agents, found by id or alias.

    Raises:
        ConfigInvalid: Two agents have a name in common.
    """

    def __init__(self, definitions: Iterable[AgentDefinition]) -> None:
        self._definitions = {definition.id: definition for definition in definitions}
        self._ids: dict[str, str] = {}
        for definition in self._definitions.values():
            for name in definition.names:
                other = self._ids.setdefault(name, definition.id)
                if other != definition.id:
                    raise ConfigInvalid(
                        f"two agents are called {name!r}: {other} and {definition.id}",
                        remedy="Take the name out of the aliases of one of them",
                    )

    def __iter__(self) -> Iterator[AgentDefinition]:
        return iter(self._definitions.values())

    def __len__(self) -> int:
        return len(self._definitions)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of all agents."""
        return tuple(self._definitions)

    def resolve(self, name: str) -> str | None:
        """Return the id for an id or an alias; `None` for an unknown agent."""
        return self._ids.get(name) or self._ids.get(name.strip().lower())

    def definition_for(self, name: str) -> AgentDefinition:
        """Return the agent with an id or an alias.

        Raises:
            AgentUnknown: There is none. The error lists the known ones.
        """
        found = self.resolve(name)
        if found is None:
            raise self.unknown(name)
        return self._definitions[found]

    def unknown(self, name: str, also: Iterable[str] = ()) -> AgentUnknown:
        """Return the error for an unknown name. It lists this catalogue's agents, and those in `also`."""
        others = tuple(also)
        near = get_close_matches(name.strip().lower(), [*others, *self._ids], n=1, cutoff=_NEAR)
        hint = f"Did you mean {near[0]}? " if near else ""
        there = ", ".join(dict.fromkeys([*others, *self._definitions]))
        return AgentUnknown(f"there is no agent {name!r}", remedy=f"{hint}There are: {there}")

    def adding(self, *definitions: AgentDefinition) -> Catalogue:
        """Return this list with more agents. An agent with a known id replaces the earlier one.

        Raises:
            ConfigInvalid: Two agents have a name in common.
        """
        return Catalogue((self._definitions | {one.id: one for one in definitions}).values())


@cache
def built_in() -> Catalogue:
    """Return Serai's own list."""
    table = tomllib.loads((files("serai.agents.catalogue") / "agents.toml").read_text(encoding="utf-8"))
    return Catalogue(msgspec.convert({"id": name, **entry}, AgentDefinition) for name, entry in table.items())


def make_catalogue(
    settings: Mapping[str, AgentSettings] | None = None, registry: Iterable[AgentDefinition] = ()
) -> Catalogue:
    """Return all known agents.

    A registry adds agents, but does not change those that Serai knows, by a name or by their package, or that
    the configuration describes with a command. The configuration comes last: it changes and adds agents.

    Raises:
        ConfigInvalid: The configuration describes a new agent without a command, or names clash.
    """
    own, settings = built_in(), settings or {}
    described = {name for name, entry in settings.items() if entry.command is not None}
    packages = {way.package for one in own for way in one.ways if way.package}
    new = [
        one
        for one in registry
        if not any(own.resolve(name) or name in described for name in one.names)
        and not any(way.package in packages for way in one.ways)
    ]
    catalogue = own.adding(*new)
    for name, entry in settings.items():
        is_known = catalogue.resolve(name) is not None
        before = catalogue.definition_for(name) if is_known else _new(name, entry)
        catalogue = catalogue.adding(_changed(before, entry))
    return catalogue


def _new(name: str, entry: AgentSettings) -> AgentDefinition:
    if entry.command is None:
        raise ConfigInvalid(
            f"the agent {name} has no command",
            remedy=f"Say how it is started: command = ... under [agents.{name}]",
        )
    return AgentDefinition(id=name, label=name, ways=(Way(program=entry.command),))


def _changed(definition: AgentDefinition, entry: AgentSettings) -> AgentDefinition:
    """Apply the configuration to a definition. A command of its own keeps the arguments."""
    changes: dict[str, Any] = {name: value for name in _SIMPLE if (value := getattr(entry, name)) is not None}
    ways = definition.started_by(entry.command).ways if entry.command is not None else definition.ways
    if entry.args is not None:
        ways = tuple(msgspec.structs.replace(way, args=entry.args) for way in ways if way.is_acp) or ways
    changes["ways"] = ways
    if entry.command is not None and entry.args:
        changes["version_args"] = ()  # it may be `python agent.py`: the version would be that of python
    changes["env"] = {**definition.env, **entry.env}
    return msgspec.structs.replace(definition, **changes)


_downloaded: dict[str, Registry] = {}
"""Registries that this program has downloaded, by their addresses."""


class KnownAgents(NamedTuple):
    """The catalogue, and the registry; an empty one if it was not needed."""

    catalogue: Catalogue
    registry: Registry


async def known_agents(
    configuration: Configuration, warn: Callable[[str], None], *, name: str | None = None
) -> KnownAgents:
    """Return the agents of a configuration. Cancelling it stops the waiting for the registry.

    A registry that cannot be loaded gives a warning, and its agents are missing. When only the agent `name`
    is needed, the registry is loaded only if nothing else has it.

    Raises:
        ConfigInvalid: The agents in the configuration files are wrong.
    """
    settings, place = configuration.agents, configuration.settings.agent_registry
    if not place:
        return KnownAgents(make_catalogue(settings), Registry())
    own = {
        each: entry
        for each, entry in settings.items()
        if entry.command is not None or built_in().resolve(each) is not None
    }
    without = make_catalogue(own)
    if name is not None and without.resolve(name) is not None:
        return KnownAgents(without, Registry())
    try:
        registry = _downloaded.get(place) or await load_registry(place)
    except ConfigInvalid as error:
        missing = "".join(f", and so is [agents.{each}]" for each in settings if each not in own)
        warn(f"{error.message}. Its agents are missing{missing}")
        return KnownAgents(without, Registry())
    if "://" in place:
        _downloaded[place] = registry
    return KnownAgents(make_catalogue(settings, registry.definitions), registry)
