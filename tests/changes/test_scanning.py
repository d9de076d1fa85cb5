"""What is looked at, and what is left out and named."""

from __future__ import annotations

import os
from pathlib import Path

from changes.repositories import Repo, brief, tracked
from serai.changes.catalogue import SESSION, UNCOMMITTED
from serai.changes.records import Limits, told

SMALL = Limits(file_bytes=1000)


async def test_large_files_are_left_out_and_named(repo: Repo, private: Path) -> None:
    repo.write("will grow", "x\n")
    repo.write("large from the start", "x" * 2000)
    changes = await tracked(repo.top, private, limits=SMALL)
    await changes.begin_session()
    repo.write("will grow", "x" * 1001)
    repo.write("a.txt", "x" * 1001)
    repo.write("fits", "x" * 1000)
    result = await changes.compute(SESSION)
    assert brief(result.changes) == ["added fits +1 -0"]
    assert {(one.path, one.reason, one.size) for one in result.left_out} == {
        ("a.txt", "too large", 1001),
        ("large from the start", "too large", 2000),
        ("will grow", "too large", 1001),
    }
    assert "too large" in (told(result.left_out) or "")
    # A new copy of the index does not make the grown file a deleted one.
    repo.git("add", "fits")
    assert brief((await changes.compute(SESSION)).changes) == ["added fits +1 -0"]


async def test_more_new_files_than_the_bound_are_left_out_and_named(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private, limits=Limits(new_files=3))
    for number in range(2):
        repo.write(f"first {number}", "x\n")
    assert len((await changes.compute(UNCOMMITTED)).changes) == 2
    for number in range(3):
        repo.write(f"second {number}", "x\n")
    result = await changes.compute(UNCOMMITTED)
    assert len(result.changes) == 3
    assert [one.reason for one in result.left_out] == ["more than is kept"] * 2


async def test_a_file_that_git_cannot_convert_does_not_hide_the_others(repo: Repo, private: Path) -> None:
    repo.write(".gitattributes", "*.u16 working-tree-encoding=UTF-16\n")
    repo.commit()
    for number in range(9):
        repo.write(f"good {number}", "x\n")
    repo.write("bad.u16", b"\x00\xd8odd")
    changes = await tracked(repo.top, private)
    result = await changes.compute(UNCOMMITTED)
    assert len(result.changes) == 9
    assert [(one.path, one.reason) for one in result.left_out] == [("bad.u16", "unreadable")]


async def test_pipes_are_no_files(repo: Repo, private: Path) -> None:
    (repo.top / "a.txt").unlink()
    os.mkfifo(repo.top / "a.txt")
    os.mkfifo(repo.top / "new pipe")
    changes = await tracked(repo.top, private)
    result = await changes.compute(UNCOMMITTED)
    assert brief(result.changes) == ["deleted a.txt +0 -3"]


async def test_a_conflict_in_a_large_file_does_not_stop_a_base(repo: Repo, private: Path) -> None:
    repo.git("branch", "theirs")
    repo.write("a.txt", "ours\n" * 300)
    repo.commit()
    repo.git("checkout", "-q", "theirs")
    repo.write("a.txt", "theirs\n" * 300)
    repo.commit()
    repo.git("merge", "main", accept=(1,))
    changes = await tracked(repo.top, private, limits=SMALL)
    await changes.begin_session()
    result = await changes.compute(SESSION)
    assert result.changes == ()
    assert [one.path for one in result.left_out] == ["a.txt"]


def conflict(repo: Repo, path: str) -> None:
    """Have a merge leave a file for the person to decide."""
    repo.write(path, "one\n")
    repo.commit()
    repo.git("branch", "theirs")
    repo.write(path, "ours\n")
    repo.commit()
    repo.git("checkout", "-q", "theirs")
    repo.write(path, "theirs\n")
    repo.commit()
    repo.git("merge", "main", accept=(1,))


async def test_a_conflict_elsewhere_in_the_repository_does_not_stop_a_base(repo: Repo, private: Path) -> None:
    conflict(repo, "other.txt")
    changes = await tracked(repo.top / "src", private)
    await changes.begin_session()
    repo.write("src/new", "x\n")
    assert brief((await changes.compute(SESSION)).changes) == ["added new +1 -0"]
    conflicts = repo.git("ls-files", "--unmerged")
    assert conflicts  # the person still has it
    whole = await tracked(repo.top, private.with_name("whole"))
    [conflicted] = [one for one in (await whole.compute(UNCOMMITTED)).changes if one.path == "other.txt"]
    assert conflicted.conflicted


async def test_a_conflict_in_the_same_folder_is_still_seen(repo: Repo, private: Path) -> None:
    conflict(repo, "src/mine.txt")
    changes = await tracked(repo.top / "src", private)
    await changes.begin_session()
    [found] = (await changes.compute(UNCOMMITTED)).changes
    assert (found.path, found.conflicted) == ("mine.txt", True)


async def test_a_conflict_about_a_submodule_does_not_stop_a_base(repo: Repo, private: Path) -> None:
    inner = Repo(repo.top / "inner")
    for number in range(3):
        inner.write("x", f"{number}\n")
        inner.commit()
    commits = inner.git("rev-list", "HEAD").decode().split()
    entries = "".join(f"160000 {commit} {stage}\tinner\0" for stage, commit in enumerate(commits, start=1))
    repo.git("update-index", "-z", "--index-info", data=entries.encode())
    assert repo.git("ls-files", "--unmerged")
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    repo.write("new", "x\n")
    assert brief((await changes.compute(SESSION)).changes) == ["added new +1 -0"]


async def test_what_a_list_above_the_folder_ignores_from_now_on_is_no_change(
    repo: Repo, private: Path
) -> None:
    changes = await tracked(repo.top / "src/deep", private)
    repo.write("src/deep/.env", "KEY=1\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added .env +1 -0"]
    repo.write("src/.gitignore", ".env\n")
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    (repo.top / "src/.gitignore").unlink()
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added .env +1 -0"]
    repo.write(".gitignore", ".env\n")
    assert (await changes.compute(UNCOMMITTED)).changes == ()


async def test_what_a_list_ignores_that_ignores_itself_is_no_change(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    repo.write("cache/x", "x\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added cache/x +1 -0"]
    repo.write("cache/.gitignore", "*\n")
    assert (await changes.compute(UNCOMMITTED)).changes == ()


async def test_what_was_stored_once_is_not_looked_at_again(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    for number in range(5):
        repo.write(f"new {number}", "x\n")
    await changes.compute(UNCOMMITTED)
    generation = changes._scanner.generation
    assert len((await changes.compute(UNCOMMITTED)).changes) == 5
    assert changes._scanner.generation == generation
    repo.write("new 3", "y\nz\n")
    assert len((await changes.compute(UNCOMMITTED)).changes) == 5
    assert changes._scanner.generation == generation + 1
