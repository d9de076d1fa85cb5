"""Which customisations working directories have: found once for all sessions that work in one.

While someone follows a folder it is watched, and looked at again when something in it changes. Otherwise it
costs nothing, and is looked at when someone asks.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeVar

from serai.customizations.containers import Customizations
from serai.customizations.discovery import discover
from serai.customizations.watched import Watched, watched
from serai.errors import ProtocolError, SeraiError
from serai.machine.watch.watch import FolderWatch

_log = logging.getLogger(__name__)

_READERS = 2
"""Most threads that read customisations at the same time: the processor is for others too."""

T = TypeVar("T")


class _Look(NamedTuple):
    found: Customizations
    trusted: bool
    is_there: bool
    """The directory exists. One that does not cannot be watched."""


class CustomizedFolder:
    """A working directory, or none, and the person's home: what is found there.

    Made by `CustomizedFolders.enter`.
    """

    def __init__(self, directory: Path | None, folders: CustomizedFolders) -> None:
        self.directory = directory
        self.sessions = 0
        """Number of sessions that work here."""
        self._folders = folders
        self._look: _Look | None = None
        self._looked_at = -math.inf
        self._followers: dict[Callable[[], None], None] = {}
        self._waiting: list[Callable[[], None]] = []
        """Those who want to hear once that it was looked at."""
        self._work: asyncio.Task[None] | None = None
        self._again = False
        """True when it is to be looked at whatever is known."""
        self._listening = False
        self._hears = False
        """Whether all that it listens for is heard of by now."""
        self._watched = Watched()
        self._watches: list[FolderWatch] = []
        self._deaf = False
        """True when some changes are not heard of, although they should be."""
        self._closed = False

    @property
    def found(self) -> Customizations | None:
        """What was found when it was last looked at; `None` before."""
        return self._look.found if self._look else None

    # -- looking -------------------------------------------------------------------------------------------

    async def catch_up(self) -> Customizations:
        """What is there now. It is looked at again: a watch tells of a change some moments later.

        Cancelling does not stop others who wait for it.
        """
        self._again = True
        await asyncio.shield(self._start())
        return self.found or Customizations()

    def look(self, then: Callable[[], None] = lambda: None, *, within: float = 0.0) -> None:
        """The same for who does not wait: `then` is called when it is done.

        Args:
            then: What to call.
            within: What was found no longer than so many seconds ago will do.
        """
        self._waiting.append(then)
        self._again |= not self._is_current and asyncio.get_running_loop().time() >= self._looked_at + within
        self._start()

    def follow(self, changed: Callable[[], None]) -> None:
        """Watch the folder. `changed` is called when it has been looked at, also for the first time."""
        self._followers[changed] = None
        if self._is_current:
            changed()
        else:
            self._changed()

    def unfollow(self, changed: Callable[[], None]) -> None:
        """Call that no more; when nobody is left, nothing is watched any more."""
        self._followers.pop(changed, None)
        if not self._followers and not self._closed:
            self._start()

    async def close(self) -> None:
        """End what runs, and watch nothing, whoever may still ask for it. What is being read is let be."""
        self._closed = True
        self._followers.clear()
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        await _close_all(self._watches)

    @property
    def _is_current(self) -> bool:
        """Whether all changes since it was looked at would have been heard of, and there were none."""
        is_heard = self._hears and bool(self._followers) and not self._deaf
        is_known = self._look is not None and self._look.is_there
        return is_heard and is_known and not self._again

    def _start(self) -> asyncio.Task[None]:
        """Let the one task run. It is done when all that was asked before this moment is done."""
        if self._work is None or self._work.done():
            work = asyncio.sleep(0) if self._closed else self._keep_up()
            self._work = asyncio.create_task(work, name=f"customisations of {self.directory}")
        return self._work

    async def _keep_up(self) -> None:
        while self._again or self._waiting or self._listening != bool(self._followers):
            again, self._again = self._again, False
            waiting, self._waiting = self._waiting, []
            if again or self._listening != bool(self._followers):
                await self._listen()
            if again or (waiting and await self._trust_has_changed()):
                await self._discover()
                waiting += self._followers
            for tell in dict.fromkeys(waiting):
                try:
                    tell()
                except Exception:  # noqa: BLE001 - one session that fails must not keep it from the others
                    _log.exception("a session did not take what was found")

    async def _trust_has_changed(self) -> bool:
        if self.directory is None or self._look is None:
            return False
        return await self._folders.read(self.ask_trust) != self._look.trusted

    async def _discover(self) -> None:
        began = asyncio.get_running_loop().time()
        try:
            self._look = await self._folders.read(self._find)
            self._looked_at = began
        except Exception:  # noqa: BLE001 - whatever it is, sessions go on with what is known
            _log.exception("the customisations of %s cannot be read", self.directory)
            self._look = self._look or _Look(Customizations(), trusted=False, is_there=False)

    def _find(self) -> _Look:
        trusted = self.ask_trust()
        is_there = self.directory is not None and self.directory.is_dir()
        real = os.path.realpath(self.directory) if self.directory is not None and is_there else None
        folders = self._folders
        found = discover(
            self.directory,
            folders.home,
            trusted=trusted,
            may_write=lambda folder: real is not None and folder.is_relative_to(real),
            settings=folders.settings,
        )
        return _Look(found, trusted, is_there=self.directory is None or is_there)

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
        self._listening, self._hears = bool(self._followers), False
        was_deaf = self._deaf
        try:
            # And once more: a folder that came just before it was listened is to be watched too.
            while (named := await self._to_watch()) != self._watched or self._deaf:
                self._watched, self._deaf = named, False
                old, new = self._watches, [self._watch(root, named) for root in named.roots]
                self._watches = old + new
                for watch in new:
                    await asyncio.shield(watch.ready)
                self._watches = new
                await _close_all(old)
            self._hears = self._listening
        except (SeraiError, OSError) as error:
            if not was_deaf:
                _log.warning("changes of customisations are not noticed at once: %s", error)
            self._deaf = True

    async def _to_watch(self) -> Watched:
        if not self._listening:
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
        if self._followers:
            self._again = True
            self._start()
        else:
            self._deaf = True  # whoever follows next looks again

    def _lost(self, named: Watched, error: ProtocolError | None) -> None:
        """Note that a watch has ended. Without an error its folder is gone, which is a change like others."""
        if named is self._watched:
            self._deaf = True
            if error is None:
                self._changed()
            else:
                _log.warning("changes of customisations are no longer noticed at once: %s", error)


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
