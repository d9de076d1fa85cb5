"""How an agent of a program is started: which program, where, and what is taken out of its log."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias
from weakref import WeakKeyDictionary

from serai.acp import Launch
from serai.agents.ask.options import Options, log_warning
from serai.agents.catalogue.agents import Catalogue, known_agents
from serai.agents.catalogue.definitions import AgentDefinition, Way
from serai.agents.catalogue.finder import Finder, FoundAgent
from serai.agents.catalogue.programs import Surroundings
from serai.config.load import Configuration, load
from serai.config.paths import find_paths
from serai.config.trust import Trust
from serai.errors import ConfigInvalid
from serai.machine.processes.child import Child
from serai.machine.processes.environment import inheritable
from serai.machine.processes.processes import Processes
from serai.redact import Redactor
from serai.redact.environment import managed_from_environment

if TYPE_CHECKING:
    from serai.agents.ask.options import Options

__all__ = [
    "Adapter",
    "AgentRef",
    "Workplace",
    "default_catalogue",
    "default_finder",
    "definition_of",
    "find",
    "folder_of",
    "list_models",
    "mask_of",
    "name_of",
]


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

        Args:
            options: What the caller has said.

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


_finders: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Path | None, Finder]] = WeakKeyDictionary()


_PREFIX = "serai-agents-"
_OLD = 600.0
"""For how many seconds a folder may be empty that is in use: one that was just made has no record yet."""
_swept: set[str] = set()
"""Where this program has cleared up."""


class _Processes(Processes):
    """Knows whether anything is being started, which goes on when its caller is cancelled."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._starting = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def start(self, argv: Sequence[str], **how: Any) -> Child:
        """As `Processes.start`."""
        self._starting += 1
        self._idle.clear()
        try:
            return await super().start(argv, **how)
        finally:
            self._starting -= 1
            if not self._starting:
                self._idle.set()

    async def gone(self) -> None:
        """Wait until nothing is being started any more, and what was started is gone."""
        await self._idle.wait()
        for child in self.children:
            await child.gone()


class Workplace:
    """Where one agent is started. Should this program be killed, the warden of `Processes` ends the agent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes = _Processes(folder)

    @classmethod
    async def open(cls) -> Workplace:
        """A new one. What programs that were killed have left of theirs is cleared away, once."""
        temporary = tempfile.gettempdir()
        if temporary not in _swept:
            _swept.add(temporary)
            await asyncio.to_thread(_sweep, temporary)
        return cls(Path(tempfile.mkdtemp(prefix=_PREFIX)))

    @property
    def processes(self) -> Processes:
        """Where it is started."""
        return self._processes

    async def close(self) -> None:
        """Wait until the agent is gone, and leave nothing. Someone must have told it to end."""
        await self._processes.gone()
        await self._processes.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


def _sweep(temporary: str) -> None:
    """Take away old folders that are empty: the warden has ended all that ran there. Runs in a thread."""
    before = time.time() - _OLD
    try:
        with os.scandir(temporary) as entries:
            found = [entry for entry in entries if entry.name.startswith(_PREFIX)]
    except OSError:
        return
    for entry in found:
        with suppress(OSError):  # it is not ours, in use, or gone already
            status = entry.stat(follow_symlinks=False)
            if status.st_uid == os.getuid() and status.st_mtime < before:
                os.rmdir(entry.path)  # noqa: PTH106 - only if it is an empty folder


async def default_catalogue(
    cwd: Path | None, warn: Callable[[str], None], *, name: str | None = None
) -> Catalogue:
    """Serai's own agents, and those of the person's and the project's configuration and of its registry.

    Args:
        cwd: The project, if there is one.
        warn: Is told what could not be had.
        name: The agent that is looked for; `None` for all of them.

    Raises:
        ConfigInvalid: A configuration file is wrong.
    """
    configuration = await asyncio.to_thread(_configuration, cwd)
    return (await known_agents(configuration, warn, name=name)).catalogue


def _configuration(cwd: Path | None) -> Configuration:
    return load(find_paths(None, os.environ), os.environ, project=cwd)


def default_finder(cwd: Path | None) -> Finder:
    """Finds agents on this machine, and in a project whose folder is trusted."""
    paths = find_paths(None, os.environ)
    project = cwd if cwd is not None and Trust(paths.trust).is_trusted(cwd) else None
    finders = _finders.setdefault(asyncio.get_running_loop(), {})
    return finders.setdefault(project, Finder(Surroundings.here(project=project)))


async def find(agent: str | AgentDefinition, options: Options) -> FoundAgent:
    """Where an agent is, and how it is started.

    Raises:
        AgentUnknown: There is none of that name.
        ConfigInvalid: A configuration file is wrong.
    """
    if isinstance(agent, str):
        catalogue = options.get("catalogue")
        if catalogue is None:
            warn = options.get("on_warning") or log_warning
            catalogue = await default_catalogue(folder_of(options), warn, name=agent)
        agent = catalogue.definition_for(agent)
    if (program := options.get("program")) is not None:
        agent = agent.started_by(_program(program))
    return await _finder(options).find(agent, is_wanted=True)


async def list_models(agent: AgentRef, options: Options) -> list[str]:
    """The models that an agent's program lists without being started as an agent; mostly none."""
    if isinstance(agent, Adapter):
        return []
    return await _finder(options).list_models(await find(agent, options))


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


def _program(program: Path | str) -> str:
    is_path = isinstance(program, Path) or os.sep in program
    return str(Path(program).absolute()) if is_path else str(program)


def _finder(options: Options) -> Finder:
    return options.get("finder") or default_finder(folder_of(options))
