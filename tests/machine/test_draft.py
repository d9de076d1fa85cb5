"""A draft is there whole or not at all."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from serai.machine.draft import Draft


@pytest.fixture
def work(tmp_path: Path) -> Path:
    work = tmp_path / "work"
    work.mkdir()
    return work


@pytest.fixture
def handle(work: Path) -> Iterator[int]:
    handle = os.open(work, os.O_RDONLY)
    yield handle
    os.close(handle)


def test_a_draft_takes_its_place_only_when_it_is_committed(work: Path, handle: int) -> None:
    for commits in (False, True):
        with Draft(handle, "file") as draft:
            os.write(draft.file(), b"content")
            if commits:
                draft.commit(exclusive=True)
        assert [path.name for path in work.iterdir()] == (["file"] if commits else [])


def test_an_exclusive_draft_replaces_nothing(work: Path, handle: int) -> None:
    (work / "file").write_text("theirs")
    with Draft(handle, "file") as draft:
        draft.file()
        with pytest.raises(FileExistsError):
            draft.commit(exclusive=True)
    assert (work / "file").read_text() == "theirs"
    assert len(list(work.iterdir())) == 1


def test_a_draft_takes_after_the_file_that_it_replaces(work: Path, handle: int) -> None:
    (work / "file").write_text("old")
    (work / "file").chmod(0o4640)
    with (work / "file").open() as old, Draft(handle, "file") as draft:
        descriptor = draft.file(like=old.fileno())
        assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o600, "private while it is a draft"
        draft.commit()
    assert stat.S_IMODE((work / "file").stat().st_mode) == 0o640, "and never set-user-id"
