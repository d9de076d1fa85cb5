"""Stage, discard, open."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo, everything, tracked
from changes.test_tracked import ODD_NAMES
from serai.ahp.commands import (
    ChangesetOperationTarget,
    ChangesetRangeTarget,
    ChangesetResourceTarget,
    InvokeChangesetOperationResult,
)
from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import TextPosition, TextRange
from serai.changes.catalogue import SESSION, UNCOMMITTED, ChangesetKind, Which
from serai.changes.ignoring import IgnoreLists
from serai.changes.noted import NotedChanges
from serai.changes.operations import DISCARD, OPEN, STAGE, invoke, operations_for
from serai.changes.showing import file_uri
from serai.changes.tracked import TrackedChanges
from serai.errors import InvalidParams, ProtocolError

TURN = Which(ChangesetKind.TURN, "t")


def at(repo: Repo, path: str, side: str | None = None) -> ChangesetResourceTarget:
    return ChangesetResourceTarget(resource=file_uri(str(repo.top), path), side=side)


@pytest.fixture
async def changes(repo: Repo, private: Path) -> TrackedChanges:
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    return changes


def test_what_is_offered() -> None:
    for kind in ChangesetKind:
        offered = {one.id: one for one in operations_for(kind, has_git=True)}
        assert set(offered) == {STAGE, DISCARD, OPEN}
        assert offered[STAGE].scopes == offered[DISCARD].scopes == ["changeset", "resource"]
        assert offered[OPEN].scopes == ["resource"]
        assert offered[DISCARD].confirmation
        assert offered[STAGE].confirmation is None
        assert [one.id for one in operations_for(kind, has_git=False)] == [DISCARD, OPEN]


# -- stage -------------------------------------------------------------------------------------------------


async def test_one_file_is_staged_and_no_other(repo: Repo, changes: TrackedChanges) -> None:
    repo.write("a.txt", "new\n")
    repo.write("other", "x\n")
    result = await invoke(changes, UNCOMMITTED, STAGE, at(repo, "a.txt"))
    assert result.message == "Staged a.txt"
    assert repo.status() == ["M  a.txt", "?? other"]


async def test_all_is_staged_with_deletions_renames_and_odd_names(
    repo: Repo, changes: TrackedChanges
) -> None:
    for name in ODD_NAMES:
        repo.write(name, f"content of {name!r}\n")
    (repo.top / "a.txt").unlink()
    (repo.top / "src/b.py").rename(repo.top / "src/moved.py")
    result = await invoke(changes, UNCOMMITTED, STAGE, None)
    assert result.message == f"Staged {len(ODD_NAMES) + 2} files"
    letters = [entry[:2] for entry in repo.status() if entry[2:3] == " "]
    assert sorted(letters) == sorted(["D ", "R ", *["A "] * len(ODD_NAMES)])


async def test_a_path_beyond_a_new_link_is_staged_as_deleted(repo: Repo, changes: TrackedChanges) -> None:
    shutil.move(repo.top / "src", repo.top / "source")
    (repo.top / "src").symlink_to("source")
    await invoke(changes, UNCOMMITTED, STAGE, None)
    assert sorted(repo.status()) == sorted(
        ["A  src", "R  source/b.py", "src/b.py", "R  source/deep/c.txt", "src/deep/c.txt"]
    )


async def test_a_conflict_is_settled_by_staging(repo: Repo, private: Path) -> None:
    repo.git("branch", "theirs")
    repo.write("a.txt", "ours\n")
    repo.commit()
    repo.git("checkout", "-q", "theirs")
    repo.write("a.txt", "theirs\n")
    repo.commit()
    repo.git("merge", "main", accept=(1,))
    changes = await tracked(repo.top, private)
    repo.write("a.txt", "both\n")
    await invoke(changes, UNCOMMITTED, STAGE, at(repo, "a.txt"))
    assert repo.status() == ["M  a.txt"]


async def test_a_locked_index_is_a_conflict_that_says_so(repo: Repo, changes: TrackedChanges) -> None:
    repo.write("a.txt", "new\n")
    (repo.top / ".git/index.lock").write_bytes(b"")
    with pytest.raises(ProtocolError, match="Another git command") as caught:
        await invoke(changes, UNCOMMITTED, STAGE, None)
    assert caught.value.number == AhpErrorCode.CONFLICT


# -- discard -----------------------------------------------------------------------------------------------


async def test_everything_uncommitted_is_discarded(repo: Repo, changes: TrackedChanges) -> None:
    before = {path: seen[:2] for path, seen in everything(repo.top).items() if "/.git" not in path}
    repo.write("a.txt", "changed\n")
    repo.write("staged", "x\n")
    repo.git("add", "staged")
    (repo.top / "src/b.py").rename(repo.top / "src/moved.py")
    (repo.top / "src/deep/c.txt").unlink()
    (repo.top / "src/deep/c.txt").symlink_to("nowhere")
    for name in ODD_NAMES:
        repo.write(name, "x\n")
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert result.message == f"Discarded the changes to {len(ODD_NAMES) + 4} files"
    assert {path: seen[:2] for path, seen in everything(repo.top).items() if "/.git" not in path} == before
    assert repo.status() == []
    assert (await changes.compute(UNCOMMITTED)).changes == ()


async def test_one_file_is_discarded_and_no_other_is_touched(repo: Repo, changes: TrackedChanges) -> None:
    repo.write("a.txt", "changed\n")
    repo.write("src/b.py", "changed\n")
    repo.write("*", "new\n")
    others = {
        path: seen for path, seen in everything(repo.top).items() if path.endswith((".py", "c.txt", "*"))
    }
    await invoke(changes, UNCOMMITTED, DISCARD, at(repo, "a.txt"))
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"
    now = everything(repo.top)
    assert {path: now[path] for path in others} == others
    await invoke(changes, UNCOMMITTED, DISCARD, at(repo, "*"))
    assert repo.status() == [" M src/b.py"]


async def test_a_session_goes_back_to_its_beginning_and_not_to_the_commit(repo: Repo, private: Path) -> None:
    repo.write("a.txt", "the person's\n")
    repo.write("notes", "the person's\n")
    repo.git("add", "a.txt")
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    index = repo.git("ls-files", "-s")
    repo.write("a.txt", "the agent's\n")
    (repo.top / "notes").unlink()
    repo.write("new", "the agent's\n")
    await invoke(changes, SESSION, DISCARD, None)
    assert (repo.top / "a.txt").read_text() == (repo.top / "notes").read_text() == "the person's\n"
    assert not (repo.top / "new").exists()
    assert repo.git("ls-files", "-s") == index


async def test_executable_files_and_links_come_back_as_such(repo: Repo, private: Path) -> None:
    repo.write("run.sh", "echo\n", executable=True)
    (repo.top / "link").symlink_to(os.fsdecode(b"to \xff"))
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    repo.write("run.sh", "changed\n")
    (repo.top / "link").unlink()
    repo.write("link", "now a file\n")
    await invoke(changes, SESSION, DISCARD, None)
    assert os.access(repo.top / "run.sh", os.X_OK)
    assert (repo.top / "run.sh").read_text() == "echo\n"
    assert os.fsencode((repo.top / "link").readlink()) == b"to \xff"


async def test_a_turn_that_is_over_is_discarded_unless_something_came_after_it(
    repo: Repo, changes: TrackedChanges
) -> None:
    await changes.begin_turn("t")
    repo.write("a.txt", "in the turn\n")
    repo.write("src/b.py", "in the turn\n")
    await changes.end_turn("t")
    repo.write("a.txt", "in the turn\nlater\n")
    result = await invoke(changes, TURN, DISCARD, None)
    assert result.message == "Discarded the changes to 1 file; not 1: a.txt: it has changed since that turn"
    assert (repo.top / "a.txt").read_text() == "in the turn\nlater\n"
    assert (repo.top / "src/b.py").read_text() == "print('b')\n" * 10
    with pytest.raises(ProtocolError, match="has changed since that turn") as caught:
        await invoke(changes, TURN, DISCARD, at(repo, "a.txt"))
    assert caught.value.number == AhpErrorCode.CONFLICT


async def test_a_directory_in_the_place_of_a_file_is_not_deleted(repo: Repo, changes: TrackedChanges) -> None:
    (repo.top / "a.txt").unlink()
    repo.write("a.txt/precious", "x\n")
    with pytest.raises(ProtocolError, match=r"nothing was done: a\.txt"):
        await invoke(changes, UNCOMMITTED, DISCARD, at(repo, "a.txt"))
    assert (repo.top / "a.txt/precious").read_text() == "x\n"
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_a_file_that_became_a_folder_comes_back(repo: Repo, changes: TrackedChanges) -> None:
    (repo.top / "src/b.py").rename(repo.top / "moved")
    repo.write("src/b.py/deep/one/x", "")
    (repo.top / "moved").rename(repo.top / "src/b.py/deep/one/x")
    repo.write("src/b.py/new", "x\n")
    assert [one.kind for one in (await changes.compute(UNCOMMITTED)).changes] == ["renamed", "added"]
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert result.message == "Discarded the changes to 2 files"
    assert (repo.top / "src/b.py").read_text() == "print('b')\n" * 10
    assert repo.status() == []


async def test_a_folder_that_became_a_file_comes_back(repo: Repo, changes: TrackedChanges) -> None:
    (repo.top / "src/deep/c.txt").rename(repo.top / "moved")
    (repo.top / "src/deep").rmdir()
    (repo.top / "moved").rename(repo.top / "src/deep")
    [renamed] = (await changes.compute(UNCOMMITTED)).changes
    assert renamed.kind == "renamed"
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert (repo.top / "src/deep/c.txt").read_text() == "c\n"
    assert repo.status() == []


async def test_a_file_that_became_a_folder_stays_where_others_are_in_it(
    repo: Repo, changes: TrackedChanges
) -> None:
    content = "print('b')\n" * 10 + "more\n"
    (repo.top / "src/b.py").unlink()
    repo.write("src/b.py/in/x", content)
    repo.write("src/b.py/ignored", "precious\n")
    (repo.top / ".git/info/exclude").write_text("ignored\n")
    with pytest.raises(ProtocolError, match=r"nothing was done: src/b\.py/in/x"):
        await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert (repo.top / "src/b.py/in/x").read_text() == content
    assert (repo.top / "src/b.py/ignored").read_text() == "precious\n"
    assert sorted(file.name for file in repo.top.iterdir()) == [".git", "a.txt", "src"]


async def test_no_empty_folder_is_left_of_one_that_was_renamed(repo: Repo, private: Path) -> None:
    (repo.top / "src").rename(repo.top / "source")
    changes = await tracked(repo.top, private)
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert repo.status() == []
    assert sorted(file.name for file in repo.top.iterdir()) == [".git", "a.txt", "src"]


async def test_the_working_directory_itself_stays_also_when_nothing_is_in_it(
    repo: Repo, private: Path
) -> None:
    repo.write("sub/dir/in/new", "x\n")
    changes = await tracked(repo.top / "sub/dir", private)
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert list((repo.top / "sub").rglob("*")) == [repo.top / "sub/dir"]


def never_changed(_lists: IgnoreLists) -> bool:
    return False


@pytest.mark.parametrize("is_noticed", [True, False])
@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])
async def test_no_file_is_deleted_that_git_ignores_by_now(
    repo: Repo, private: Path, which: Which, is_noticed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = await tracked(repo.top / "src", private)
    await changes.begin_session()
    await changes.begin_turn("t")
    for path in ("src/.env", "src/cache/x", "src/new"):
        repo.write(path, "x\n")
    assert len((await changes.compute(which)).changes) == 3
    repo.write(".gitignore", ".env\n")
    repo.write("src/cache/.gitignore", "*\n")
    if not is_noticed:
        monkeypatch.setattr(IgnoreLists, "have_changed", never_changed)
        assert len((await changes.compute(which)).changes) == 3
    result = await invoke(changes, which, DISCARD, None)
    assert result.message == "Discarded the changes to 1 file"
    assert (repo.top / "src/.env").exists()
    assert (repo.top / "src/cache/x").exists()
    assert not (repo.top / "src/new").exists()


async def test_a_turn_that_is_over_leaves_what_git_ignores_by_now_and_says_so(
    repo: Repo, changes: TrackedChanges
) -> None:
    await changes.begin_turn("t")
    repo.write(".env", "KEY=1\n")
    repo.write("new", "x\n")
    await changes.end_turn("t")
    repo.write(".gitignore", ".env\n")
    result = await invoke(changes, TURN, DISCARD, None)
    assert result.message == "Discarded the changes to 1 file; not 1: .env: git ignores it now"
    assert (repo.top / ".env").exists()


async def test_discarding_does_not_follow_a_link_out_of_the_work_tree(
    repo: Repo, changes: TrackedChanges, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "c.txt").write_text("not ours\n")
    shutil.rmtree(repo.top / "src/deep")
    (repo.top / "src/deep").symlink_to(outside)
    with pytest.raises(ProtocolError, match="behind a symbolic link"):
        await invoke(changes, UNCOMMITTED, DISCARD, at(repo, "src/deep/c.txt"))
    assert (outside / "c.txt").read_text() == "not ours\n"
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert (outside / "c.txt").read_text() == "not ours\n"
    assert (repo.top / "src/deep/c.txt").read_text() == "c\n"


async def test_before_the_first_commit_discarding_deletes(tmp_path: Path, private: Path) -> None:
    repo = Repo(tmp_path / "empty")
    repo.write("x", "x\n")
    repo.git("add", "x")
    changes = await tracked(repo.top, private)
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert not (repo.top / "x").exists()
    assert repo.status() == []


# -- open, and what is refused -----------------------------------------------------------------------------


def opened(result: InvokeChangesetOperationResult) -> str:
    assert result.follow_up is not None
    return result.follow_up.content.uri


async def test_a_file_is_opened_as_it_is_or_as_it_was(repo: Repo, changes: TrackedChanges) -> None:
    repo.write("a.txt", "new\n")
    (repo.top / "src/b.py").unlink()
    uri = opened(await invoke(changes, UNCOMMITTED, OPEN, at(repo, "a.txt")))
    assert await changes.read(uri) == b"new\n"
    uri = opened(await invoke(changes, UNCOMMITTED, OPEN, at(repo, "a.txt", "before")))
    assert await changes.read(uri) == b"one\ntwo\nthree\n"
    uri = opened(await invoke(changes, UNCOMMITTED, OPEN, at(repo, "src/b.py")))
    assert await changes.read(uri) == b"print('b')\n" * 10


async def test_a_renamed_file_is_found_by_both_names(repo: Repo, changes: TrackedChanges) -> None:
    (repo.top / "src/b.py").rename(repo.top / "moved.py")
    for target in (at(repo, "moved.py"), at(repo, "src/b.py", "before")):
        assert opened(await invoke(changes, UNCOMMITTED, OPEN, target))


async def test_what_is_not_offered_is_refused(repo: Repo, changes: TrackedChanges) -> None:
    repo.write("a.txt", "new\n")
    start = TextPosition(line=0, character=0)
    part = ChangesetRangeTarget(
        resource=at(repo, "a.txt").resource, range=TextRange(start=start, end=start), side="after"
    )
    refused: list[tuple[str, ChangesetOperationTarget | None]] = [
        ("format-disk", None),
        (OPEN, None),
        (STAGE, part),
        (DISCARD, part),
    ]
    for operation, target in refused:
        with pytest.raises(InvalidParams):
            await invoke(changes, UNCOMMITTED, operation, target)
    assert (repo.top / "a.txt").read_text() == "new\n"


async def test_a_file_without_changes_is_not_found(repo: Repo, changes: TrackedChanges) -> None:
    repo.write("a.txt", "new\n")
    for path in ("src/b.py", "../outside", "nowhere"):
        for operation in (STAGE, DISCARD, OPEN):
            with pytest.raises(ProtocolError) as caught:
                await invoke(changes, UNCOMMITTED, operation, at(repo, path))
            assert caught.value.number == AhpErrorCode.NOT_FOUND


async def test_without_git_there_is_nothing_to_stage(tmp_path: Path, private: Path) -> None:
    noted = NotedChanges(str(tmp_path), "s1", folder=private)
    with pytest.raises(InvalidParams):
        await invoke(noted, SESSION, STAGE, None)
