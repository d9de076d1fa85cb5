"""The agents of a configuration: Serai's own, those that its files describe, and those of its registry."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple

from serai.agents.catalogue import Catalogue, built_in, make_catalogue
from serai.agents.registry import SECONDS, Registry, load_registry
from serai.config.agents import AgentSettings
from serai.config.load import Configuration
from serai.errors import AgentUnknown, ConfigInvalid

__all__ = ["Known", "known_agents"]

_AGE = 600.0
"""For how many seconds what was downloaded is taken as still so."""
_BRIEFLY = 2.0
"""How long a registry is waited for that may have arguments for an agent, in seconds: mostly it has none."""
_UNHEARD = 5.0
"""The same for a name that nobody else knows: it may have the agent, or someone has mistyped the name."""

_downloaded: dict[str, tuple[float, Registry]] = {}


class Known(NamedTuple):
    """The agents, and what came of the registry; nothing, where it was not needed."""

    catalogue: Catalogue
    registry: Registry


async def known_agents(
    configuration: Configuration, warn: Callable[[str], None], *, name: str | None = None
) -> Known:
    """The agents that a configuration knows. Cancelling it stops the waiting for the registry.

    A registry that cannot be had is told, and its agents are missing: nothing else fails for it. Whoever
    looks for one agent has it read only where it could say something about that one, and waits briefly where
    that one has a command and only its arguments could be there, or where nothing else knows the name.

    Args:
        configuration: The configuration.
        warn: Is told, in a sentence, that the registry cannot be had.
        name: The agent that is looked for; `None` for all of them.

    Raises:
        ConfigInvalid: What the files say of their agents is wrong.
        AgentUnknown: The agent that is looked for has no command, and the registry cannot be had.
    """
    settings, place = configuration.agents, configuration.settings.agent_registry
    if not place:
        return Known(make_catalogue(settings), Registry())
    # An entry without a command says something about an agent of the registry.
    own = {
        each: entry
        for each, entry in settings.items()
        if entry.command is not None or built_in().resolve(each) is not None
    }
    without = make_catalogue(own)
    found = without.resolve(name) if name is not None else None
    if found is not None and (built_in().resolve(found) is not None or own[found].is_whole):
        return Known(without, Registry())
    lacking = {each: entry for each, entry in settings.items() if each not in own}
    it = _named(name, lacking) if name is not None else None
    is_meant = name is None or it is not None  # and not perhaps mistyped
    try:
        registry = await _load(place, _BRIEFLY if found else SECONDS if is_meant else _UNHEARD)
    except ConfigInvalid as error:
        warn(f"{error.message}. {_missing(found, lacking)}")
        if it is not None:
            raise AgentUnknown(
                f"there is no agent {name!r} now: [agents.{it}] has no command, and {error.message}",
                remedy="See that the registry can be had, or say how the agent is started: "
                f"command = ... under [agents.{it}]",
            ) from None
        return Known(without, Registry())
    return Known(make_catalogue(settings, registry.definitions), registry)


def _missing(found: str | None, lacking: Mapping[str, AgentSettings]) -> str:
    """What is not known without the registry: of the agent that was found all the same, or else at all."""
    if found is not None:
        return (
            f"What it says of {found} is missing; with args = [...] under [agents.{found}], "
            "or args = [] for none, it is not asked"
        )
    if not lacking:
        return "Its agents are missing"
    entries = ", ".join(f"[agents.{each}]" for each in lacking)
    return f"Its agents are missing, and with them what has no command of its own: {entries}"


def _named(name: str, entries: Mapping[str, AgentSettings]) -> str | None:
    """The entry that a name or an alias stands for."""
    plain = name.strip().lower()
    return next((each for each, entry in entries.items() if plain in (each, *(entry.aliases or ()))), None)


async def _load(place: str, seconds: float) -> Registry:
    if "://" not in place:
        return await load_registry(place)
    at, registry = _downloaded.get(place, (0.0, None))
    if registry is None or time.monotonic() - at > _AGE:
        registry = await load_registry(place, seconds=seconds)
        _downloaded[place] = (time.monotonic(), registry)
    return registry
