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
from typing import NamedTuple

from serai.customizations import Found, Watched, discover, watched
from serai.errors import SeraiError
from serai.host.customizing.hearing import Ear, hear_no_more, listen
from serai.host.customizing.reading import Readers

__all__ = ["CustomizedFolder", "CustomizedFolders"]

_log = logging.getLogger(__name__)

_GATHER = 0.05
"""How long changes are gathered before a folder is looked at again, in seconds."""
_AWAY = 1.0
"""A folder that is not there is looked for as often, in seconds, while someone follows it."""


class _Look(NamedTuple):
    found: Found
    trusted: bool
    is_there: bool
    """Whether the directory exists. One that does not cannot be watched."""


class CustomizedFolder:
    """A working directory, or none, and the person's home: what is found there.

    Made by `CustomizedFolders.enter`.
    """

    def __init__(
        self,
        directory: Path | None,
        home: Path,
        is_trusted: Callable[[Path], bool],
        readers: Readers,
    ) -> None:
        self.directory = directory
        self.sessions = 0
        """How many sessions work here."""
        self._home = home
        self._is_trusted = is_trusted
        self._readers = readers
        self._look: _Look | None = None
        self._looked_at = -math.inf
        self._followers: dict[Callable[[], None], None] = {}
        self._waiting: list[Callable[[], None]] = []
        """Who wants to hear of it once."""
        self._work: asyncio.Task[None] | None = None
        self._again = False
        """Whether it is to be looked at,"""
        self._doubted = False
        """or only if it is trusted now and was not, or the other way round."""
        self._due: asyncio.TimerHandle | None = None
        self._listening = False
        """Whether it was last seen to that changes are heard of."""
        self._named: list[Watched] = []
        self._ears: list[Ear] = []
        self._deaf = False
        """Whether some changes are not heard of, although they should be."""
        self._closed = False

    @property
    def found(self) -> Found | None:
        """What was found when it was last looked at; `None` before."""
        return self._look.found if self._look else None

    # -- looking -------------------------------------------------------------------------------------------

    async def catch_up(self) -> Found:
        """What is there now: it is looked at again if something may have changed.

        Cancelling does not stop others who wait for it.
        """
        await asyncio.shield(self._look_if_needed())
        return self.found or Found()

    def look(self, then: Callable[[], None] | None = None, *, within: float = 0.0) -> None:
        """The same for who does not wait: `then` is called when it is done.

        Args:
            then: What to call.
            within: What was found no longer than so many seconds ago will do.
        """
        if then is not None:
            self._waiting.append(then)
        if asyncio.get_running_loop().time() < self._looked_at + within:
            self._start()
        else:
            self._look_if_needed()

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
        ears, self._ears = self._ears, []
        await hear_no_more(ears)

    @property
    def _is_current(self) -> bool:
        """Whether all changes since it was looked at would have been heard of, and there were none."""
        is_at_work = self._work is not None and not self._work.done()
        is_heard = self._listening and bool(self._followers) and not self._deaf
        is_known = self._look is not None and self._look.is_there
        return is_heard and is_known and not is_at_work and self._due is None

    def _look_if_needed(self) -> asyncio.Task[None]:
        if self._is_current:
            self._doubted = True
            return self._start()
        return self._refresh()

    def _refresh(self) -> asyncio.Task[None]:
        """Look again. What this returns is done when it has been looked at after this moment."""
        self._again = True
        return self._start()

    def _start(self) -> asyncio.Task[None]:
        if self._work is None or self._work.done():
            work = asyncio.sleep(0) if self._closed else self._keep_up()
            self._work = asyncio.create_task(work, name=f"customisations of {self.directory}")
        return self._work

    async def _keep_up(self) -> None:
        while self._again or self._doubted or self._waiting or self._listening != bool(self._followers):
            again, self._again = self._again, False
            doubted, self._doubted = self._doubted, False
            waiting, self._waiting = self._waiting, []
            if again or self._listening != bool(self._followers):
                await self._listen()
            if again or (doubted and await self._trust_has_changed()):
                await self._discover()
                waiting += self._followers
            for tell in dict.fromkeys(waiting):
                _tell(tell)

    async def _trust_has_changed(self) -> bool:
        if self.directory is None or self._look is None:
            return False
        return await self._readers.run(self._ask_trust) != self._look.trusted

    async def _discover(self) -> None:
        began = asyncio.get_running_loop().time()
        try:
            self._look = await self._readers.run(self._find)
            self._looked_at = began
        except Exception:  # noqa: BLE001 - whatever it is, sessions go on with what is known
            _log.exception("the customisations of %s cannot be read", self.directory)
            self._look = self._look or _Look(Found(), trusted=False, is_there=False)
        if not self._look.is_there:
            self._deaf = True  # what is heard may come from where it went
            self._look_later(_AWAY)

    def _find(self) -> _Look:
        trusted = self._ask_trust()
        real = None
        if self.directory is not None and self.directory.is_dir():
            real = os.path.realpath(self.directory)
        found = discover(
            self.directory,
            self._home,
            trusted=trusted,
            may_write=lambda folder: real is not None and folder.is_relative_to(real),
        )
        return _Look(found, trusted, is_there=self.directory is None or real is not None)

    def _ask_trust(self) -> bool:
        if self.directory is None:
            return False
        try:
            return self._is_trusted(self.directory)
        except (SeraiError, OSError) as error:
            _log.warning("%s counts as not trusted: %s", self.directory, error)
            return False

    # -- watching ------------------------------------------------------------------------------------------

    async def _listen(self) -> None:
        """Hear of changes while someone follows, and of all that there is to watch by now."""
        self._listening = bool(self._followers)
        deaf = self._deaf
        try:
            # And once more: a folder that came just before it was listened is to be watched too.
            while (named := await self._to_watch()) != self._named or deaf:
                ears = await listen(named, self._changed, self._lost)
                old, self._ears = self._ears, ears
                self._named = named
                self._deaf = deaf = False
                await hear_no_more(old)
        except (SeraiError, OSError) as error:
            if not self._deaf:
                _log.warning("changes of customisations are not noticed at once: %s", error)
            self._deaf = True

    async def _to_watch(self) -> list[Watched]:
        if not self._listening:
            return []
        return await self._readers.run(watched, self.directory, self._home)

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
        """A watch has ended. Without an error its folder is gone, which is a change like others."""
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
        self._home = home
        self._is_trusted = is_trusted
        self.readers = Readers()
        """For all that reads customisations."""
        self._open: dict[Path | None, CustomizedFolder] = {}
        self._closing: set[asyncio.Task[None]] = set()

    def enter(self, directory: Path | None) -> CustomizedFolder:
        """A session works in a folder from now on."""
        folder = self._open.get(directory)
        if folder is None:
            folder = CustomizedFolder(directory, self._home, self._is_trusted, self.readers)
            self._open[directory] = folder
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
