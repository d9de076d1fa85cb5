"""What is watched to hear of changes, and what is not."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from serai.changes.folder import FolderChanges, open_folder, place_of
from serai.host.changes.folder_watch import ChangesWatch, WatchedPlace, places_to_watch
from serai.machine.watch.globs import PathFilter
from serai.machine.watch.watch import Watches

WITHIN = 30.0


@pytest.fixture
async def watches() -> AsyncGenerator[Watches]:
    watches = Watches()
    yield watches
    await watches.close()


def make_repository(folder: Path) -> Path:
    folder.mkdir(parents=True)
    subprocess.run(["git", "init", "-q"], cwd=folder, check=True)  # noqa: S607 - the git of whoever runs the tests
    return folder


async def changes_of(folder: Path, home: Path) -> FolderChanges:
    return await open_folder(str(folder), "s", folder=home / "changes/s", home=home)


class Ears:
    """Hears of changes."""

    def __init__(self) -> None:
        self._heard = asyncio.Event()

    async def watching(self, watches: Watches, places: tuple[WatchedPlace, ...]) -> ChangesWatch:
        """A watch that has begun."""
        watch = ChangesWatch(watches, "/", place_of("/"), places, self._heard.set)
        await watch.begin()
        return watch

    async def hear(self) -> None:
        async with asyncio.timeout(WITHIN):
            await self._heard.wait()
        self._heard.clear()


async def test_the_files_of_a_repository_are_heard_of_and_what_is_committed(
    tmp_path: Path, watches: Watches
) -> None:
    folder = make_repository(tmp_path / "work")
    places = places_to_watch(await changes_of(folder, tmp_path / "home"), tmp_path / "home")
    ears = Ears()
    watch = await ears.watching(watches, places)
    (folder / "deep").mkdir()
    await ears.hear()
    (folder / "deep/file").write_text("x")
    await ears.hear()
    (folder / ".git/HEAD").write_text("ref: refs/heads/other\n")
    await ears.hear()
    await watch.close()
    assert len(watches) == 0


async def test_what_folders_above_say_is_ignored_is_heard_of(tmp_path: Path, watches: Watches) -> None:
    top = make_repository(tmp_path / "work")
    folder = top / "sub/deep"
    folder.mkdir(parents=True)
    places = places_to_watch(await changes_of(folder, tmp_path / "home"), tmp_path / "home")
    assert [place.folder for place in places[2:]] == [str(top / "sub"), str(top)]
    ears = Ears()
    watch = await ears.watching(watches, places)
    for above in (top, top / "sub"):
        (above / ".gitignore").write_text("*.log\n")
        await ears.hear()
    await watch.close()


async def test_what_the_host_writes_itself_is_not_heard_of(tmp_path: Path) -> None:
    folder = make_repository(tmp_path / "work")
    home = folder / "my {home} [1]"
    work, _ = places_to_watch(await changes_of(folder, home), home)
    assert PathFilter(work.includes, work.excludes).prunes("my {home} [1]")
    assert not PathFilter(work.includes, work.excludes).prunes("my home")


async def test_a_folder_that_is_gone_is_heard_of(tmp_path: Path, watches: Watches) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    ears = Ears()
    watch = await ears.watching(watches, (WatchedPlace(str(folder)),))
    assert not watch.has_ended
    folder.rmdir()
    await ears.hear()
    await watch.close()
    assert watch.has_ended
