"""The desk; and what holds after every test at it: nothing outside has changed, nothing is left behind."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from files.desk import SECRET, Desk, contents


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "work", tmp_path / "library", tmp_path / "outside")
    for folder in (desk.work, desk.library, desk.outside):
        folder.mkdir()
    desk.secret.write_text(SECRET)
    (desk.outside / "folder").mkdir()
    (desk.outside / "folder" / "deep.txt").write_text(SECRET)
    before, handles = contents(desk.outside), open_handles()
    yield desk
    assert contents(desk.outside) == before
    assert not list(tmp_path.rglob(".serai-*")), "a draft was left behind"
    assert open_handles() == handles, "a handle was left open"


def open_handles() -> int:
    folder = Path("/proc/self/fd")
    return len(list(folder.iterdir())) if folder.is_dir() else 0
