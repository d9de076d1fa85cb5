"""File completions: the files of a folder, as git lists them, or as they are on the disk.

Repositories in a repository, such as submodules, are listed by git as well. Where git lists nothing, since
all of the folder is ignored, the disk counts. All programs that the settings of a repository could make git
run are turned off.

A listing is used for a second. Then it is made again, while the old one still answers, up to an age of two
seconds. Later requests wait for the new one, up to a second. A listing that did not change is not laid out
again.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import mimetypes
import os
import re
import stat
import threading
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from unicodedata import normalize

from serai.ahp.types import MessageResourceAttachment
from serai.completions.completion import ITEM_LIMIT, KIND, Candidate
from serai.completions.search import PathListing, PathListingBuilder, in_turns, search
from serai.machine.processes.environment import HARDENED, find_program, git_environment
from serai.machine.processes.processes import brief

ENTRY_LIMIT = 500_000
"""Most files and folders of a listing."""
OLDEST = 2.0
"""Oldest listing that answers while a new one is being made, in seconds."""

_AGE = 1.0
"""Oldest listing that is not made again, in seconds."""
_LONGEST_WAIT = 1.0
"""Longest wait for a new listing, in seconds; then the old one answers."""
_LONGEST = 20.0
"""Longest time to make a listing, in seconds."""
_CHUNK = 65_536
_MOST_REPOSITORIES = 64
"""Most nested repositories that are listed."""

_LEFT_OUT = frozenset(
    {
        ".git", ".hg", ".svn", ".jj", "node_modules", "__pycache__", ".venv", ".tox", ".nox",
        ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".idea", ".DS_Store",
    }
)  # fmt: skip
"""Names that are left out, since nobody looks for them among their own files."""

_GIT = (*HARDENED, "ls-files", "-z", "--stage", "--others", "--exclude-standard")
_STAGED = re.compile(rb"(\A|\0)\d{6} [0-9a-f]{40,64} \d\t")
"""Beginning of an entry that git tracks; a new file has its path alone."""
_SUBMODULE = re.compile(rb"(?:\A|\0)160000 [0-9a-f]{40,64} \d\t([^\0]+)")


class FileIndex:
    """The files of one folder.

    Args:
        folder: An absolute path.
        closed: A folder that is left out with all that is in it.
    """

    def __init__(self, folder: Path, closed: Path | None = None) -> None:
        self.folder = folder
        self._closed = closed
        self._listing: PathListing | None = None
        self._mark: bytes | None = None
        self._looked_at = -math.inf
        self._making: asyncio.Task[None] | None = None

    async def listing(self) -> PathListing:
        """Return a listing of the folder; it is empty when there is no such folder.

        It may be up to `OLDEST` seconds old when making a new one takes a while, and older only when that
        takes more than a second. Cancelling is safe: others may wait for the same listing.
        """
        age = time.monotonic() - self._looked_at
        if self._making is None and age >= _AGE:
            self._making = asyncio.create_task(self._make())
            self._making.add_done_callback(self._made)
        if self._making is not None:
            if self._listing is None:
                await asyncio.shield(self._making)
            elif age >= OLDEST:
                await asyncio.wait({self._making}, timeout=_LONGEST_WAIT)
        return self._listing or PathListing()

    async def candidates(self, query: str) -> list[Candidate]:
        """Return the existing files and folders that fit, best first; a folder's name ends with `/`."""
        listing = await self.listing()
        query = query.removeprefix("./")
        # A letter with a sign is one character, or two as macOS has them.
        spellings = {query: None} | {normalize(form, query): None for form in ("NFC", "NFD")}
        found: list[str] = []
        for spelling in spellings:
            found += await in_turns(search(listing, spelling, ITEM_LIMIT - len(found)))
        return await asyncio.to_thread(_attached, self.folder, found)

    async def close(self) -> None:
        """Stop making a listing; no process and no thread stays behind."""
        if self._making is not None:
            self._making.cancel()
            await asyncio.wait({self._making})

    async def _make(self) -> None:
        closed = await asyncio.to_thread(_inside, self.folder, self._closed)
        look = _FileScan(self.folder, closed)
        if not await look.ask_git():
            look = _FileScan(self.folder, closed)
            await look.walk()
        mark = look.mark.digest()
        if mark != self._mark:
            self._listing = await in_turns(look.builder.build())
            self._mark = mark

    def _made(self, task: asyncio.Task[None]) -> None:
        self._making = None
        self._looked_at = time.monotonic()
        if not task.cancelled():
            task.exception()  # it was raised where the task is awaited


def _inside(folder: Path, closed: Path | None) -> str | None:
    """Return the beginning of the paths that are left out; `None` when none are. Reads the disk."""
    if closed is None:
        return None
    above, below = os.path.realpath(folder), os.path.realpath(closed)
    if Path(above).is_relative_to(below):
        return ""
    return f"{os.path.relpath(below, above)}/" if Path(below).is_relative_to(above) else None


