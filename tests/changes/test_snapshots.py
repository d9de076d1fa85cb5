"""What tools edited, kept by digest."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo
from serai.changes.catalogue import SESSION
from serai.changes.closed import Closed
from serai.changes.noted import NotedChanges
from serai.changes.opening import open_changes
from serai.changes.records import Limits
from serai.changes.snapshots import Snapshots


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "plain"
    folder.mkdir()
    return folder


def snapshots(top: Path, private: Path) -> Snapshots:
    return Snapshots(str(top), private, Limits(), Closed(private))


def test_files_as_they_were_at_first_have_their_permissions(top: Path, private: Path) -> None:
    (top / "key").write_bytes(b"secret\n")
    (top / "key").chmod(0o640)
    notes = snapshots(top, private)
    notes.note_before("t", "key")
    notes.note_before("t", "new")
    for found in (notes.at_first(), snapshots(top, private).at_first()):
        assert found["new"] is None
        assert found["key"] is not None
        assert (found["key"].data, found["key"].permissions) == (b"secret\n", 0o640)


def test_what_is_no_longer_kept_is_not_among_them(top: Path, private: Path) -> None:
    (top / "a").write_bytes(b"x\n")
    notes = snapshots(top, private)
    notes.note_before("t", "a")
    shutil.rmtree(private / "content")
    assert notes.at_first() == {}


async def test_they_come_back_with_them_when_the_folder_has_become_a_repository(
    top: Path, private: Path
) -> None:
    key = top / "key"
    key.write_bytes(b"secret\n")
    key.chmod(0o640)
    noted = await open_changes(str(top), "s1", folder=private, trusted=lambda: False)
    assert isinstance(noted, NotedChanges)
    await noted.begin_session()
    await noted.note_before("t", "key")
    key.unlink()
    await noted.note_after("t", "key")
    Repo(top)
    tracked = await open_changes(str(top), "s1", folder=private, trusted=lambda: False)
    assert tracked.has_git
    done, refused = await tracked.discard(SESSION, None)
    assert ([change.path for change in done], refused) == (["key"], {})
    assert key.stat().st_mode & 0o777 == 0o640


def test_a_folder_is_no_file(top: Path, private: Path) -> None:
    (top / "a").mkdir()
    notes = snapshots(top, private)
    assert notes.note_before("t", "a")
    assert notes.at_first() == {"a": None}
    assert notes.in_turn("t").left_out == ()
