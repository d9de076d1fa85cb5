"""What was there before and has another name now: no discard deletes it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from changes.repositories import Repo, brief, tracked
from changes.test_guarding import begun, discarded
from changes.test_operations import TURN, at
from serai.changes import guarding, moved
from serai.changes.catalogue import SESSION, UNCOMMITTED, Which
from serai.changes.moved import Moment
from serai.changes.operations import DISCARD, invoke
from serai.changes.records import Limits
from serai.errors import ProtocolError

UNDER_ANOTHER_NAME = "it was there before under another name"
OLDER = "it may have been moved here"


def age(file: Path) -> None:
    """Have it look as if nobody wrote it for an hour."""
    found = file.lstat()
    os.utime(file, ns=(found.st_atime_ns, found.st_mtime_ns - 3_600_000_000_000), follow_symlinks=False)


@pytest.fixture
def ignoring(repo: Repo) -> Repo:
    """A repository that ignores a secret and what is built."""
    repo.write(".gitignore", ".env\nbuild/\n")
    repo.commit()
    repo.write(".env", "SECRET=1\n")
    repo.write("build/deep/out.bin", "hours of work\n")
    return repo


@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])
@pytest.mark.parametrize("restarts", [True, False])
async def test_an_ignored_file_stays_under_its_new_name(
    ignoring: Repo, private: Path, which: Which, restarts: bool
) -> None:
    changes = await begun(ignoring, private)
    (ignoring.top / ".env").rename(ignoring.top / "env.txt")
    (ignoring.top / "build").rename(ignoring.top / "out")
    ignoring.write("new", "the agent's\n")
    await changes.end_turn("t")
    if restarts:
        changes = await tracked(ignoring.top, private)
    message = await discarded(changes, which)
    assert message.startswith(f"Discarded the changes to 1 file; not 2: env.txt: {UNDER_ANOTHER_NAME}")
    assert (ignoring.top / "env.txt").read_text() == "SECRET=1\n"
    assert (ignoring.top / "out/deep/out.bin").read_text() == "hours of work\n"
    assert not (ignoring.top / "new").exists()


async def test_it_stays_also_when_it_was_written_since_and_another_has_its_name(
    ignoring: Repo, private: Path
) -> None:
    changes = await begun(ignoring, private)
    (ignoring.top / ".env").rename(ignoring.top / ".env.bak")
    ignoring.write(".env", "NEW=1\n")
    with (ignoring.top / ".env.bak").open("a") as stream:
        stream.write("MORE=1\n")
    with pytest.raises(ProtocolError, match=rf"nothing was done: \.env\.bak: {UNDER_ANOTHER_NAME}"):
        await discarded(changes, TURN)
    assert (ignoring.top / ".env.bak").read_text() == "SECRET=1\nMORE=1\n"


async def test_a_file_that_git_was_told_not_to_look_at_stays_under_its_new_name(
    repo: Repo, private: Path
) -> None:
    repo.git("update-index", "--skip-worktree", "a.txt")
    repo.write("a.txt", "mine\n")
    changes = await begun(repo, private)
    (repo.top / "a.txt").rename(repo.top / "a.bak")
    with pytest.raises(ProtocolError, match=rf"a\.bak: {UNDER_ANOTHER_NAME}"):
        await discarded(changes, TURN)
    assert (repo.top / "a.bak").read_text() == "mine\n"


@pytest.mark.parametrize("name", ["big", "a.txt"])
async def test_a_file_that_was_too_large_stays_under_its_new_name(
    repo: Repo, private: Path, name: str
) -> None:
    repo.write(name, "x" * 101)
    changes = await begun(repo, private, Limits(file_bytes=100))
    (repo.top / name).rename(repo.top / "cut")
    os.truncate(repo.top / "cut", 50)
    done, refused = await changes.discard(TURN, ["cut"])
    assert (done, refused) == ([], {"cut": UNDER_ANOTHER_NAME})
    assert (repo.top / "cut").stat().st_size == 50


@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])
async def test_what_comes_from_a_repository_within_or_from_elsewhere_stays_if_it_is_older(
    repo: Repo, private: Path, tmp_path: Path, which: Which
) -> None:
    inner = Repo(repo.top / "inner").write("f", "precious\n")
    elsewhere = tmp_path / "doc"
    elsewhere.write_text("precious\n")
    link = tmp_path / "link"
    link.symlink_to("nowhere")
    for file in (inner, elsewhere, link):
        age(file)
    changes = await begun(repo, private)
    inner.rename(repo.top / "f")
    elsewhere.rename(repo.top / "doc")
    link.rename(repo.top / "link")
    repo.write("new", "the agent's\n")
    message = await discarded(changes, which)
    assert message.startswith("Discarded the changes to 1 file; not 3: doc: it is older than ")
    assert message.count(OLDER) == 3
    assert (repo.top / "f").read_text() == (repo.top / "doc").read_text() == "precious\n"


@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])
async def test_what_was_moved_onto_a_recorded_file_is_not_overwritten(
    ignoring: Repo, private: Path, tmp_path: Path, which: Which
) -> None:
    elsewhere = tmp_path / "doc"
    elsewhere.write_text("precious\n")
    age(elsewhere)
    changes = await begun(ignoring, private)
    (ignoring.top / ".env").rename(ignoring.top / "a.txt")
    elsewhere.rename(ignoring.top / "src/b.py")
    ignoring.write("src/deep/c.txt", "the agent's\n")
    assert await discarded(changes, which) == (
        f"Discarded the changes to 1 file; not 2: a.txt: {UNDER_ANOTHER_NAME}; "
        f"src/b.py: it is older than the {'turn' if which == TURN else 'session'}: {OLDER}"
    )
    assert (ignoring.top / "a.txt").read_text() == "SECRET=1\n"
    assert (ignoring.top / "src/b.py").read_text() == "precious\n"


async def test_old_files_with_another_mode_or_another_recorded_content_go_back(
    repo: Repo, private: Path
) -> None:
    for name in ("a.txt", "src/b.py", "src/deep/c.txt"):
        age(repo.top / name)
    changes = await begun(repo, private)
    (repo.top / "a.txt").chmod(0o755)
    (repo.top / "src/b.py").rename(repo.top / "src/deep/c.txt")
    assert await discarded(changes, TURN) == "Discarded the changes to 3 files"
    assert repo.status() == []


async def test_what_the_person_changed_before_the_session_can_still_be_discarded_as_uncommitted(
    repo: Repo, private: Path
) -> None:
    age(repo.write("a.txt", "mine\n"))
    changes = await begun(repo, private)
    assert await discarded(changes, UNCOMMITTED) == "Discarded the changes to 1 file"
    assert repo.status() == []


async def test_a_file_with_two_names_of_which_one_was_not_seen_can_be_discarded(
    ignoring: Repo, private: Path
) -> None:
    (ignoring.top / ".env").unlink()
    (ignoring.top / ".env").hardlink_to(ignoring.top / "a.txt")
    changes = await begun(ignoring, private)
    (ignoring.top / "a.txt").write_text("the agent's\n")
    assert await discarded(changes, TURN) == "Discarded the changes to 1 file"
    assert (ignoring.top / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert (ignoring.top / ".env").read_text() == "the agent's\n"


@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])
async def test_moving_what_is_recorded_is_undone_however_old_it_is(
    repo: Repo, private: Path, which: Which
) -> None:
    for name in ("a.txt", "src/b.py", "src/deep/c.txt"):
        age(repo.top / name)
    changes = await begun(repo, private)
    (repo.top / "a.txt").rename(repo.top / "moved.txt")
    repo.write("a.txt", "another\n")
    (repo.top / "src/b.py").rename(repo.top / "b.py")
    (repo.top / "src/deep/c.txt").rename(repo.top / "c.txt")
    with (repo.top / "c.txt").open("a") as stream:
        stream.write("much more\n" * 20)
    assert "renamed src/b.py -> b.py +0 -0" in brief((await changes.compute(TURN)).changes)
    message = await discarded(changes, which)
    assert "not" not in message
    assert repo.status() == []
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_a_single_file_that_was_moved_can_be_discarded(repo: Repo, private: Path) -> None:
    age(repo.top / "a.txt")
    changes = await begun(repo, private)
    (repo.top / "a.txt").rename(repo.top / "moved.txt")
    repo.write("a.txt", "another\n")
    await invoke(changes, TURN, DISCARD, at(repo, "moved.txt"))
    assert not (repo.top / "moved.txt").exists()


async def test_new_files_from_before_the_session_can_still_be_discarded_as_uncommitted(
    repo: Repo, private: Path
) -> None:
    age(repo.write("mine", "x\n"))
    changes = await begun(repo, private)
    assert await discarded(changes, UNCOMMITTED) == "Discarded the changes to 1 file"
    assert not (repo.top / "mine").exists()


def _made_later(_place: bytes, _found: os.stat_result) -> int:
    return 1 << 62


async def test_a_new_file_with_the_number_of_one_that_was_deleted_is_new(
    ignoring: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = await begun(ignoring, private)
    (ignoring.top / ".env").rename(ignoring.top / "new")
    os.utime(ignoring.top / "new")
    # File systems give the number of a deleted file to the next one; when it was made tells them apart.
    monkeypatch.setattr(guarding, "made_at", _made_later)
    assert await discarded(changes, TURN) == "Discarded the changes to 1 file"


def test_when_a_file_was_made_is_known_whatever_its_times_are(tmp_path: Path) -> None:
    file = tmp_path / "x"
    file.touch()
    made = moved.made_at(os.fsencode(file), file.lstat())
    os.utime(file, (1, 1))
    assert moved.made_at(os.fsencode(file), file.lstat()) == made
    assert moved.made_at(os.fsencode(tmp_path / "none"), file.lstat()) in {None, made}


@pytest.mark.parametrize(
    ("written", "is_before"),
    [
        (5_000_000_000, True),
        (9_500_000_001, True),
        (9_000_000_000, False),
        (10_090_000_000, False),
        (10_500_000_000, False),
    ],
)
def test_times_that_a_file_system_keeps_in_whole_seconds_are_not_taken_at_their_word(
    written: int, is_before: bool
) -> None:
    assert Moment(10_100_000_000).is_after(written) is is_before
