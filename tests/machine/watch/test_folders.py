"""Opening folders through no link."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from serai.machine.watch.folders import Folders, identity_of


@pytest.fixture
def folders() -> Iterator[Folders]:
    folders = Folders()
    yield folders
    folders.close()


def is_opened(folders: Folders, path: Path | str) -> bool:
    handle = folders.open(str(path))
    if handle is None:
        return False
    info = Path(path).stat()
    assert identity_of(handle) == (info.st_dev, info.st_ino)
    os.close(handle)
    return True


def test_folders_are_opened_and_nothing_else_is(folders: Folders, tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "a/other").mkdir()
    (tmp_path / "a/file").write_text("1")
    (tmp_path / "link").symlink_to("a")
    for path in ("/", tmp_path, tmp_path / "a/b", tmp_path / "a/other", tmp_path / "a/b/c"):
        assert is_opened(folders, path)
    for name in ("a/file", "a/nothing", "nothing/b", "a/file/b", "link", "link/b", "link/b/c"):
        assert not is_opened(folders, tmp_path / name)
    assert is_opened(folders, tmp_path / "a/b")


def test_a_link_that_is_put_on_the_way_is_not_followed(folders: Folders, tmp_path: Path) -> None:
    (tmp_path / "a/b/c").mkdir(parents=True)
    (tmp_path / "outside/b/c").mkdir(parents=True)
    assert is_opened(folders, tmp_path / "a/b")
    (tmp_path / "a").rename(tmp_path / "away")
    (tmp_path / "a").symlink_to("outside")
    assert not is_opened(folders, tmp_path / "a/b/c")


def open_handles(path: Path) -> list[Path]:
    """What is open of a folder and of those above it."""
    handles = [handle.readlink() for handle in Path("/proc/self/fd").iterdir() if handle.is_symlink()]
    return [one for one in handles if path.is_relative_to(one) or one.is_relative_to(path)]


@pytest.mark.skipif(sys.platform != "linux", reason="asks /proc")
def test_no_handle_stays_open(tmp_path: Path) -> None:
    (tmp_path / "a/b").mkdir(parents=True)
    before = open_handles(tmp_path)
    folders = Folders()
    for name in ("a/b", "a/nothing", "nothing/b", "a"):
        handle = folders.open(str(tmp_path / name))
        if handle is not None:
            os.close(handle)
    folders.close()
    assert open_handles(tmp_path) == before
