"""Which numbers of files are kept, and what tells of files whose numbers are not."""

from __future__ import annotations

from pathlib import Path

import pytest

from changes.births import OLDER, OWN_BIRTH, append, contents, settle
from changes.repositories import Repo, tracked
from changes.test_guarding import begun, discarded
from changes.test_operations import TURN
from serai.changes import inodes
from serai.changes.catalogue import SESSION
from serai.changes.moved import BIRTH_IS_ITS_OWN
from serai.errors import ProtocolError

pytestmark = pytest.mark.usefixtures("tells_birth")


def renamed_and_edited(repo: Repo) -> None:
    (repo.top / "src/b.py").rename(repo.top / "b.py")
    append(repo.top / "b.py")


@OWN_BIRTH
async def test_what_was_moved_onto_a_recorded_file_is_not_overwritten_however_long_ago_that_was(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "doc"
    elsewhere.write_text("precious\n")
    settle(tmp_path)
    changes = await begun(repo, private)
    forget(private)
    renamed_and_edited(repo)
    elsewhere.rename(repo.top / "a.txt")
    append(repo.top / "a.txt")
    repo.write("saved", "the agent's\n").replace(repo.top / "src/deep/c.txt")
    message = await discarded(changes, TURN)
    assert message == f"Discarded the changes to 2 files; not 1: a.txt: it is older than the turn: {OLDER}"
    assert (repo.top / "a.txt").read_text() == "precious\nmore\n"
    assert (repo.top / "src/b.py").read_text() == "print('b')\n" * 10
    assert not (repo.top / "b.py").exists()
    assert (repo.top / "src/deep/c.txt").read_text() == "c\n"


@pytest.mark.parametrize("told_by", ["the session", "the person's index"])
async def test_where_the_numbers_of_a_base_are_not_kept_others_tell_which_files_there_were(
    repo: Repo, private: Path, tmp_path: Path, told_by: str
) -> None:
    repo.git("update-index", "--refresh")
    if told_by == "the session":
        repo.write("mine", "the person's\n" * 9)
    elsewhere = tmp_path / "doc"
    elsewhere.write_text("precious\n")
    settle(tmp_path)
    changes = await begun(repo, private)
    forget(private, since=1 if told_by == "the session" else 0)
    before = contents(repo.top)
    for file in repo.top.glob("[am]*"):
        append(file)
    renamed_and_edited(repo)
    if told_by == "the session":
        repo.commit()  # the person's index has these files as they are now
    await changes.end_turn("t")
    assert "not" not in await discarded(changes, TURN)
    assert contents(repo.top) == before
    await changes.begin_turn("t")
    forget(private, since=1 if told_by == "the session" else 0)
    elsewhere.rename(repo.top / "src/deep/c.txt")
    append(repo.top / "src/deep/c.txt")
    repo.git("add", "-A")
    append(repo.top / "src/deep/c.txt")
    if BIRTH_IS_ITS_OWN:
        with pytest.raises(ProtocolError, match=rf"nothing was done: src/deep/c\.txt: .*{OLDER}"):
            await discarded(changes, TURN)
        assert (repo.top / "src/deep/c.txt").read_text() == "precious\nmore\nmore\n"


async def test_what_was_made_or_saved_before_a_turn_and_edited_in_it_is_undone_however_long_ago_that_was(
    repo: Repo, private: Path
) -> None:
    changes = await begun(repo, private)
    for name in ("new", "old", "a.txt"):
        repo.write("draft", "the agent's\n" * 9).replace(repo.top / name)
    await changes.end_turn("t")
    settle(repo.top)
    before = contents(repo.top)
    await changes.begin_turn("t")
    append(repo.top / "new")
    append(repo.top / "a.txt")
    (repo.top / "old").rename(repo.top / "older")
    append(repo.top / "older")
    await changes.end_turn("t")
    forget(private)
    changes = await tracked(repo.top, private)
    assert "not" not in await discarded(changes, TURN)
    assert contents(repo.top) == before


async def test_only_those_of_the_first_base_and_of_the_latest_are_kept(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inodes, "MOST", 6)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    [first] = indexes(private)
    for number in range(9):
        await changes.begin_turn(f"t{number}")
        repo.write("n", f"{number}\n")
        await changes.end_turn(f"t{number}")
    kept = indexes(private)
    assert len({place.stat().st_ino for place in kept}) == 6
    assert kept[0] == first
    settle(repo.top)
    await changes.begin_turn("t")
    renamed_and_edited(repo)
    for which in (TURN, SESSION):
        assert "not" not in await discarded(changes, which)


async def test_turns_in_which_nothing_changes_take_no_room(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inodes, "MOST", 5)
    settle(repo.top)
    changes = await begun(repo, private)
    renamed_and_edited(repo)
    await changes.end_turn("t")
    monkeypatch.setattr(inodes, "MOST_NAMES", 15)
    for number in range(6):
        await changes.begin_turn(f"t{number}")
        await changes.end_turn(f"t{number}")
    assert len(indexes(private)) == 15
    assert "not" not in await discarded(changes, TURN)
    for number in range(6):
        await changes.begin_turn(f"t{number}")
        await changes.end_turn(f"t{number}")
    assert len(indexes(private)) == 15


def forget(private: Path, since: int = 0) -> None:
    """Drop the numbers that are kept, but not the first of them."""
    for kept in indexes(private)[since:]:
        kept.unlink()


def indexes(private: Path) -> list[Path]:
    return sorted(private.glob("index-*"))