class _FileScan:
    """A scan of a folder, by git or by the disk."""

    def __init__(self, folder: Path, closed: str | None) -> None:
        self._folder = folder
        self._closed = closed
        self.builder = PathListingBuilder()
        self.mark = hashlib.blake2b()
        """Hash of the listing, to notice changes."""
        self._nested: list[str] = []
        """Folders that may be repositories of their own, and are to be listed."""

    def _open_ones(self, names: list[str]) -> list[str]:
        closed = self._closed
        return names if closed is None else [name for name in names if not name.startswith(closed)]

    @property
    def _is_full(self) -> bool:
        return self.builder.count >= ENTRY_LIMIT

    # -- git -----------------------------------------------------------------------------------------------

    async def ask_git(self) -> bool:
        """Read the files that git tracks, and new ones that are not ignored, also in nested repositories.

        Returns:
            `False` where git lists nothing, as for a folder that is ignored as a whole.
        """
        program = await asyncio.to_thread(find_program, "git", os.environ)
        if program is None:
            return False
        try:
            async with asyncio.timeout(_LONGEST):
                if not await self._read(program, "") or not self.builder.count:
                    return False
        except OSError:  # it takes too long, or there is no such folder
            return False
        with suppress(OSError):
            async with asyncio.timeout(_LONGEST):
                await self._read_nested(program)
        return True

    async def _read_nested(self, program: str) -> None:
        count = 0
        while self._nested and not self._is_full and count < _MOST_REPOSITORIES:
            inside = self._nested.pop(0)
            if await asyncio.to_thread(_is_repository, self._folder, inside):
                count += 1
                await self._read(program, inside)

    async def _read(self, program: str, inside: str) -> bool:
        """Read the listing of one repository; return whether git answers."""
        environment = git_environment(os.environ)
        async with brief(program, *_GIT, folder=self._folder / inside, environment=environment) as process:
            if process.stdout is None:
                raise RuntimeError("the process was started without a pipe")
            self.mark.update(os.fsencode(inside) + b"\0")
            async for entries in _whole_entries(process.stdout):
                self.mark.update(entries)
                self._take(inside, entries)
                if self._is_full:
                    return True
            return await process.wait() == 0

    def _take(self, inside: str, entries: bytes) -> None:
        """Add entries of a repository. A folder among them is one that git does not look into."""
        if b"160000 " in entries:
            self._nested += [f"{inside}{os.fsdecode(name)}/" for name in _SUBMODULE.findall(entries)]
        names = os.fsdecode(_STAGED.sub(b"\\1", entries)).split("\0")
        names.pop()  # what stands behind the last NUL
        names = self._open_ones([inside + name for name in names] if inside else names)
        if b"/\0" in entries:
            self._nested += [name for name in names if name.endswith("/")]
        self.builder.add(names)

    # -- the disk ------------------------------------------------------------------------------------------

    async def walk(self) -> None:
        """Read the disk, without the names that are left out. Cancelling waits for the thread to end soon."""
        stop = threading.Event()
        walking = asyncio.ensure_future(asyncio.to_thread(self._walk, stop))
        try:
            await asyncio.shield(walking)
        except asyncio.CancelledError:
            stop.set()
            await walking
            raise

    def _walk(self, stop: threading.Event) -> None:
        todo = [""]
        end = time.monotonic() + _LONGEST
        while todo and not stop.is_set() and not self._is_full and time.monotonic() < end:
            inside = todo.pop()
            paths = self._open_ones(self._listed(inside))
            todo += (path for path in reversed(paths) if path.endswith("/"))
            self.mark.update(os.fsencode("\0".join(paths)))
            self.builder.add(paths)

    def _listed(self, inside: str) -> list[str]:
        try:
            with os.scandir(self._folder / inside) as entries:
                return sorted(
                    f"{inside}{entry.name}{'/' if entry.is_dir(follow_symlinks=False) else ''}"
                    for entry in entries
                    if entry.name not in _LEFT_OUT
                )
        except OSError:  # it is gone already, or may not be read
            return []


async def _whole_entries(output: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """Yield the output of git, whole entries at a time."""
    rest = b""
    while chunk := await output.read(_CHUNK):
        entries, end, rest = (rest + chunk).rpartition(b"\0")
        if end:
            yield entries + end


def _is_repository(folder: Path, inside: str) -> bool:
    """Tell whether a folder is a repository that is reached without a link. Reads the disk."""
    place = Path(os.path.realpath(folder), inside)
    return os.path.realpath(place) == str(place) and os.path.lexists(place / ".git")


def _attached(folder: Path, found: list[str]) -> list[Candidate]:
    """Return the found paths that exist: git also lists files that were deleted. Reads the disk."""
    candidates: dict[str, Candidate] = {}  # git names a submodule like a file, and what is in it too
    for name in found:
        path = folder / name
        try:
            is_folder = stat.S_ISDIR(os.lstat(path).st_mode)
        except OSError:
            continue
        kind = None if is_folder else mimetypes.guess_type(name)[0]
        picture = kind is not None and kind.startswith("image/")
        attachment = MessageResourceAttachment(
            uri=path.as_uri(),
            label=path.name,
            display_kind="directory" if is_folder else "image" if picture else "document",
            content_type=kind,
            meta={KIND: "folder" if is_folder else "file"},
        )
        written = name.rstrip("/") + "/" * is_folder
        candidates.setdefault(written, Candidate(written, attachment))
    return list(candidates.values())
