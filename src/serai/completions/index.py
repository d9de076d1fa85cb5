"""Which files a folder has: what git says where there is git, else what is there.

git is asked with what a repository's own settings could make it run turned off. A listing is used for a
moment; then it is made again, while the old one still answers, for a few seconds. Who asks later waits for
the new one. A listing that did not change is not laid out again.
"""

from __future__ import annotations

import asyncio
import hashlib
import os
import time
from asyncio.subprocess import Process
from pathlib import Path

from serai.completions.listing import Listing, ListingBuilder
from serai.completions.turns import in_turns
from serai.processes.brief import brief
from serai.processes.git import HARDENED, git_environment

__all__ = ["ENTRY_LIMIT", "OLDEST", "FileIndex"]

ENTRY_LIMIT = 500_000
"""So many files and folders a listing has at most."""

OLDEST = 2.0
"""So long after it was made a listing may answer while a new one is being made, in seconds."""

_AGE = 0.2  # so long a listing is taken as it is, in seconds, or ten times as long as it took to make,
_LONGEST_AGE = OLDEST / 2  # but no longer than this: then a new one is there before the old one is too old
_PATIENCE = 0.1  # so long someone waits for a new one when there is an old one, if the last was as quick,
_LONGEST_WAIT = 1.0  # and so long when the old one is too old; then it answers all the same
_LONGEST = 20.0  # so long making one may take
_BIT = 0.02  # so long folders are looked into before others get the thread
_CHUNK = 65_536

# What nobody means who looks for a file of their own.
_LEFT_OUT = frozenset(
    {
        ".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", ".tox", ".nox",
        ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".idea", ".DS_Store",
    }
)  # fmt: skip

_GIT = ("git", *HARDENED, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")


class FileIndex:
    """The files of one folder.

    Args:
        folder: An absolute path.
        closed: A folder that is left out with all that is in it, wherever it is.
    """

    def __init__(self, folder: Path, closed: Path | None = None) -> None:
        self.folder = folder
        self._closed = closed
        self._listing: Listing | None = None
        self._mark: bytes | None = None
        self._good_until = 0.0
        self._too_old_at = 0.0
        self._took = 0.0
        self._making: asyncio.Task[None] | None = None

    async def listing(self) -> Listing:
        """What the folder has; empty when there is no such folder.

        It may be up to `OLDEST` seconds old when the folder is so large that making a new one takes a while;
        older only when that takes more than a second. Cancelling is safe: others may wait for the same one.
        """
        now = time.monotonic()
        if self._making is None and now >= self._good_until:
            self._making = asyncio.create_task(self._make())
            self._making.add_done_callback(self._made)
        if self._making is not None:
            if self._listing is None:
                await asyncio.shield(self._making)
            elif now >= self._too_old_at:
                await asyncio.wait({self._making}, timeout=_LONGEST_WAIT)
            elif self._took < _PATIENCE:
                await asyncio.wait({self._making}, timeout=_PATIENCE)
        return self._listing or Listing()

    def stale(self) -> None:
        """Something has changed: who asks next waits for a new listing, as when one is too old."""
        self._good_until = self._too_old_at = 0.0

    async def close(self) -> None:
        """End what is under way; no process and no thread stays behind."""
        if self._making is not None:
            self._making.cancel()
            await asyncio.wait({self._making})

    async def _make(self) -> None:
        begin = time.monotonic()
        closed = await asyncio.to_thread(_inside, self.folder, self._closed)
        builder, mark = await _from_git(self.folder, closed) or await _from_disk(self.folder, closed)
        if mark != self._mark:
            self._listing = await in_turns(builder.build())
            self._mark = mark
        now = time.monotonic()
        self._took = now - begin
        self._good_until = now + min(max(_AGE, 10 * self._took), _LONGEST_AGE)
        self._too_old_at = now + OLDEST

    def _made(self, task: asyncio.Task[None]) -> None:
        self._making = None
        if not task.cancelled() and task.exception() is not None:
            self._good_until = time.monotonic() + _AGE


def _inside(folder: Path, closed: Path | None) -> str | None:
    """How the paths begin that are left out; `None` when none are. Reads the disk."""
    if closed is None:
        return None
    above, below = os.path.realpath(folder), os.path.realpath(closed)
    if Path(above).is_relative_to(below):
        return ""
    return f"{os.path.relpath(below, above)}/" if Path(below).is_relative_to(above) else None


async def _from_git(folder: Path, closed: str | None) -> tuple[ListingBuilder, bytes] | None:
    """What git knows, and what is new and not ignored; `None` where git does not answer."""
    try:
        async with (
            brief(*_GIT, folder=folder, environment=git_environment(os.environ)) as process,
            asyncio.timeout(_LONGEST),
        ):
            read = await _read(process, closed)
            return read if not read[0].whole or await process.wait() == 0 else None
    except OSError:  # it takes too long, or there is no git, or no such folder
        return None


async def _read(process: Process, closed: str | None) -> tuple[ListingBuilder, bytes]:
    if process.stdout is None:
        raise RuntimeError("the process was started without a pipe")
    builder = ListingBuilder()
    mark = hashlib.blake2b()
    rest = b""
    while chunk := await process.stdout.read(_CHUNK):
        mark.update(chunk)
        *paths, rest = (rest + chunk).split(b"\0")
        names = map(os.fsdecode, paths)
        builder.add(names if closed is None else (name for name in names if not name.startswith(closed)))
        if builder.count >= ENTRY_LIMIT:
            builder.whole = False
            break
    return builder, mark.digest()


async def _from_disk(folder: Path, closed: str | None) -> tuple[ListingBuilder, bytes]:
    """What is there, without what nobody means. Others get the thread after each bit of it."""
    walk = _Walk(folder, closed)
    while await asyncio.to_thread(walk.goes_on):
        pass
    return walk.builder, walk.mark.digest()


class _Walk:
    """The way through a folder and those in it."""

    def __init__(self, folder: Path, closed: str | None) -> None:
        self._folder = folder
        self._closed = closed
        self._todo = [""]
        self._end = time.monotonic() + _LONGEST
        self.builder = ListingBuilder()
        self.mark = hashlib.blake2b()

    def goes_on(self) -> bool:
        """Look into folders for a moment. Returns whether there are more. Reads the disk."""
        begin = time.monotonic()
        while self._todo:
            self._look(self._todo.pop())
            now = time.monotonic()
            if self.builder.count >= ENTRY_LIMIT or now > self._end:
                self.builder.whole = self.builder.whole and not self._todo
                return False
            if now > begin + _BIT:
                break
        return bool(self._todo)

    def _look(self, inside: str) -> None:
        paths: list[str] = []
        try:
            with os.scandir(self._folder / inside) as entries:
                for entry in entries:
                    if entry.name in _LEFT_OUT:
                        continue
                    is_folder = entry.is_dir(follow_symlinks=False)
                    path = f"{inside}{entry.name}{'/' if is_folder else ''}"
                    if self._closed is None or not path.startswith(self._closed):
                        paths.append(path)
        except OSError:  # it is gone already, or may not be read
            return
        paths.sort()
        self._todo += (path for path in reversed(paths) if path.endswith("/"))
        self.mark.update(os.fsencode("\0".join(paths)))
        self.builder.add(paths)
