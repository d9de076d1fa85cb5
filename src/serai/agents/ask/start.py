"""The start of an agent for a program: finding it, its folder, and the record of its conversation."""

from __future__ import annotations

import asyncio
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Generator
from pathlib import Path
from typing import Any, Generic, Self, TypeAlias, TypeVar

import msgspec

from serai.acp.process.connection import Launch
from serai.agents.ask.options import Options, warn_of
from serai.agents.catalogue.agents import Catalogue, known_agents
from serai.agents.catalogue.definitions import AgentDefinition
from serai.agents.catalogue.finder import Finder, FoundAgent
from serai.agents.catalogue.programs import Surroundings
from serai.config.load import load
from serai.config.paths import find_paths, here
from serai.config.trust import Trust
from serai.errors import ConfigInvalid
from serai.machine.processes.child import Exit, to_its_end
from serai.machine.processes.processes import Processes

__all__ = ["Adapter", "AgentRef"]


class Adapter(ABC):
    """An agent that is started by code. Everything in `serai.agents` takes one instead of a name.

    For a fixed command, an `AgentDefinition` is enough.
    """

    id: str
    """The agent's name."""
    native_system_prompt: bool = False
    """True if it takes a system prompt in `_meta.systemPrompt.append`."""
    processes: Processes | None = None
    """Starts it; `None` for the default."""

    @abstractmethod
    async def launch(self, options: Options) -> Launch:
        """Return how to start it: program, arguments, variables.

        Raises:
            AgentNotInstalled: It cannot be started.
        """


AgentRef: TypeAlias = str | AgentDefinition | Adapter
"""An agent: its id or alias in the catalogue, a definition, or an adapter."""


def name_of(agent: AgentRef) -> str:
    """Return an agent's name."""
    return agent if isinstance(agent, str) else agent.id


class Closing(ABC):
    """Something that can be closed. `async with` closes it at the end of the block."""

    @abstractmethod
    async def _close(self) -> None: ...

    async def close(self) -> None:
        """Close it. When this is cancelled, it still waits until all is closed. Again does no harm."""
        await to_its_end(self._close())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *what: object) -> None:
        await self.close()


T = TypeVar("T", bound=Closing)


class Openable(Generic[T]):
    """Something to open. Nothing happens before it is awaited or entered."""

    def __init__(self, open_it: Callable[[], Awaitable[T]]) -> None:
        self._open = open_it

    def __await__(self) -> Generator[Any, None, T]:
        return self._open().__await__()

    async def __aenter__(self) -> T:
        self._opened = await self._open()
        return self._opened

    async def __aexit__(self, *what: object) -> None:
        await self._opened.close()


class Recorder:
    """Writes a redacted conversation to a file: one line of JSON for each line of the conversation.

        {"at": 0.012, "from": "client", "message": {"jsonrpc": "2.0", "id": 0, "method": "initialize", ...}}
        {"at": 0.094, "from": "agent", "message": {"jsonrpc": "2.0", "id": 0, "result": {...}}}
        {"at": 0.101, "from": "log", "text": "a line of its log"}
        {"at": 1.512, "from": "end", "exitCode": 0}

    Output that is no JSON is kept as `text`. `serai.agents.testing.Replay` plays it.

    Raises:
        ConfigInvalid: It cannot be written.
    """

    def __init__(self, path: Path, mask: Callable[[str], str]) -> None:
        try:
            # Nobody else may read the conversation.
            number = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            self._file = open(number, "ab", buffering=0)  # noqa: PTH123, SIM115 - it stays open until `close`
        except OSError as error:
            raise ConfigInvalid(f"record: {path} cannot be written: {error.strerror}") from None
        self._mask = mask
        self._began = time.monotonic()

    def line(self, origin: str, line: bytes) -> None:
        """Write a line of the conversation."""
        text = self._mask(line.decode("utf-8", "replace"))
        try:
            self.write(origin, message=msgspec.json.decode(text))
        except msgspec.DecodeError:
            self.write(origin, text=text)

    def write(self, origin: str, **what: Any) -> None:
        """Write any other entry, which is redacted already."""
        if not self._file.closed:
            at = round(time.monotonic() - self._began, 3)
            self._file.write(msgspec.json.encode({"at": at, "from": origin, **what}) + b"\n")

    def close(self, how: Exit) -> None:
        """Write how the agent has ended."""
        self.write("end", exitCode=how.code, signal=how.signal)
        self._file.close()


async def find(agent: str | AgentDefinition, options: Options) -> FoundAgent:
    """Find an agent, and how to start it.

    Raises:
        AgentUnknown: There is no agent of that name.
        ConfigInvalid: A configuration file is wrong.
    """
    if isinstance(agent, str):
        catalogue = options.get("catalogue")
        if catalogue is None:
            catalogue = await default_catalogue(folder_of(options), warn_of(options), name=agent)
        agent = catalogue.definition_for(agent)
    if (program := options.get("program")) is not None:
        if isinstance(program, Path) or os.sep in program:
            program = Path(program).absolute()  # noqa: ASYNC240 - this does not read the disk
        agent = agent.started_by(str(program))
    return await finder_of(options).find(agent, with_version=False)


def finder_of(options: Options) -> Finder:
    """Return the finder of agents."""
    return options.get("finder") or default_finder(folder_of(options))


async def default_catalogue(
    cwd: Path | None, warn: Callable[[str], None], *, name: str | None = None
) -> Catalogue:
    """Return Serai's own agents and those of the user's and the project's configuration and registry.

    Raises:
        ConfigInvalid: A configuration file is wrong.
    """
    environ = os.environ
    configuration = await asyncio.to_thread(lambda: load(find_paths(None, environ), environ, project=cwd))
    return (await known_agents(configuration, warn, name=name)).catalogue


def default_finder(cwd: Path | None) -> Finder:
    """Return a finder for this machine, and for a project whose folder is trusted."""
    is_trusted = cwd is not None and Trust(find_paths(None, os.environ).trust).is_trusted(cwd)
    return Finder(Surroundings.here(project=cwd if is_trusted else None))


def folder_of(options: Options) -> Path:
    """Return the agent's working directory.

    Raises:
        ConfigInvalid: It is below this program's working directory, and that is gone.
    """
    folder = Path(options.get("cwd") or "")
    return folder if folder.is_absolute() else here() / folder
