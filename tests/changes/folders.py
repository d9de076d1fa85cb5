"""A folder without git, and a tool that edits in it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from serai.changes.catalogue import ChangesetKind, Which
from serai.changes.moved import Moment
from serai.changes.noted import NotedChanges
from serai.changes.records import Limits


def turn(turn_id: str) -> Which:
    return Which(ChangesetKind.TURN, turn_id)


async def until_it_is_older(*files: Path) -> None:
    """Wait until what is written from now on is clearly later than some files."""
    async with asyncio.timeout(10):
        for file in files:
            while not Moment(time.time_ns()).is_after(file.stat().st_ctime_ns):  # noqa: ASYNC110 - a clock calls nobody
                await asyncio.sleep(0.002)


class Folder:
    """A folder, and a tool that edits in it."""

    def __init__(self, top: Path, private: Path, limits: Limits | None = None) -> None:
        self.top = top
        self.private = private
        top.mkdir(exist_ok=True)
        self.limits = limits
        self.noted = self.open()

    def open(self) -> NotedChanges:
        return NotedChanges(str(self.top), "s1", folder=self.private, limits=self.limits)

    def write(self, path: str, content: bytes) -> Path:
        file = self.top / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(content)
        return file

    async def edit(self, turn_id: str, path: str, content: bytes | None) -> bool:
        noted = await self.noted.note_before(turn_id, path)
        if content is None:
            (self.top / path).unlink()
        else:
            self.write(path, content)
        return await self.noted.note_after(turn_id, path) and noted

    async def do(self, turn_id: str, work: Callable[[], object], *paths: str) -> None:
        """A tool does something, and names these paths."""
        for path in paths:
            await self.noted.note_before(turn_id, path)
        work()
        for path in paths:
            await self.noted.note_after(turn_id, path)

    def everything(self) -> dict[str, bytes | None]:
        """All that is there, with the content of files."""
        return {
            str(place.relative_to(self.top)): place.read_bytes() if place.is_file() else None
            for place in self.top.rglob("*")
        }
