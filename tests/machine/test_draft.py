"""A draft is there whole or not at all, also when its host is killed."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from serai.machine.draft import Draft, find_leftovers, remove_leftovers

NAME = ".serai-0123456789abcdef.tmp"
WITHIN = 30.0

# Begins a draft of some kind, and is killed before it is put in its place.
_KILLED = """
import os, signal, sys
from pathlib import Path
from serai.machine.draft import Draft

work, notes, kind = sys.argv[1:]
with Draft(os.open(work, os.O_RDONLY), "new", notes=Path(notes)) as draft:
    if kind == "folder":
        os.makedirs(f"{work}/{draft.beside}/below")
    else:
        draft.file()
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    notes = tmp_path / "home" / "drafts"
    assert find_leftovers(notes) == []
    return notes


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


def test_a_draft_takes_after_the_file_that_it_replaces(work: Path, handle: int) -> None:
    (work / "file").write_text("old")
    (work / "file").chmod(0o4640)
    with (work / "file").open() as old, Draft(handle, "file") as draft:
        descriptor = draft.file(like=old.fileno())
        assert stat.S_IMODE(os.fstat(descriptor).st_mode) == 0o600, "private while it is a draft"
        draft.commit()
    assert stat.S_IMODE((work / "file").stat().st_mode) == 0o640, "and never set-user-id"


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_draft_whose_host_was_killed_is_removed_by_the_next(work: Path, notes: Path, kind: str) -> None:
    words = [sys.executable, "-c", _KILLED, str(work), str(notes), kind]
    assert subprocess.run(words, timeout=WITHIN, check=False).returncode == -signal.SIGKILL
    [left] = work.iterdir()
    found = find_leftovers(notes)
    assert [note.name for note in found] == [left.name]
    assert remove_leftovers(found) == 1
    assert list(work.iterdir()) == find_leftovers(notes) == []


def test_only_what_is_in_the_noted_directory_itself_is_removed(
    tmp_path: Path, work: Path, notes: Path
) -> None:
    (work / NAME).mkdir()
    (tmp_path / "link").symlink_to(work)
    (notes / NAME).write_bytes(os.fsencode(tmp_path / "link"))
    (notes / "other").write_text("not a note")
    assert remove_leftovers(find_leftovers(notes)) == 0
    assert (work / NAME).is_dir()
    assert [note.name for note in notes.iterdir()] == ["other"]
