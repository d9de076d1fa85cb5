"""Which customisations working directories have: found once for all sessions that work in one.

While someone follows a folder it is watched, and looked at again when something in it changes. Otherwise it
costs nothing, and is looked at when someone asks.
"""

from __future__ import annotations

import asyncio
import logging
import math
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from serai.customizations import Customizations, Watched, discover, watched
from serai.errors import ProtocolError, SeraiError
from serai.machine.watch.events import WatchEvent
from serai.machine.watch.watch import FolderWatch

__all__ = ["CustomizedFolder", "CustomizedFolders", "FolderEar", "listen"]

_log = logging.getLogger(__name__)

_READERS = 2
"""Most threads that read customisations at the same time: the processor is for others too."""
_GATHER = 0.05
"""Time in seconds that changes are gathered before a folder is looked at again."""
_AWAY = 1.0
"""Time in seconds between two looks for a folder that is not there, while someone follows it."""

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
        self._due: asyncio.TimerHandle | None = None
        self._listening = False
        self._named: list[Watched] = []
        self._ears: list[FolderEar] = []
        self._deaf = False
        """True when some changes are not heard of, although they should be."""
        self._closed = False

    @property
    def found(self) -> Customizations | None:
        """What was found when it was last looked at; `None` before."""
        return self._look.found if self._look else None

    # -- looking -------------------------------------------------------------------------------------------

    async def catch_up(self) -> Customizations:
        """What is there now: it is looked at again if something may have changed.

        Cancelling does not stop others who wait for it.
        """
        self._again |= not self._is_current
        self._waiting.append(lambda: None)  # asks for the trust in any case
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
            self._refresh()

    def unfollow(self, changed: Callable[[], None]) -> None:
        """Call that no more; when nobody is left, nothing is watched any more."""
        self._followers.pop(changed, None)
        if not self._followers:
            self._start()

    async def close(self) -> None:
        """End what runs, and watch nothing, whoever may still ask for it. What is being read is let be."""
        self._closed = True
        self._followers.clear()
        if self._due is not None:
            self._due.cancel()
        if self._work is not None:
            self._work.cancel()
            await asyncio.gather(self._work, return_exceptions=True)
        await _close_all(self._ears)

    @property
    def _is_current(self) -> bool:
        """Whether all changes since it was looked at would have been heard of, and there were none."""
        is_at_work = self._work is not None and not self._work.done()
        is_heard = self._listening and bool(self._followers) and not self._deaf
        is_known = self._look is not None and self._look.is_there
        return is_heard and is_known and not is_at_work and self._due is None

    def _refresh(self) -> None:
        self._again = True
        self._start()

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
                _tell(tell)

    async def _trust_has_changed(self) -> bool:
        if self.directory is None or self._look is None:
            return False
        return await self._folders.read(self._ask_trust) != self._look.trusted

    async def _discover(self) -> None:
        began = asyncio.get_running_loop().time()
        try:
            self._look = await self._folders.read(self._find)
            self._looked_at = began
        except Exception:  # noqa: BLE001 - whatever it is, sessions go on with what is known
            _log.exception("the customisations of %s cannot be read", self.directory)
            self._look = self._look or _Look(Customizations(), trusted=False, is_there=False)
        if not self._look.is_there:
            self._deaf = True  # what is heard may come from where it went
            self._look_later(_AWAY)

    def _find(self) -> _Look:
        trusted = self._ask_trust()
        is_there = self.directory is not None and self.directory.is_dir()
        real = os.path.realpath(self.directory) if self.directory is not None and is_there else None
        found = discover(
            self.directory,
            self._folders.home,
            trusted=trusted,
            may_write=lambda folder: real is not None and folder.is_relative_to(real),
        )
        return _Look(found, trusted, is_there=self.directory is None or is_there)

    def _ask_trust(self) -> bool:
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
        self._listening = bool(self._followers)
        deaf = self._deaf
        try:
            # And once more: a folder that came just before it was listened is to be watched too.
            while (named := await self._to_watch()) != self._named or deaf:
                old, self._ears = self._ears, await listen(named, self._changed, self._lost)
                self._named = named
                self._deaf = deaf = False
                await _close_all(old)
        except (SeraiError, OSError) as error:
            if not self._deaf:
                _log.warning("changes of customisations are not noticed at once: %s", error)
            self._deaf = True

    async def _to_watch(self) -> list[Watched]:
        if not self._listening:
            return []
        return await self._folders.read(lambda: watched(self.directory, self._folders.home))

    def _changed(self) -> None:
        self._look_later(_GATHER)

    def _look_later(self, seconds: float) -> None:
        if self._due is None and self._followers:
            self._due = asyncio.get_running_loop().call_later(seconds, self._look_again)

    def _look_again(self) -> None:
        self._due = None
        if self._followers:
            self._refresh()

    def _lost(self, error: SeraiError | None) -> None:
        """Note that a watch has ended. Without an error its folder is gone, which is a change like others."""
        self._deaf = True
        if error is None:
            self._changed()
        else:
            _log.warning("changes of customisations are no longer noticed at once: %s", error)


