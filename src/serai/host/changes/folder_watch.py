"""A watch on a working directory that notices possible changes.

The listener looks at the files again. The folder is watched. What git has committed and staged, what the
folders above ignore, and whether the folder is still the same one, is checked once a second: no watch tells
that another one has come in its place.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable
from pathlib import Path

from serai.ahp.commands import AhpErrorCode
from serai.changes.folder import FolderChanges, Place, place_of
from serai.errors import ProtocolError
from serai.machine.watch.events import SeenPaths
from serai.machine.watch.watch import Watch, Watches

_log = logging.getLogger(__name__)

_NOT_WATCHED = ("**/.git", "**/node_modules")
"""Patterns of folders that are not watched: packages are very many files."""
_OF_GIT = ("HEAD", "index", "logs/HEAD", "MERGE_HEAD")
"""Files of git that tell of changes. The last two change with every commit and reset, also where the first
two do not."""
_AGAIN = 1.0
"""Seconds between two checks of what is not watched."""


def _beside(changes: FolderChanges) -> list[str]:
    """Return the files outside of a folder that affect its changes."""
    repository = changes.repository
    if repository is None:
        return []
    above = [Path(changes.place[0]).parents[count] for count in range(repository.prefix.count("/"))]
    return [f"{repository.git_dir}/{name}" for name in _OF_GIT] + [f"{one}/.gitignore" for one in above]


def not_watched(directory: str, home: Path) -> list[str]:
    """Return patterns of what is not watched: the host must not look again at its own writes."""
    below = os.path.relpath(os.path.realpath(home), directory)
    # Nothing can be escaped in patterns, but any character stands for itself.
    own = [] if below.split("/")[0] == ".." else [re.sub(r"[*?\[\]{},]", "?", below)]
    return [*_NOT_WATCHED, *own]


class ChangesWatch:
    """Watches a folder from `begin` until it is closed.

    Args:
        watches: The watches of the host.
        directory: The folder, as the session names it.
        here: Its place when it was last looked at.
        changes: Its changes; `None` where they are not known. Then only the folder's place is checked.
        home: The folder in which the host writes.
        changed: Called when something may have changed.
    """

    def __init__(
        self,
        watches: Watches,
        directory: str,
        here: Place | None,
        changes: FolderChanges | None,
        home: Path,
        changed: Callable[[], None],
    ) -> None:
        self.changes = changes
        self.has_ended = False
        """True once the folder is gone or another one: the present one has to be watched instead."""
        self._watches = watches
        self._directory = directory
        self._here = here
        self._home = home
        self._changed = changed
        self._closed = False
        beside = [] if changes is None else _beside(changes)
        self._tasks = [asyncio.create_task(self._look(beside))]

    async def begin(self) -> None:
        """Begin to watch. Changes that cannot be watched are seen when a turn ends or someone asks."""
        if self.changes is None:
            return
        folder = self.changes.place[0]
        excludes = await asyncio.to_thread(not_watched, folder, self._home)
        try:
            watch = await self._watches.watch(Path(folder), recursive=True, excludes=excludes)
        except ProtocolError as error:
            self._not_watched(error)
            return
        if self._closed:
            await watch.close()
        else:
            self._tasks.append(asyncio.create_task(self._hear(watch)))

    async def _hear(self, watch: Watch) -> None:
        try:
            async for _ in watch:
                self._changed()
            self._end()
        except ProtocolError as error:
            self._not_watched(error)
        finally:
            await watch.close()

    async def _look(self, beside: list[str]) -> None:
        seen = await asyncio.to_thread(SeenPaths, *beside)
        while await asyncio.to_thread(place_of, self._directory) == self._here:
            if not await asyncio.to_thread(seen.are_unchanged):
                seen = await asyncio.to_thread(SeenPaths, *beside)
                self._changed()
            await asyncio.sleep(_AGAIN)
        self._end()

    def _end(self) -> None:
        self.has_ended = True
        self._changed()

    def _not_watched(self, error: ProtocolError) -> None:
        if error.number != AhpErrorCode.NOT_FOUND:
            _log.warning("changes are not followed as they happen: %s", error)

    async def close(self) -> None:
        """Stop watching. Cancelling is safe: it ends all the same."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
