"""What is watched to hear of changes, and what is not."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from serai.changes.folder import open_folder, place_of
from serai.host.changes.folder_watch import ChangesWatch, not_watched
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


class Ears:
    """Hears of changes."""

    def __init__(self) -> None:
        self._heard = asyncio.Event()

    async def watching(self, watches: Watches, folder: Path, home: Path) -> ChangesWatch:
        """A watch that has begun."""
        changes = await open_folder(str(folder), "s", folder=home / "changes/s", home=home)
        watch = ChangesWatch(watches, str(folder), place_of(str(folder)), changes, home, self._heard.set)
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
    ears = Ears()
    watch = await ears.watching(watches, folder, tmp_path / "home")
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
    ears = Ears()
    watch = await ears.watching(watches, folder, tmp_path / "home")
    for above in (top, top / "sub"):
        (above / ".gitignore").write_text("*.log\n")
        await ears.hear()
    await watch.close()


def test_what_the_host_writes_itself_is_not_heard_of(tmp_path: Path) -> None:
    excluded = PathFilter([], not_watched(str(tmp_path), tmp_path / "my {home} [1]"))
    assert excluded.prunes("my {home} [1]")
    assert not excluded.prunes("my home")


async def test_a_folder_that_is_gone_is_heard_of(tmp_path: Path, watches: Watches) -> None:
    folder = tmp_path / "work"
    folder.mkdir()
    ears = Ears()
    watch = await ears.watching(watches, folder, tmp_path / "home")
    assert not watch.has_ended
    folder.rmdir()
    await ears.hear()
    await watch.close()
    assert watch.has_ended
