"""Hearing of changes in a few places of a folder."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from serai.customizations import Watched
from serai.errors import ProtocolError
from serai.host.customizations.folders import FolderEar, _Places, listen

WITHIN = 30.0


def deep(path: Path) -> Watched:
    return Watched(path, recursive=True, names=frozenset())


def flat(path: Path, *names: str) -> Watched:
    return Watched(path, recursive=False, names=frozenset(names))


class Listener:
    """What was heard."""

    def __init__(self) -> None:
        self.news = asyncio.Event()
        self.lost: list[ProtocolError | None] = []
        self.ears: list[FolderEar] = []

    async def to(self, *named: Watched) -> None:
        self.ears = await listen(named, self.news.set, self._lost)

    def _lost(self, error: ProtocolError | None) -> None:
        self.lost.append(error)
        self.news.set()

    async def hears(self) -> None:
        async with asyncio.timeout(WITHIN):
            await self.news.wait()
        self.news.clear()


@pytest.fixture
async def listener() -> AsyncIterator[Listener]:
    listener = Listener()
    yield listener
    for ear in listener.ears:
        await ear.close()


def test_what_lies_beside_the_way_to_a_place_is_left_out() -> None:
    home = Path("/home/me")
    named = [
        deep(home / ".claude/skills"),
        flat(home, ".claude", "AGENTS.md"),
        flat(home / ".claude", "skills", "settings.json"),
        flat(home / "work/project", ".agents"),
    ]
    places = _Places(str(home), named)
    seen = [".claude", ".claude/skills", ".claude/skills/a/b", "work", "work/project", "work/project/.agents"]
    assert not any(places.prunes(folder) for folder in seen)
    beside = ["Downloads", ".claude/projects", "work/other", "work/project/src", ".claude/skills-of-others"]
    assert all(places.prunes(folder) for folder in beside)


async def test_a_change_in_a_place_is_heard_and_one_beside_it_is_not(
    listener: Listener, tmp_path: Path
) -> None:
    (tmp_path / ".claude/skills").mkdir(parents=True)
    (tmp_path / "src").mkdir()
    await listener.to(flat(tmp_path, ".claude", "AGENTS.md"), deep(tmp_path / ".claude/skills"))
    assert len(listener.ears) == 1
    for number in range(3):
        (tmp_path / "README.md").write_text("x")
        (tmp_path / "src/main.py").write_text("x")
        (tmp_path / ".claude/history").write_text("x")
        assert not listener.news.is_set()
        (tmp_path / ".claude/skills" / f"{number}").mkdir()
        await listener.hears()
    (tmp_path / "AGENTS.md").write_text("x")
    await listener.hears()


async def test_what_is_made_in_a_new_folder_is_heard(listener: Listener, tmp_path: Path) -> None:
    skills = tmp_path / "skills"
    skills.mkdir()
    await listener.to(deep(skills))
    (skills / "new/deeper").mkdir(parents=True)
    await listener.hears()
    (skills / "new/deeper/SKILL.md").write_text("x")
    await listener.hears()


async def test_a_folder_that_goes_is_told_of(listener: Listener, tmp_path: Path) -> None:
    folder = tmp_path / "skills"
    folder.mkdir()
    await listener.to(deep(folder))
    shutil.rmtree(folder)
    async with asyncio.timeout(WITHIN):
        while not listener.lost:
            await listener.news.wait()
            listener.news.clear()
    assert listener.lost == [None]


async def test_what_cannot_be_watched_is_an_error_and_leaves_nothing(
    listener: Listener, tmp_path: Path
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    with pytest.raises(ProtocolError):
        await listener.to(deep(there), deep(tmp_path / "not there"))
    assert (listener.ears, listener.lost) == ([], [])
