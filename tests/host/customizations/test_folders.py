"""What working directories have, for all sessions that work in one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from serai.customizations.containers import Customizations
from serai.errors import ConfigInvalid
from serai.host.customizations import folders as customized_folders
from serai.host.customizations.folders import CustomizedFolder, CustomizedFolders

WITHIN = 30.0


class Place:
    """A working directory, a home, and how often they were looked at."""

    def __init__(self, place: Path) -> None:
        self.work = place / "work"
        self.work.mkdir()
        (place / "person").mkdir()
        self.trusted = False
        self.asked = 0
        self.folders = CustomizedFolders(place / "person", self.is_trusted)

    def is_trusted(self, folder: Path) -> bool:
        assert folder == self.work
        self.asked += 1
        return self.trusted

    def write(self, text: str = "Be kind.\n") -> None:
        (self.work / "AGENTS.md").write_text(text)


@pytest.fixture
async def place(tmp_path: Path) -> AsyncIterator[Place]:
    place = Place(tmp_path)
    yield place
    await place.folders.close()


def names(found: Customizations | None) -> list[str]:
    return [item.name for item in found.definitions] if found else []


class Follower:
    """Waits for news of a folder."""

    def __init__(self, folder: CustomizedFolder) -> None:
        self.folder = folder
        self.news = asyncio.Event()

    def changed(self) -> None:
        self.news.set()

    async def until(self, holds: Callable[[], bool]) -> None:
        async with asyncio.timeout(WITHIN):
            while not holds():
                await self.news.wait()
                self.news.clear()


async def test_a_folder_is_read_again_only_when_it_has_changed(place: Place) -> None:
    folder = place.folders.enter(place.work)
    follower = Follower(folder)
    folder.follow(follower.changed)
    await follower.until(lambda: folder.found is not None)
    before = folder.found
    looked: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    folder.look(lambda: looked.set_result(None))
    await asyncio.wait_for(looked, WITHIN)
    assert folder.found is before
    place.write()
    await follower.until(lambda: names(folder.found) == ["AGENTS.md"])


async def test_trust_is_asked_for_each_time(place: Place) -> None:
    (place.work / ".mcp.json").write_text('{"mcpServers": {"one": {"command": "one"}}}')
    folder = place.folders.enter(place.work)
    folder.follow(lambda: None)
    assert [item.runnable for item in (await folder.catch_up()).definitions] == [False]
    place.trusted = True
    assert [item.runnable for item in (await folder.catch_up()).definitions] == [True]


async def test_a_list_of_trusted_folders_that_cannot_be_read_means_no_trust(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(folder: Path) -> bool:
        raise ConfigInvalid(f"the list is damaged: {folder}")

    (tmp_path / ".mcp.json").write_text('{"mcpServers": {"one": {"command": "one"}}}')
    folders = CustomizedFolders(tmp_path / "person", broken)
    with caplog.at_level(logging.WARNING):
        found = await folders.enter(tmp_path).catch_up()
    assert [item.runnable for item in found.definitions] == [False]
    assert "the list is damaged" in caplog.text
    await folders.close()


async def test_a_discovery_that_fails_leaves_what_is_known(
    place: Place, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    place.write()
    folder = place.folders.enter(place.work)
    await folder.catch_up()

    def fail(*_arguments: object, **_options: object) -> Customizations:
        raise RecursionError

    monkeypatch.setattr(customized_folders, "discover", fail)
    place.write("Be brief.\n")
    assert names(await folder.catch_up()) == ["AGENTS.md"]
    assert "cannot be read" in caplog.text
    other = place.folders.enter(None)
    assert await other.catch_up() == Customizations()


async def test_a_working_directory_that_goes_and_comes_back_is_seen(place: Place) -> None:
    place.write()
    folder = place.folders.enter(place.work)
    follower = Follower(folder)
    folder.follow(follower.changed)
    await follower.until(lambda: names(folder.found) == ["AGENTS.md"])
    (place.work / "AGENTS.md").unlink()
    place.work.rmdir()
    await follower.until(lambda: names(folder.found) == [])
    place.work.mkdir()
    place.write()
    assert names(await folder.catch_up()) == ["AGENTS.md"]


async def test_it_is_looked_no_more_when_nobody_follows(place: Place) -> None:
    folder = place.folders.enter(place.work)
    follower = Follower(folder)
    folder.follow(follower.changed)
    await follower.until(lambda: folder.found is not None)
    folder.unfollow(follower.changed)
    await folder.catch_up()
    async with asyncio.timeout(WITHIN):
        while folder._work:
            await asyncio.wait(folder._work)
