"""Which customisations working directories have: found once for all sessions that work in one.

While someone follows a folder it is watched, and looked at again when something in it changes. Otherwise it
costs nothing, and is looked at when someone asks.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import TypeVar

from serai.customizations.containers import Customizations
from serai.customizations.discovery import discover
from serai.customizations.watched import Watched, watched
from serai.errors import ProtocolError, SeraiError
from serai.machine.watch.watch import FolderWatch

_log = logging.getLogger(__name__)

_READERS = 2
"""Most threads that read customisations at the same time: the processor is for others too."""

T = TypeVar("T")


class CustomizedFolder:
    """A working directory, or none, and the person's home: what is found there.

    Made by `CustomizedFolders.enter`.
    """

    def __init__(self, directory: Path | None, folders: CustomizedFolders) -> None:
        self.directory = directory
        self.sessions = 0
        """Number of sessions that work here."""
        self.found: Customizations | None = None
        """What was found when it was last looked at; `None` before."""
        self._folders = folders
        self._was_trusted = False
        self._looked_at = -math.inf
        self._is_stale = True
        """Whether something may have changed since."""
        self._followers: dict[Callable[[], None], None] = {}
        self._watched = Watched()
        self._watches: list[FolderWatch] = []
        self._hears = False
        """Whether all changes are heard of."""
        self._was_told = False
        """Whether it was logged that they are not."""
        self._one_at_a_time = asyncio.Lock()
        self._work: set[asyncio.Task[None]] = set()
        self._closed = False

    # -- looking -------------------------------------------------------------------------------------------

    async def catch_up(self) -> Customizations:
        """What is there now. It is looked at again: a watch tells of a change some moments later.

        Cancelling does not stop others who wait for it.
        """
        self._is_stale = True
        await asyncio.shield(self._start(self._catch_up))
        return self.found or Customizations()

    def look(self, then: Callable[[], None] = lambda: None, *, within: float = 0.0) -> None:
        """The same for who does not wait: `then` is called when it is done.

        Args:
            then: What to call.
            within: What was found no longer than so many seconds ago will do.
        """
        self._start(partial(self._catch_up, then, within))

    def follow(self, changed: Callable[[], None]) -> None:
        """Watch the folder. `changed` is called when it has been looked at, also for the first time."""
        self._followers[changed] = None
        self.look(changed)

    def unfollow(self, changed: Callable[[], None]) -> None:
        """Call that no more; when nobody is left, nothing is watched any more."""
        self._followers.pop(changed, None)
        if not self._followers:
            self._start(self._listen)

    async def close(self) -> None:
        """End what runs, and watch nothing, whoever may still ask for it. What is being read is let be."""
        self._closed = True
        self._followers.clear()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)
        await _close_all(self._watches)

    def _start(self, work: Callable[[], Awaitable[None]]) -> asyncio.Task[None]:
        task = asyncio.create_task(self._do(work), name=f"customisations of {self.directory}")
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    async def _do(self, work: Callable[[], Awaitable[None]]) -> None:
        async with self._one_at_a_time:
            if not self._closed:
                await work()

    async def _catch_up(self, then: Callable[[], None] = lambda: None, within: float = 0.0) -> None:
        tell = [then]
        if self._is_stale or bool(self._followers) != self._hears:
            await self._listen()
        began = asyncio.get_running_loop().time()
        is_known = self._hears or began < self._looked_at + within
        if self._is_stale or not is_known or await self._folders.read(self.ask_trust) != self._was_trusted:
            self._is_stale = False
            await self._discover()
            self._looked_at = began
            tell += self._followers
        for one in dict.fromkeys(tell):
            try:
                one()
            except Exception:  # noqa: BLE001 - one session that fails must not keep it from the others
                _log.exception("a session did not take what was found")

    async def _discover(self) -> None:
        try:
            self.found, self._was_trusted = await self._folders.read(self._find)
        except Exception:  # noqa: BLE001 - whatever it is, sessions go on with what is known
            _log.exception("the customisations of %s cannot be read", self.directory)
            self.found = self.found or Customizations()

    def _find(self) -> tuple[Customizations, bool]:
        trusted = self.ask_trust()
        is_there = self.directory is not None and self.directory.is_dir()
        real = os.path.realpath(self.directory) if self.directory is not None and is_there else None
        found = discover(
            self.directory,
            self._folders.home,
            trusted=trusted,
            may_write=lambda folder: real is not None and folder.is_relative_to(real),
            settings=self._folders.settings,
        )
        return found, trusted

    def ask_trust(self) -> bool:
        """Whether the directory is trusted now. Reads the disk."""
        if self.directory is None:
            return False
        try:
            return self._folders.is_trusted(self.directory)
        except (SeraiError, OSError) as error:
            _log.warning("%s counts as not trusted: %s", self.directory, error)
            return False

    # -- watching ------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Hear of changes while someone follows, in all that there is to watch by now."""
        try:
            # And once more: a folder that came just before it was listened is to be watched too.
            while (named := await self._to_watch()) != self._watched or (self._followers and not self._hears):
                self._watched, self._hears, self._is_stale = named, bool(self._followers), True
                old, self._watches = self._watches, []
                try:
                    for root in named.roots:
                        self._watches.append(self._watch(root, named))
                    for watch in self._watches:
                        await asyncio.shield(watch.ready)
                finally:
                    await _close_all(old)
            self._hears = self._hears and bool(self._followers)
        except (SeraiError, OSError) as error:
            self._hears_no_more(error)

    def _hears_no_more(self, error: SeraiError | OSError) -> None:
        self._hears = False
        if not self._was_told:
            _log.warning("changes of customisations are not noticed at once: %s", error)
        self._was_told = True

    async def _to_watch(self) -> Watched:
        if not self._followers:
            return Watched()
        folders = self._folders
        return await folders.read(lambda: watched(self.directory, folders.home, folders.settings))

    def _watch(self, root: str, named: Watched) -> FolderWatch:
        return FolderWatch(
            root,
            recursive=True,
            prunes=lambda folder: named.prunes(f"{root.rstrip('/')}/{folder}"),
            hear=lambda events: self._changed if any(named.concerns(one.path) for one in events) else None,
            end=lambda error: self._lost(named, error),
        )

    def _changed(self) -> None:
        if not self._is_stale and self._followers:
            self.look()
        self._is_stale = True

    def _lost(self, named: Watched, error: ProtocolError | None) -> None:
        """Note that a watch has ended. Without an error its folder is gone, which is a change like others."""
        if named is self._watched:
            if error is not None:
                self._hears_no_more(error)
            else:
                self._hears = False
                self._changed()


