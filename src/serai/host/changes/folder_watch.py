"""Hearing that something in a working directory may have changed.

What is heard is only that: whoever asks looks at the files again. In a repository the whole folder is
watched, of git's own files those that say what is committed and staged, and of the folders above what they
say is ignored. In any other folder nothing matters but the files that tools edited, so only the folders that
those are in are watched.

A folder may go away, and another one come in its place, or the same one again; so may the folders above, and
the links that lead to it. Whoever asks hears of all that, but for this it is looked now and then: no watch
tells it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from posixpath import dirname, join

from serai.ahp.errors import AhpErrorCode
from serai.changes.closed import Identity, identity
from serai.changes.opening import SessionChanges
from serai.changes.tracked import TrackedChanges
from serai.changes.whereabouts import Whereabouts, whereabouts
from serai.errors import ProtocolError
from serai.machine.watch.watch import Watches

__all__ = ["FolderWatch", "Place", "places_to_watch"]

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
"""So often it is looked whether a folder is still the same one, or has come, in seconds."""
_MOST_FOLDERS = 64
"""So many folders with edited files are watched."""


@dataclass(frozen=True, slots=True)
class Place:
    """A folder to be watched, and what of it."""

    folder: str
    recursive: bool = False
    includes: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()


def places_to_watch(changes: SessionChanges, home: Path) -> tuple[Place, ...]:
    """What is to be watched to hear of changes. Reads the disk.

    Args:
        changes: The changes of a working directory.
        home: Where the host writes. What it writes there must not make it look, and write, again.
    """
    if not isinstance(changes, TrackedChanges):
        folders = {dirname(path) for path in changes.noted}
        return tuple(
            Place(join(changes.place, folder).rstrip("/") or "/")
            for folder in sorted(folders)[:_MOST_FOLDERS]
        )
    git = Place(changes.git_dir, recursive=True, includes=_OF_GIT, excludes=_NOT_OF_GIT)
    lists = tuple(Place(folder, includes=(".gitignore",)) for folder in changes.above)
    below = os.path.relpath(os.path.realpath(home), changes.place)
    if below == ".":
        return (git, *lists)
    own = () if below.split("/")[0] == ".." else (_literally(below),)
    return (Place(changes.place, recursive=True, excludes=(*_NOT_LOOKED_AT, *own)), git, *lists)


def _literally(path: str) -> str:
    """A pattern for one path. Nothing can be escaped in patterns, but any character stands for itself."""
    return re.sub(r"[*?\[\]{},]", "?", path)


class FolderWatch:
    """Watches a folder until it is closed. It begins at once.

    Args:
        watches: The watches of the host.
        directory: The folder, as the session names it,
        here: and where it is, or was when it was last looked at.
        places: What to watch.
        ready: Is called when all that can be watched is watched: what happens from then on is heard.
        changed: Is called when something may have changed.
    """

    def __init__(
        self,
        watches: Watches,
        directory: str,
        here: Whereabouts,
        places: tuple[Place, ...],
        ready: Callable[[], None],
        changed: Callable[[], None],
    ) -> None:
        self.places = places
        self.is_ready = asyncio.Event()
        self.has_ended = False
        """Whether one of the folders is gone or another one, or has come: what is there is to be watched.

        It does not help that others are watched still. They may have been moved away with that one.
        """
        self._watches = watches
        self._ready = ready
        self._changed = changed
        self._unready = len(places)
        self._tasks = [asyncio.create_task(self._watch(place)) for place in places]
        self._tasks.append(asyncio.create_task(self._until_another(directory, here)))
        if not places:
            self._one_ready()

    async def _watch(self, place: Place) -> None:
        try:
            watch = await self._watches.watch(
                Path(place.folder),
                recursive=place.recursive,
                includes=place.includes,
                excludes=place.excludes,
            )
        except ProtocolError as error:
            self._not_watched(error)
            self._one_ready()
            if error.number == AhpErrorCode.NOT_FOUND:
                await self._until_there(place.folder)
                self._end()
            return
        try:
            self._one_ready()
            async for _ in watch:
                self._changed()
            self._end()
        except ProtocolError as error:
            self._not_watched(error)
        finally:
            await watch.close()

    async def _until_another(self, directory: str, here: Whereabouts) -> None:
        there = await asyncio.to_thread(self._numbers)
        while True:
            is_here = await asyncio.to_thread(whereabouts, directory) == here
            if not is_here or await asyncio.to_thread(self._numbers) != there:
                self._end()
                return
            await asyncio.sleep(_AGAIN)

    def _numbers(self) -> list[Identity | None]:
        """Which folders are at the places. One that was moved away is still watched where it is."""
        return [identity(place.folder) for place in self.places]

    async def _until_there(self, folder: str) -> None:
        while True:
            await asyncio.sleep(_AGAIN)
            if await asyncio.to_thread(os.path.isdir, folder):
                return

    def _end(self) -> None:
        self.has_ended = True
        self._changed()

    def _not_watched(self, error: ProtocolError) -> None:
        """Changes are then seen when a turn ends, or when someone asks."""
        if error.number != AhpErrorCode.NOT_FOUND:
            _log.warning("changes are not followed as they happen: %s", error)

    def _one_ready(self) -> None:
        self._unready -= 1
        if self._unready <= 0:
            self.is_ready.set()
            self._ready()

    async def close(self) -> None:
        """Hear nothing more. Cancelling is safe: it ends all the same."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
