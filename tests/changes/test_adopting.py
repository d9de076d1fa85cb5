"""A fork knows the files of the turns that it took over as well as the session that it is from."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from changes.births import OLDER, OWN_BIRTH, append, settle
from changes.repositories import Repo, tracked
from changes.test_guarding import begun, discarded
from changes.test_operations import TURN
from serai.changes import inodes
from serai.changes.catalogue import SESSION
from serai.changes.tracked import TrackedChanges
from serai.errors import ProtocolError

pytestmark = pytest.mark.usefixtures("tells_birth")


async def forked(repo: Repo, source: Path, folder: Path) -> TrackedChanges:
    """A fork of a session, which is gone then."""
    fork = await tracked(repo.top, folder, session_id=folder.name)
    await fork.adopt(source, folder.with_name("none"), ["t"])
    await fork.begin_session()
    shutil.rmtree(source)
    return fork


@OWN_BIRTH
async def test_what_was_moved_onto_a_recorded_file_is_not_overwritten_by_a_fork(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "doc"
    elsewhere.write_text("precious\n")
    settle(tmp_path)
    changes = await begun(repo, private)
    elsewhere.rename(repo.top / "a.txt")
    append(repo.top / "a.txt")
    await changes.end_turn("t")
    fork = await forked(repo, private, tmp_path / "fork")
    with pytest.raises(ProtocolError, match=rf"nothing was done: a\.txt: .*{OLDER}"):
        await discarded(fork, TURN)
    assert (repo.top / "a.txt").read_text() == "precious\nmore\n"


@pytest.mark.parametrize("forks", [1, 2])
async def test_what_was_renamed_and_edited_is_undone_by_a_fork_and_by_a_fork_of_it(
    repo: Repo, private: Path, tmp_path: Path, forks: int
) -> None:
    repo.write("mine", "the person's\n" * 9)
    settle(repo.top)
    changes = await begun(repo, private)
    (repo.top / "mine").rename(repo.top / "yours")
    append(repo.top / "yours")
    append(repo.top / "a.txt")
    await changes.end_turn("t")
    folder = private
    for number in range(forks):
        source, folder = folder, tmp_path / f"fork{number}"
        changes = await forked(repo, source, folder)
    assert await discarded(changes, TURN) == "Discarded the changes to 2 files"
    assert (repo.top / "mine").read_text() == "the person's\n" * 9
    assert not (repo.top / "yours").exists()
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_a_fork_keeps_the_numbers_of_its_own_beginning(
    repo: Repo, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inodes, "MOST", 5)
    repo.write("mine", "the person's\n" * 9)
    changes = await begun(repo, private)
    append(repo.top / "mine")
    await changes.end_turn("t")
    settle(repo.top)
    fork = await forked(repo, private, tmp_path / "fork")
    for number in range(8):
        await fork.begin_turn(f"t{number}")
        repo.write("n", f"{number}\n")
        await fork.end_turn(f"t{number}")
    (repo.top / "mine").rename(repo.top / "yours")
    append(repo.top / "yours")
    assert await discarded(fork, SESSION) == "Discarded the changes to 2 files"
    assert (repo.top / "mine").read_text() == "the person's\n" * 9 + "more\n"
