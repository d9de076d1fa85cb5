"""The agents of a configuration: Serai's own, those that its files describe, and those of its registry."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import NamedTuple

from serai.agents.catalogue import Catalogue, built_in, make_catalogue
from serai.agents.registry import Registry, load_registry
from serai.config.load import Configuration
from serai.errors import ConfigInvalid

__all__ = ["Known", "known_agents"]

_AGE = 600.0
"""For how many seconds what was downloaded is taken as still so."""

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
    looks for one agent has it read only where it could say something about that one.

    Args:
        configuration: The configuration.
        warn: Is told, in a sentence, that the registry cannot be had.
        name: The agent that is looked for; `None` for all of them.

    Raises:
        ConfigInvalid: What the files say of their agents is wrong.
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
    if name is not None and (found := without.resolve(name)) is not None:
        entry = own.get(found)
        if built_in().resolve(found) is not None or (entry is not None and entry.is_whole):
            return Known(without, Registry())
    try:
        registry = await _load(place)
    except ConfigInvalid as error:
        warn(f"{error.message}. Its agents are missing")
        return Known(without, Registry())
    return Known(make_catalogue(settings, registry.definitions), registry)


async def _load(place: str) -> Registry:
    if "://" not in place:
        return await load_registry(place)
    at, registry = _downloaded.get(place, (0.0, None))
    if registry is None or time.monotonic() - at > _AGE:
        registry = await load_registry(place)
        _downloaded[place] = (time.monotonic(), registry)
    return registry
