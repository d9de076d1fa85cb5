"""How an agent of a program is started: which program, where, and what is taken out of its log."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias
from weakref import WeakKeyDictionary

from serai.acp import Launch
from serai.agents.ask.options import Options, warn_of
from serai.agents.catalogue.agents import Catalogue, known_agents
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import Finder, FoundAgent
from serai.agents.catalogue.programs import Surroundings
from serai.config.load import load
from serai.config.paths import find_paths
from serai.config.trust import Trust
from serai.errors import ConfigInvalid
from serai.machine.processes.environment import inheritable
from serai.machine.processes.processes import Processes
from serai.redact import Redactor
from serai.redact.environment import managed_from_environment

__all__ = [
    "Adapter",
    "AgentRef",
    "Workplace",
    "default_catalogue",
    "default_finder",
    "definition_of",
    "find",
    "finder_of",
    "folder_of",
    "mask_of",
    "name_of",
]

_finders: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Path | None, Finder]] = WeakKeyDictionary()


class Adapter(ABC):
    """An agent whose start is worked out by code. Everything in `serai.agents` takes one instead of a name.

    Where a fixed command will do, an `AgentDefinition` is enough.
    """

    id: str
    """What the agent is called."""
    native_system_prompt: bool = False
    """Whether it takes a system prompt of its own (`_meta.systemPrompt.append`)."""

    @abstractmethod
    async def launch(self, options: Options) -> Launch:
        """How it is started: program, arguments, variables.

        Raises:
            AgentNotInstalled: It cannot be started.
        """

    @property
    def processes(self) -> Processes | None:
        """Where it is started; by default a place of its own."""
        return None


AgentRef: TypeAlias = str | AgentDefinition | Adapter
"""An agent: its id or another name of it in the catalogue, a description of it, or an adapter."""


def name_of(agent: AgentRef) -> str:
    """What an agent is called."""
    return agent if isinstance(agent, str) else agent.id


class Workplace:
    """Where one agent is started. Should this program be killed, the agent's keeper ends it."""

    def __init__(self) -> None:
        self._folder = tempfile.mkdtemp(prefix="serai-agents-")
        self.processes = Processes(Path(self._folder))

    async def close(self) -> None:
        """End what runs there, also what is being started, and leave nothing."""
        await self.processes.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


async def find(agent: str | AgentDefinition, options: Options) -> FoundAgent:
    """Where an agent is, and how it is started.

    Raises:
        AgentUnknown: There is none of that name.
        ConfigInvalid: A configuration file is wrong.
    """
    if isinstance(agent, str):
        catalogue = options.get("catalogue")
        if catalogue is None:
            catalogue = await default_catalogue(folder_of(options), warn_of(options), name=agent)
        agent = catalogue.definition_for(agent)
    if (program := options.get("program")) is not None:
        agent = agent.started_by(_program(program))
    return await finder_of(options).find(agent, is_wanted=True)


def _program(program: Path | str) -> str:
    is_path = isinstance(program, Path) or os.sep in program
    return str(Path(program).absolute()) if is_path else str(program)


def finder_of(options: Options) -> Finder:
    """Who finds the agent."""
    return options.get("finder") or default_finder(folder_of(options))


async def default_catalogue(
    cwd: Path | None, warn: Callable[[str], None], *, name: str | None = None
) -> Catalogue:
    """Serai's own agents, and those of the person's and the project's configuration and of its registry.

    Raises:
        ConfigInvalid: A configuration file is wrong.
    """
    environ = os.environ
    configuration = await asyncio.to_thread(lambda: load(find_paths(None, environ), environ, project=cwd))
    return (await known_agents(configuration, warn, name=name)).catalogue


def default_finder(cwd: Path | None) -> Finder:
    """Finds agents on this machine, and in a project whose folder is trusted."""
    paths = find_paths(None, os.environ)
    project = cwd if cwd is not None and Trust(paths.trust).is_trusted(cwd) else None
    finders = _finders.setdefault(asyncio.get_running_loop(), {})
    return finders.setdefault(project, Finder(Surroundings.here(project=project)))


def definition_of(adapter: Adapter, launch: Launch) -> AgentDefinition:
    """What there is to know of an agent whose start an adapter has worked out."""
    return AgentDefinition(
        id=adapter.id,
        label=adapter.id,
        ways=(Way(program=launch.argv[0], args=launch.argv[1:]),),
        native_system_prompt=adapter.native_system_prompt,
    )


def folder_of(options: Options) -> Path:
    """Where the agent works.

    Raises:
        ConfigInvalid: It begins in the working directory of this program, and that is gone.
    """
    try:
        return Path(options.get("cwd") or "").absolute()
    except FileNotFoundError:
        raise ConfigInvalid(
            "the working directory of this program is gone", remedy="Name another with cwd="
        ) from None


def mask_of(launch: Launch) -> Callable[[str], str]:
    """Takes secrets out of what the agent logs: those of its own environment, and what looks like one."""
    return Redactor(managed_from_environment({**inheritable(os.environ), **launch.env})).redact
