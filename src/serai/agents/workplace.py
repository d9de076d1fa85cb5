"""Where an agent of a program is started, and what is known of the machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from serai.agents.catalogue import Catalogue
from serai.agents.finding import Finder
from serai.agents.known import known_agents
from serai.agents.places import Surroundings
from serai.config.load import Configuration, load
from serai.config.paths import find_paths
from serai.config.trust import Trust
from serai.machine.processes.child import Child
from serai.machine.processes.processes import Processes

__all__ = ["Workplace", "default_catalogue", "default_finder"]

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
