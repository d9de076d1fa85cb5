"""The customisations in working directories, found once for all sessions that work in one.

A request gets what is there then. For followers of a folder it is checked once a second whether something has
changed, by the files and folders that were read, or looked for in vain.
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

from serai.config.paths import is_folder
from serai.customizations.containers import Customizations
from serai.customizations.discovery import discover
from serai.customizations.plugins import ClientPlugins
from serai.errors import SeraiError
from serai.machine.watch.events import SeenPaths

_log = logging.getLogger(__name__)

_READERS = 2
"""Most threads that read customisations at the same time, to leave the processor to others."""
_AGAIN = 1.0
"""Seconds between two checks for followers."""

T = TypeVar("T")


class CustomizedFolder:
    """The customisations of a working directory, or of none, and of the person's home.

    Made by `CustomizedFolders.enter`.
    """

    def __init__(self, directory: Path | None, folders: CustomizedFolders) -> None:
        self.directory = directory
        self.sessions = 0
        """Number of sessions that work here."""
        self.found: Customizations | None = None
        """The customisations of the last look; `None` before the first."""
        self._folders = folders
        self._seen = SeenPaths()
        self._basis: tuple[str | None, bool] | None = None
        """The directory's real place, and whether it was trusted, at the last look."""
        self._followers: dict[Callable[[], None], None] = {}
        self._following: asyncio.Task[None] | None = None
        self._one_at_a_time = asyncio.Lock()
        self._work: set[asyncio.Task[None]] = set()
        self._was_told = False
        """True once it was logged that trust is unknown."""

    async def catch_up(self) -> Customizations:
        """Look, and return the customisations. Cancelling does not stop others who wait for it."""
        await asyncio.shield(self._start(self._look()))
        return self.found or Customizations()

    def look(self, then: Callable[[], None] = lambda: None) -> None:
        """Look without waiting; `then` is called at the end."""
        self._start(self._look(then))

    def follow(self, changed: Callable[[], None]) -> None:
        """Look once a second. `changed` is called after the first look, and after each change."""
        self._followers[changed] = None
        self.look(changed)
        if self._following is None:
            self._following = self._start(self._look_again())

    def unfollow(self, changed: Callable[[], None]) -> None:
        """Remove a follower; without any, stop looking."""
        self._followers.pop(changed, None)
        if not self._followers and self._following is not None:
            self._following.cancel()
            self._following = None

    async def close(self) -> None:
        """End the tasks. A read that runs in a thread is left to end by itself."""
        self._followers.clear()
        for task in self._work:
            task.cancel()
        await asyncio.gather(*self._work, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work, name=f"customisations of {self.directory}")
        self._work.add(task)
        task.add_done_callback(self._work.discard)
        return task

    async def _look_again(self) -> None:
        while True:
            await asyncio.sleep(_AGAIN)
            await self._look()

    async def _look(self, *tell: Callable[[], None]) -> None:
        async with self._one_at_a_time:
            if (news := await self._folders.read(self._find)) is not None:
                self.found, self._seen, self._basis = news
                tell += (*self._followers,)
        for one in dict.fromkeys(tell):
            try:
                one()
            except Exception:  # noqa: BLE001 - one session that fails must not keep it from the others
                _log.exception("a session did not take what was found")

    def _find(self) -> tuple[Customizations, SeenPaths, tuple[str | None, bool]] | None:
        """Find the customisations, if anything has changed since the last look. Reads the disk."""
        directory = self.directory
        real = os.path.realpath(directory) if directory is not None and is_folder(directory) else None
        basis = real, self.ask_trust()
        if self.found is not None and basis == self._basis and self._seen.are_unchanged():
            return None
        seen = SeenPaths()
        try:
            found = discover(
                directory,
                self._folders.home,
                trusted=basis[1],
                may_write=lambda folder: real is not None and folder.is_relative_to(real),
                settings=self._folders.settings,
                seen=seen,
            )
        except Exception:  # noqa: BLE001 - whatever it is, sessions go on with what is known
            _log.exception("the customisations of %s cannot be read", self.directory)
            found = self.found or Customizations()
        return found, seen, basis

    def ask_trust(self) -> bool:
        """Tell whether the directory is trusted now. Reads the disk."""
        if self.directory is None:
            return False
        try:
            return self._folders.is_trusted(self.directory)
        except (SeraiError, OSError) as error:
            if not self._was_told:
                _log.warning("%s counts as not trusted: %s", self.directory, error)
            self._was_told = True
            return False


class CustomizedFolders:
    """The folders that sessions in memory work in.

    Args:
        home: The person's home.
        is_trusted: Tells whether a folder is trusted. It may read files, and is called in a thread.
        settings: The folder of the person's `serai.toml`.
    """

    def __init__(self, home: Path, is_trusted: Callable[[Path], bool], settings: Path | None = None) -> None:
        self.home = home
        self.settings = settings
        self.is_trusted = is_trusted
        self.client_plugins = ClientPlugins()
        self._readers = asyncio.Semaphore(_READERS)
        self._open: dict[Path | None, CustomizedFolder] = {}
        self._closing: set[asyncio.Task[None]] = set()

    async def read(self, call: Callable[[], T]) -> T:
        """Run a function that reads customisations in a thread; those of a stranger may take seconds."""
        async with self._readers:
            return await asyncio.to_thread(call)

    def enter(self, directory: Path | None) -> CustomizedFolder:
        """Add a session to a folder."""
        folder = self._open.setdefault(directory, CustomizedFolder(directory, self))
        folder.sessions += 1
        return folder

    def leave(self, folder: CustomizedFolder) -> None:
        """Remove a session from a folder; with the last one, forget the folder."""
        folder.sessions -= 1
        if folder.sessions == 0:
            del self._open[folder.directory]
            self._closing.add(task := asyncio.create_task(folder.close()))
            task.add_done_callback(self._closing.discard)

    async def close(self) -> None:
        """Stop looking at folders, and wait for the end of it."""
        await asyncio.gather(*(folder.close() for folder in self._open.values()), *self._closing)
