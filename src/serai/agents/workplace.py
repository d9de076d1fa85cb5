"""What all agents of one program share: where their processes are kept, and what is known of the machine."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from pathlib import Path
from weakref import WeakKeyDictionary

from serai.agents.catalogue import Catalogue, make_catalogue
from serai.agents.finding import Finder
from serai.agents.places import Surroundings
from serai.config.load import load
from serai.config.paths import find_paths
from serai.config.trust import Trust
from serai.processes.processes import Processes

__all__ = ["Workplace", "default_catalogue", "default_finder"]

_finders: WeakKeyDictionary[asyncio.AbstractEventLoop, dict[Path | None, Finder]] = WeakKeyDictionary()
_workplaces: WeakKeyDictionary[asyncio.AbstractEventLoop, Workplace] = WeakKeyDictionary()


class Workplace:
    """Where agents are started. The first that comes opens it, the last that leaves closes it.

    Should this program be killed, the agents are ended by the warden of `Processes`.
    """

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix="serai-agents-"))
        self.processes = Processes(self._folder)
        self._users = 0

    @classmethod
    def enter(cls) -> Workplace:
        """The one of the running event loop. Whoever enters it has to leave it."""
        loop = asyncio.get_running_loop()
        workplace = _workplaces.get(loop)
        if workplace is None:
            workplace = _workplaces[loop] = cls()
        workplace._users += 1
        return workplace

    async def leave(self) -> None:
        """Need it no longer. When nobody does, nothing of it is left."""
        self._users -= 1
        if self._users:
            return
        loop = asyncio.get_running_loop()
        if _workplaces.get(loop) is self:
            del _workplaces[loop]
        await self.processes.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, ignore_errors=True)


def default_catalogue(cwd: Path) -> Catalogue:
    """Serai's own agents, and those of the person's and the project's configuration.

    Raises:
        ConfigInvalid: A configuration file is wrong.
    """
    configuration = load(find_paths(None, os.environ), os.environ, project=cwd)
    return make_catalogue(configuration.agents)


def default_finder(cwd: Path) -> Finder:
    """Finds agents on this machine, and in a project whose folder is trusted."""
    paths = find_paths(None, os.environ)
    project = cwd if Trust(paths.trust).is_trusted(cwd) else None
    finders = _finders.setdefault(asyncio.get_running_loop(), {})
    return finders.setdefault(project, Finder(Surroundings.here(project=project)))