async def _close_all(watches: list[FolderWatch]) -> None:
    await asyncio.gather(*(watch.close() for watch in watches), return_exceptions=True)


class CustomizedFolders:
    """The folders that sessions in memory work in.

    Args:
        home: The person's home.
        is_trusted: Whether a folder is trusted. It may read files: it is asked in a thread.
        settings: The folder of the person's `serai.toml`.
    """

    def __init__(self, home: Path, is_trusted: Callable[[Path], bool], settings: Path | None = None) -> None:
        self.home = home
        self.settings = settings
        self.is_trusted = is_trusted
        self._readers = asyncio.Semaphore(_READERS)
        self._open: dict[Path | None, CustomizedFolder] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def read(self, call: Callable[[], T]) -> T:
        """Call something in a thread that reads customisations; a stranger's may take seconds."""
        async with self._readers:
            return await asyncio.to_thread(call)

    def enter(self, directory: Path | None) -> CustomizedFolder:
        """A session works in a folder from now on."""
        folder = self._open.setdefault(directory, CustomizedFolder(directory, self))
        folder.sessions += 1
        return folder

    def leave(self, folder: CustomizedFolder) -> None:
        """A session works in it no longer; with the last one it is forgotten."""
        folder.sessions -= 1
        if folder.sessions == 0:
            del self._open[folder.directory]
            self._closing.add(task := asyncio.create_task(folder.close()))
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Watch nothing any more, and wait until that is so."""
        await asyncio.gather(*(folder.close() for folder in self._open.values()), *self._closing)
