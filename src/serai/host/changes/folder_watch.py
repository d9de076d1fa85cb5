"""Hears that something in a working directory may have changed.

Whoever asks looks at the files again. The whole folder is watched; of git's own files those that say what is
committed and staged, and of the folders above what they say is ignored.

A folder may go away, and another one come in its place, or the same one again; so may the folders above, and
the links that lead to it. No watch tells that, so it is looked once a second.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from serai.ahp.errors import AhpErrorCode
from serai.changes.folder import FolderChanges, Place, place_of
from serai.errors import ProtocolError
from serai.machine.watch.watch import Watch, Watches

_log = logging.getLogger(__name__)

_NOT_LOOKED_AT = ("**/.git", "**/node_modules")
"""Some of git's own files are watched apart from this; what is installed in the other is a great deal."""
_OF_GIT = ("HEAD", "index", "logs/HEAD", "MERGE_HEAD")
"""The last two change with every commit and reset, also where the first two stay as they are."""
_NOT_OF_GIT = (
    *("annex", "branches", "hooks", "info", "lfs", "logs/refs", "modules", "objects", "refs", "rr-cache"),
    "worktrees",
)
_AGAIN = 1.0
"""Seconds between two looks whether the folder is still the same one."""


@dataclass(frozen=True, slots=True)
class WatchedPlace:
    """A folder to be watched, and what of it."""

    folder: str
    recursive: bool = False
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()


def places_to_watch(changes: FolderChanges, home: Path) -> tuple[WatchedPlace, ...]:
    """What is to be watched to hear of changes. Reads the disk.

    Args:
        changes: The changes of a working directory.
        home: Where the host writes. What it writes there must not make it look, and write, again.
    """
    directory = changes.place[0]
    below = os.path.relpath(os.path.realpath(home), directory)
    own = () if below.split("/")[0] == ".." else (_literally(below),)
    places = [WatchedPlace(directory, recursive=True, excludes=(*_NOT_LOOKED_AT, *own))]
    repository = changes.repository
    if repository is not None:
        places.append(WatchedPlace(repository.git_dir, True, _OF_GIT, _NOT_OF_GIT))
        above = [Path(directory).parents[count] for count in range(repository.prefix.count("/"))]
        places += [WatchedPlace(str(folder), includes=(".gitignore",)) for folder in above]
    return tuple(places)


def _literally(path: str) -> str:
    """A pattern for one path. Nothing can be escaped in patterns, but any character stands for itself."""
    return re.sub(r"[*?\[\]{},]", "?", path)


class ChangesWatch:
    """Watches a folder from `begin` until it is closed.

    Args:
        watches: The watches of the host.
        directory: The folder, as the session names it.
        here: Where it is, or was when it was last looked at.
        places: What to watch.
        changed: Is called when something may have changed.
    """

    def __init__(
        self,
        watches: Watches,
        directory: str,
        here: Place | None,
        places: tuple[WatchedPlace, ...],
        changed: Callable[[], None],
    ) -> None:
        self.places = places
        self.has_ended = False
        """True once a folder is gone or another one: what is there now is to be watched instead."""
        self._watches = watches
        self._changed = changed
        self._closed = False
        self._tasks = [asyncio.create_task(self._until_another(directory, here))]

    async def begin(self) -> None:
        """Watch all that can be watched. Changes of the rest are seen when a turn ends or someone asks."""
        for place in self.places:
            try:
                watch = await self._watches.watch(
                    Path(place.folder),
                    recursive=place.recursive,
                    includes=place.includes,
                    excludes=place.excludes,
                )
            except ProtocolError as error:
                self._not_watched(error)
                continue
            if self._closed:
                await watch.close()
                return
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

    async def _until_another(self, directory: str, here: Place | None) -> None:
        while await asyncio.to_thread(place_of, directory) == here:  # noqa: ASYNC110 - folders tell nobody
            await asyncio.sleep(_AGAIN)
        self._end()

    def _end(self) -> None:
        self.has_ended = True
        self._changed()

    def _not_watched(self, error: ProtocolError) -> None:
        if error.number != AhpErrorCode.NOT_FOUND:
            _log.warning("changes are not followed as they happen: %s", error)

    async def close(self) -> None:
        """Hear nothing more. Cancelling is safe: it ends all the same."""
        self._closed = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
