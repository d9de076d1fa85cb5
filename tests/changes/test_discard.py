"""What a discard takes away, what it leaves alone, and how it comes back."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from changes.repositories import Repo, everything
from changes.test_folder import begun
from serai.changes import undo as undo_module
from serai.changes.folder import FolderChanges
from serai.changes.recorder import FolderRecorder
from serai.changes.undo import KEPT_SECONDS, Discard, DiscardStep, Trash
from serai.changes.view import SESSION
from serai.errors import DiscardBusy, FolderMoved, GitFailed


async def discard(changes: FolderChanges) -> dict[str, str]:
    """Discard all that changed since the session began. Returns what was refused."""
    return await changes.discard(SESSION, (await changes.compute(SESSION)).changes)


def undo(changes: FolderChanges) -> Discard:
    last = changes.last_discard()
    assert last is not None
    return changes.trash.undo(last)


async def test_nothing_is_written_behind_a_link(repo: Repo, own: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    repo.write("link/x", "x\n")
    changes = await begun(repo.top, own)
    shutil.move(repo.top / "link", outside)
    (repo.top / "link").symlink_to(outside)
    (outside / "x").write_text("outside\n")
    assert await discard(changes) == {}
    assert (outside / "x").read_text() == "outside\n"
    assert (repo.top / "link/x").read_text() == "x\n"
    undo(changes)
    assert (repo.top / "link").readlink() == outside


async def test_repositories_inside_and_the_hosts_own_folder_are_left_alone(repo: Repo) -> None:
    own = repo.top / "own"
    repo.write("lib/x", "x\n")
    changes = await begun(repo.top, own)
    (repo.top / "lib/x").unlink()
    nested = Repo(repo.top / "lib")
    nested.write("theirs", "theirs\n")
    repo.write("new", "x\n")
    assert await discard(changes) == {"lib/x": "it is in a repository of its own"}
    assert (repo.top / "lib/theirs").exists()
    assert not (repo.top / "lib/x").exists()
    assert not (repo.top / "new").exists()
    assert (own / "changes").is_dir()


async def test_a_file_stays_as_private_as_it_was(repo: Repo, own: Path) -> None:
    secret, tool = repo.write("secret", "1\n"), repo.write("tool", "1\n", executable=True)
    changes = await begun(repo.top, own)
    for file in (secret, tool):
        file.write_text("2\n")
        file.chmod(0o600)
    await discard(changes)
    assert [file.stat().st_mode & 0o777 for file in (secret, tool)] == [0o600, 0o700]


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to this user")
async def test_a_file_that_cannot_be_moved_is_named_and_the_others_are_discarded(
    repo: Repo, own: Path
) -> None:
    changes = await begun(repo.top, own)
    repo.write("a.txt", "x\n")
    repo.write("src/b.py", "x\n")
    (repo.top / "src").chmod(0o500)
    try:
        assert await discard(changes) == {"src/b.py": "Permission denied"}
    finally:
        (repo.top / "src").chmod(0o755)
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_when_git_fails_everything_is_given_back(
    repo: Repo, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = await begun(repo.top, own)
    repo.write("a.txt", "mine\n")
    repo.write("new/file", "mine\n")

    async def fail(*_: Any, **__: Any) -> None:
        raise GitFailed("it failed")

    monkeypatch.setattr(FolderRecorder, "check_out", fail)
    with pytest.raises(GitFailed, match="it failed"):
        await discard(changes)
    assert (repo.top / "a.txt").read_text() == "mine\n"
    assert (repo.top / "new/file").read_text() == "mine\n"
    assert changes.last_discard() is None


async def test_a_home_on_another_file_system_makes_no_difference(
    repo: Repo, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = undo_module.rename_exclusively

    def within(source: str, destination: str, *, source_in: int, destination_in: int) -> None:
        if os.fstat(source_in).st_ino != os.fstat(destination_in).st_ino:
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        rename(source, destination, source_in=source_in, destination_in=destination_in)

    monkeypatch.setattr(undo_module, "rename_exclusively", within)
    changes = await begun(repo.top, own)
    (repo.top / "a.txt").unlink()
    repo.write("a.txt/deep/file", "mine\n").chmod(0o640)
    (repo.top / "a.txt/deep").chmod(0o750)
    (repo.top / "a.txt/link").symlink_to("nowhere")
    os.utime(repo.top / "a.txt/deep/file", ns=(1, 2))
    before = {path: seen[:2] for path, seen in everything(repo.top).items()}
    assert await discard(changes) == {}
    assert (repo.top / "a.txt").is_file()
    undo(changes)
    assert {path: seen[:2] for path, seen in everything(repo.top).items()} == before
    assert (repo.top / "a.txt/deep/file").stat().st_mtime_ns == 2


# -- the trash -----------------------------------------------------------------------------------------------


@pytest.fixture
def taken(tmp_path: Path, own: Path) -> Discard:
    """A discard that took a file away."""
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a").write_text("a\n")
    discard = Trash(own).new("s", str(folder), "1 file", [DiscardStep("a", was_there=True)])
    discard.take(0)
    discard.finish()
    return discard


def test_another_folder_in_the_place_gets_nothing_back(taken: Discard, own: Path) -> None:
    folder = Path(taken.directory)
    folder.rename(folder.with_name("away"))
    folder.mkdir()
    with pytest.raises(FolderMoved) as caught:
        Trash(own).undo(taken)
    assert str(taken.place / "items") in str(caught.value.remedy)
    assert list(folder.iterdir()) == []
    assert (taken.place / "items/0").read_text() == "a\n"


def test_a_discard_that_is_under_way_is_not_undone_by_another(taken: Discard, own: Path) -> None:
    with taken.locked(), pytest.raises(DiscardBusy):
        Trash(own).undo(taken)


def test_after_a_week_a_discard_is_deleted(
    taken: Discard, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trash = Trash(own)
    trash.prune()
    assert [one.id for one in trash.discards("s")] == [taken.id]
    assert trash.discards("other") == []
    later = taken.at + KEPT_SECONDS + 1
    monkeypatch.setattr(undo_module.time, "time", lambda: later)
    assert trash.discards() == []
    trash.prune()
    assert not taken.place.exists()
