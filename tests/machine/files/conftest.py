"""The desk; and what holds after every test at it: nothing outside has changed, nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from machine.files.desk import SECRET, Desk, contents


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "work", tmp_path / "library", tmp_path / "outside")
    for folder in (desk.work, desk.library, desk.outside):
        folder.mkdir()
    desk.secret.write_text(SECRET)
    (desk.outside / "folder").mkdir()
    (desk.outside / "folder" / "deep.txt").write_text(SECRET)
    before, handles = contents(desk.outside), open_handles(tmp_path)
    yield desk
    assert contents(desk.outside) == before
    assert not list(tmp_path.rglob(".serai-*")), "a draft was left behind"
    assert open_handles(tmp_path) == handles, "a handle was left open"


def open_handles(path: Path) -> list[Path]:
    """What is open of a folder, and of those above it: other tests' sockets may come and go meanwhile."""
    folder = Path("/proc/self/fd")
    found: list[Path] = []
    for handle in folder.iterdir() if folder.is_dir() else ():
        with suppress(OSError):
            found.append(handle.readlink())
    return sorted(one for one in found if path.is_relative_to(one) or one.is_relative_to(path))