def _tell(changed: Callable[[], None]) -> None:
    try:
        changed()
    except Exception:  # noqa: BLE001 - one session that fails must not keep it from the others
        _log.exception("a session did not take what was found")


class CustomizedFolders:
    """The folders that sessions in memory work in.

    Args:
        home: The person's home.
        is_trusted: Whether a folder is trusted. It may read files: it is asked in a thread.
    """

    def __init__(self, home: Path, is_trusted: Callable[[Path], bool]) -> None:
        self.home = home
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


# -- ears: a few places of large folders, with one watch of the system for each folder ----------------------


class _Places:
    """The places of a root that are named, and the way to each of them. What lies beside is not watched."""

    def __init__(self, root: str, named: Sequence[Watched]) -> None:
        self._prefix = f"{root.rstrip('/')}/"
        self._root = root
        self._flat = {str(place.path): place.names for place in named if not place.recursive}
        self._deep = tuple(f"{str(place.path).rstrip('/')}/" for place in named if place.recursive)
        self._ways = {str(folder) for place in named for folder in (place.path, *place.path.parents)}

    def concerns(self, path: str) -> bool:
        """Whether a change at an absolute path is to be heard of."""
        folder, _, name = path.rpartition("/")
        is_named = name in self._flat.get(folder or "/", ())
        return is_named or f"{path}/".startswith(self._deep) or path == self._root

    def prunes(self, folder: str) -> bool:
        """Whether nothing in a folder, relative to the root, is to be heard of."""
        path = f"{self._prefix}{folder}"
        return path not in self._ways and not self.concerns(path)


class FolderEar:
    """Hears of what changes below one folder. Made by `listen`.

    Args:
        root: The folder, without links in its path.
        named: The places in it that count.
        changed: Is called on the event loop when one of them may have changed.
        lost: Is called when nothing more will be heard: with the error, or `None` when the folder is gone.
    """

    def __init__(
        self,
        root: str,
        named: Sequence[Watched],
        changed: Callable[[], None],
        lost: Callable[[ProtocolError | None], None],
    ) -> None:
        self._places = _Places(root, named)
        self._changed = changed
        self._lost = lost
        self._is_open = False
        self._watch = FolderWatch(
            root, recursive=True, prunes=self._places.prunes, hear=self._hear, end=self._end
        )

    async def opened(self) -> None:
        """Wait until all that happens is heard of.

        Raises:
            ProtocolError: The system does not watch it.
        """
        await asyncio.shield(self._watch.ready)
        self._is_open = True
        if self._watch.ended.done():
            self._lost(None)

    async def close(self) -> None:
        """Hear no more. Returns when nothing of it is left; cancelling is safe."""
        self._is_open = False
        await self._watch.close()

    def _hear(self, events: Sequence[WatchEvent]) -> Callable[[], None] | None:
        return self._changed if any(self._places.concerns(event.path) for event in events) else None

    def _end(self, error: ProtocolError | None) -> None:
        if self._is_open:
            self._lost(error)


async def listen(
    named: Sequence[Watched], changed: Callable[[], None], lost: Callable[[ProtocolError | None], None]
) -> list[FolderEar]:
    """Hear of changes in all places that are named, from the moment on that this returns.

    Cancelling is safe: nothing stays behind.

    Raises:
        ProtocolError: The system does not watch one of them.
    """
    roots: list[str] = []  # the folders that no other one contains
    for path in sorted(str(place.path) for place in named):
        if not any(f"{path}/".startswith(f"{root.rstrip('/')}/") for root in roots):
            roots.append(path)
    ears = [FolderEar(root, named, changed, lost) for root in roots]
    try:
        for ear in ears:
            await ear.opened()
    except BaseException:
        await _close_all(ears)
        raise
    return ears


async def _close_all(ears: Sequence[FolderEar]) -> None:
    """Close all of them. When this is cancelled it waits for that first: it does not take long."""
    closing = asyncio.gather(*(ear.close() for ear in ears), return_exceptions=True)
    try:
        await asyncio.shield(closing)
    except asyncio.CancelledError:
        await closing
        raise
