"""Which files a folder has: what git says where there is git, else what is there.

Repositories in a repository, such as submodules, are asked for theirs. Where git tells nothing, since all of
the folder is ignored, what is there counts.

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
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path

from serai.completions.listing import Listing, ListingBuilder
from serai.completions.turns import in_turns
from serai.machine.processes.brief import brief
from serai.machine.processes.git import HARDENED, git_environment, git_program

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

_GIT = (*HARDENED, "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
_GIT_STAGED = (*HARDENED, "ls-files", "-z", "--stage")
_SUBMODULE = b"160000 "  # how the entry of one begins in the second listing
_MOST_REPOSITORIES = 64  # so many are looked into that are in a folder


class FileIndex:
    """The files of one folder.

    Args:
        folder: An absolute path.
        closed: A folder that is left out with all that is in it, wherever it is.
    """

    def __init__(self, folder: Path, closed: Path | None = None) -> None:
        self.folder = folder
        self._closed = closed
        self._git = _Git(folder)
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
        builder, mark = await self._git.read(closed) or await _from_disk(self.folder, closed)
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


class _Git:
    """What git says of a folder, and of the repositories in it: submodules and others.

    Which submodules there are is another question to git. It is asked again when the answer to the first one
    has changed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._program = ""
        self._links: dict[str, tuple[bytes, list[str]]] = {}
        """The submodules of each repository, and the mark of what it had then."""

    async def read(self, closed: str | None) -> tuple[ListingBuilder, bytes] | None:
        """What git knows, and what is new and not ignored; `None` where it tells nothing.

        It tells nothing of a folder that is ignored as a whole, as a scratch folder may be.
        """
        program = await asyncio.to_thread(git_program, os.environ)
        if program is None:
            return None
        self._program = program
        reading = _Reading(closed)
        known, self._links = self._links, {}
        try:
            async with asyncio.timeout(_LONGEST):
                if not await self._read("", reading, known) or not reading.builder.count:
                    return None
        except OSError:  # it takes too long, or there is no such folder
            return None
        try:
            async with asyncio.timeout(_LONGEST):
                await self._read_nested(reading, known)
        except OSError:
            reading.builder.whole = False
        return reading.builder, reading.mark.digest()

    async def _read_nested(self, reading: _Reading, known: dict[str, tuple[bytes, list[str]]]) -> None:
        count = 0
        while reading.nested and reading.builder.whole:
            inside = reading.nested.pop(0)
            if not await asyncio.to_thread(_is_repository, self._folder, inside):
                continue
            count += 1
            if count > _MOST_REPOSITORIES:
                reading.builder.whole = False
            else:
                await self._read(inside, reading, known)

    async def _read(self, inside: str, reading: _Reading, known: dict[str, tuple[bytes, list[str]]]) -> bool:
        """Read what one repository has; returns whether git answers."""
        mark = hashlib.blake2b()
        async with self._asked(_GIT, inside) as process:
            async for told, paths in _entries(process):
                mark.update(told)
                reading.add(inside, paths, b"/\0" in told)
                if reading.builder.count >= ENTRY_LIMIT:
                    reading.builder.whole = False
                    break
            if reading.builder.whole and await process.wait() != 0:
                return False
        reading.mark.update(os.fsencode(inside) + b"\0" + mark.digest())
        links = known.get(inside)
        if links is None or links[0] != mark.digest():
            links = (mark.digest(), await self._submodules(inside))
        self._links[inside] = links
        reading.nested += [f"{inside}{name}/" for name in links[1]]
        return True

    async def _submodules(self, inside: str) -> list[str]:
        found: list[bytes] = []
        async with self._asked(_GIT_STAGED, inside) as process:
            async for told, entries in _entries(process):
                if _SUBMODULE in told:
                    found += [entry.partition(b"\t")[2] for entry in entries if entry.startswith(_SUBMODULE)]
        return list(map(os.fsdecode, found))

    def _asked(self, command: tuple[str, ...], inside: str) -> AbstractAsyncContextManager[Process]:
        environment = git_environment(os.environ)
        return brief(self._program, *command, folder=self._folder / inside, environment=environment)


class _Reading:
    """What was read so far."""

    def __init__(self, closed: str | None) -> None:
        self._closed = closed
        self.builder = ListingBuilder()
        self.mark = hashlib.blake2b()
        self.nested: list[str] = []
        """Folders that may be repositories of their own, and are to be read."""

    def add(self, inside: str, paths: list[bytes], has_folders: bool) -> None:
        """Add what git has told of a repository. A folder in it is one that git does not look into."""
        names = list(map(os.fsdecode, paths))
        if inside:
            names = [inside + name for name in names]
        if self._closed is not None:
            names = [name for name in names if not name.startswith(self._closed)]
        if has_folders:
            self.nested += [name for name in names if name.endswith("/")]
        self.builder.add(names)


async def _entries(process: Process) -> AsyncIterator[tuple[bytes, list[bytes]]]:
    """What git tells, whole entries at a time: as it is, and taken apart."""
    if process.stdout is None:
        raise RuntimeError("the process was started without a pipe")
    rest = b""
    while chunk := await process.stdout.read(_CHUNK):
        told, end, rest = (rest + chunk).rpartition(b"\0")
        if end:
            yield told + end, told.split(b"\0")


def _is_repository(folder: Path, inside: str) -> bool:
    """Whether there is one, and no link on the way to it. Reads the disk."""
    place = Path(os.path.realpath(folder), inside)
    return os.path.realpath(place) == str(place) and os.path.lexists(place / ".git")


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
