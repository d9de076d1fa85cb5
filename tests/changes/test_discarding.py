"""Discarding: what comes back, what stays, and what is said when not all can be done."""

from __future__ import annotations

import errno
import os
import shutil
from pathlib import Path
from typing import IO, Any

import pytest

from changes.repositories import Repo, brief, everything, tracked
from changes.test_operations import TURN, at
from changes.test_tracked import ODD_NAMES
from serai.ahp.errors import AhpErrorCode
from serai.changes import discarding, writing
from serai.changes.catalogue import SESSION, UNCOMMITTED, Which
from serai.changes.ignoring import IgnoreLists
from serai.changes.operations import DISCARD, invoke
from serai.changes.tracked import TrackedChanges
from serai.errors import ProtocolError


@pytest.fixture
async def changes(repo: Repo, private: Path) -> TrackedChanges:
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    return changes


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


async def test_a_file_comes_back_where_another_was_renamed_into_a_folder_of_its_name(
    repo: Repo, changes: TrackedChanges
) -> None:
    (repo.top / "a.txt").unlink()
    (repo.top / "a.txt").mkdir()
    (repo.top / "src/b.py").rename(repo.top / "a.txt/b.py")
    assert [one.kind for one in (await changes.compute(UNCOMMITTED)).changes] == ["deleted", "renamed"]
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert result.message == "Discarded the changes to 2 files"
    assert repo.status() == []


async def test_a_folder_comes_back_where_a_file_was_renamed_to_its_name(
    repo: Repo, changes: TrackedChanges
) -> None:
    shutil.rmtree(repo.top / "src/deep")
    (repo.top / "src/b.py").rename(repo.top / "src/deep")
    assert {one.kind for one in (await changes.compute(UNCOMMITTED)).changes} == {"deleted", "renamed"}
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert result.message == "Discarded the changes to 2 files"
    assert repo.status() == []


async def test_files_that_were_renamed_into_each_others_places_stay_or_come_back(
    repo: Repo, changes: TrackedChanges
) -> None:
    (repo.top / "a.txt").rename(repo.top / "one")
    (repo.top / "src/b.py").rename(repo.top / "two")
    repo.write("a.txt/in", "")
    repo.write("src/b.py/in", "")
    (repo.top / "one").rename(repo.top / "src/b.py/in")
    (repo.top / "two").rename(repo.top / "a.txt/in")
    seen = everything(repo.top / "src") | everything(repo.top / "a.txt")
    with pytest.raises(ProtocolError, match="nothing was done"):
        await invoke(changes, UNCOMMITTED, DISCARD, None)
    now = everything(repo.top / "src") | everything(repo.top / "a.txt")
    assert {path: one[:2] for path, one in now.items()} == {path: one[:2] for path, one in seen.items()}


async def test_a_file_that_came_where_a_sparse_checkout_has_none_goes_again(
    repo: Repo, private: Path
) -> None:
    repo.status()  # a copied index knows the files only after a look
    repo.git("sparse-checkout", "set", "--no-cone", "/a.txt")
    changes = await tracked(repo.top, private)
    await changes.begin_turn("t")
    assert sorted(file.name for file in repo.top.iterdir()) == [".git", "a.txt"]
    repo.write("src/b.py", "agent\n")
    repo.write("a.txt", "agent\n")
    await changes.end_turn("t")
    result = await invoke(changes, TURN, DISCARD, None)
    assert result.message == "Discarded the changes to 2 files"
    assert sorted(file.name for file in repo.top.iterdir()) == [".git", "a.txt"]
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert repo.status() == []
    repo.write("src/b.py", "mine\n")
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert sorted(file.name for file in repo.top.iterdir()) == [".git", "a.txt"]
    assert repo.status() == []


async def test_a_file_that_git_is_told_to_look_past_is_not_taken_for_one_that_was_not_there(
    repo: Repo, private: Path
) -> None:
    repo.git("update-index", "--skip-worktree", "src/b.py")
    changes = await tracked(repo.top, private)
    await changes.begin_turn("t")
    repo.write("a.txt", "agent\n")
    repo.write("src/b.py", "agent\n")
    await changes.end_turn("t")
    await invoke(changes, TURN, DISCARD, None)
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert (repo.top / "src/b.py").exists()


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


# -- the index ---------------------------------------------------------------------------------------------


async def test_when_the_index_is_locked_nothing_is_discarded_and_all_can_be_later(
    repo: Repo, changes: TrackedChanges
) -> None:
    repo.write("a.txt", "mine\n")
    repo.git("add", "a.txt")
    repo.write("new", "x\n")
    lock = repo.top / ".git/index.lock"
    lock.write_bytes(b"")
    for target in (None, at(repo, "a.txt")):
        with pytest.raises(ProtocolError, match="Another git command"):
            await invoke(changes, UNCOMMITTED, DISCARD, target)
    assert (repo.top / "a.txt").read_text() == "mine\n"
    assert (repo.top / "new").exists()
    lock.unlink()
    assert repo.status() == ["M  a.txt", "?? new"]
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert result.message == "Discarded the changes to 2 files"
    assert repo.status() == []


async def test_what_is_only_staged_goes_back_with_all_and_with_no_other_file(
    repo: Repo, changes: TrackedChanges
) -> None:
    repo.write("a.txt", "staged\n")
    repo.write("src/b.py", "staged\n")
    repo.git("add", "-A")
    repo.write("a.txt", "one\ntwo\nthree\n")
    repo.git("rm", "-q", "--cached", "src/deep/c.txt")
    await invoke(changes, UNCOMMITTED, DISCARD, at(repo, "src/b.py"))
    assert repo.status() == ["MM a.txt", "D  src/deep/c.txt", "?? src/deep/c.txt"]
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert result.message == "Discarded the changes to 2 files"
    assert repo.status() == []


async def test_what_is_staged_outside_of_the_directory_stays_staged(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top / "src", private)
    repo.write("a.txt", "staged\n")
    repo.write("src/b.py", "staged\n")
    repo.git("add", "-A")
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert repo.status() == ["M  a.txt"]


async def test_a_file_that_is_meant_to_be_added_is_no_longer(repo: Repo, changes: TrackedChanges) -> None:
    repo.write("new", "x\n")
    repo.git("add", "--intent-to-add", "new")
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert repo.status() == []


async def test_what_cannot_come_back_stays_staged_as_it_was(repo: Repo, private: Path) -> None:
    repo.conflict()
    repo.git("rm", "-q", "--cached", "src/b.py")
    for path in ("a.txt", "src/b.py"):
        (repo.top / path).unlink()
        repo.write(f"{path}/precious", "x\n")
    (repo.top / ".git/info/exclude").write_text("precious\n")
    index = repo.git("ls-files", "-s")
    changes = await tracked(repo.top, private)
    with pytest.raises(ProtocolError, match="nothing was done"):
        await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert repo.git("ls-files", "-s") == index


async def test_a_file_that_took_the_place_of_a_submodule_is_left_alone(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    repo.add_submodule(tmp_path / "library", "lib")
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    shutil.rmtree(repo.top / "lib")
    repo.write("lib", "now a file\n")
    for is_staged in (False, True):
        if is_staged:
            repo.git("add", "lib")
        index = repo.git("ls-files", "-s")
        for which in (UNCOMMITTED, SESSION):
            assert (await changes.compute(which)).changes == ()
            result = await invoke(changes, which, DISCARD, None)
            assert result.message == "Discarded the changes to 0 files"
        assert (repo.top / "lib").read_text() == "now a file\n"
        assert repo.git("ls-files", "-s") == index


# -- not all can be done -----------------------------------------------------------------------------------


async def test_a_disk_that_is_full_midway_is_told_of(
    repo: Repo, changes: TrackedChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a.txt", "src/b.py"):
        repo.write(path, "mine\n")
    repo.git("add", "-A")
    copy = shutil.copyfileobj

    def copy_some(source: IO[bytes], target: IO[bytes], length: int = 0) -> Any:
        if str(source.name).endswith("b.py"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return copy(source, target, length)

    monkeypatch.setattr(writing.shutil, "copyfileobj", copy_some)
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert isinstance(result.message, str)
    assert result.message.startswith("Discarded the changes to 1 file; not 1: src/b.py:")
    assert "No space left" in result.message
    assert (repo.top / "src/b.py").read_text() == "mine\n"
    assert repo.status() == ["M  src/b.py"]
    with pytest.raises(ProtocolError, match=r"nothing was done: .*No space left") as caught:
        await invoke(changes, UNCOMMITTED, DISCARD, at(repo, "src/b.py"))
    assert caught.value.number == AhpErrorCode.CONFLICT


async def test_a_renamed_file_stays_when_its_earlier_place_is_taken(
    repo: Repo, changes: TrackedChanges
) -> None:
    (repo.top / "src/b.py").rename(repo.top / "moved.py")
    repo.write("src/b.py/ignored", "precious\n")
    (repo.top / ".git/info/exclude").write_text("ignored\n")
    with pytest.raises(ProtocolError, match=r"nothing was done: moved\.py"):
        await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert (repo.top / "moved.py").read_text() == "print('b')\n" * 10
    assert sorted(file.name for file in repo.top.iterdir()) == [".git", "a.txt", "moved.py", "src"]


async def test_a_renamed_file_does_not_come_back_when_it_cannot_be_taken_away(
    repo: Repo, changes: TrackedChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    (repo.top / "src/b.py").rename(repo.top / "moved.py")
    rename = os.rename

    def rename_others(source: str, target: str, **handles: int) -> None:
        if source == "moved.py":
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))
        rename(source, target, **handles)

    monkeypatch.setattr(writing.os, "rename", rename_others)
    with pytest.raises(ProtocolError, match=r"nothing was done: moved\.py"):
        await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert (repo.top / "moved.py").exists()
    assert not (repo.top / "src/b.py").exists()


async def test_a_file_that_is_only_no_longer_tracked_is_not_overwritten(
    repo: Repo, changes: TrackedChanges
) -> None:
    repo.git("rm", "-q", "--cached", "a.txt")
    repo.write("a.txt", "precious\n")
    repo.write(".gitignore", "a.txt\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes)[1:] == ["deleted a.txt +0 -3"]
    result = await invoke(changes, UNCOMMITTED, DISCARD, at(repo, ".gitignore"))
    repo.write(".gitignore", "a.txt\n")
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert result.message == (
        "Discarded the changes to 1 file; not 1: a.txt: the file at a.txt is not tracked any more"
    )
    assert (repo.top / "a.txt").read_text() == "precious\n"


# -- meanwhile ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("autocrlf", ["false", "true"])
@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION])
async def test_what_is_written_while_earlier_content_is_read_stays(
    repo: Repo, private: Path, which: Which, autocrlf: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.git("config", "core.autocrlf", autocrlf)
    repo.write("gone", "x\n")
    repo.commit()
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    (repo.top / "src/b.py").rename(repo.top / "moved.py")
    (repo.top / "gone").unlink()
    for path in ("a.txt", "note", "new"):
        repo.write(path, "first\r\n")
    put_back = discarding.put_back

    def late(*words: Any, **more: Any) -> Any:
        for path in ("a.txt", "note", "moved.py", "gone"):
            repo.write(path, "typed meanwhile\n")
        return put_back(*words, **more)

    monkeypatch.setattr(discarding, "put_back", late)
    result = await invoke(changes, which, DISCARD, None)
    why = "it has changed since it was looked at"
    assert result.message == (
        f"Discarded the changes to 1 file; not 4: note: {why}; a.txt: {why}; gone: {why}, and 1 more"
    )
    for path in ("a.txt", "note", "moved.py", "gone"):
        assert (repo.top / path).read_text() == "typed meanwhile\n"
    assert not (repo.top / "new").exists()
    assert not [file.name for file in repo.top.iterdir() if file.name.startswith(".serai-")]


async def test_what_is_written_before_it_is_known_by_its_bytes_stays(
    repo: Repo, changes: TrackedChanges, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a.txt", "first\n")
    repo.write("src/b.py", "first\n")
    seen = discarding.seen

    async def late(*words: Any) -> Any:
        repo.write("a.txt", "typed meanwhile\n")
        return await seen(*words)

    monkeypatch.setattr(discarding, "seen", late)
    result = await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert result.message == (
        "Discarded the changes to 1 file; not 1: a.txt: it has changed since it was looked at"
    )
    assert (repo.top / "a.txt").read_text() == "typed meanwhile\n"


# -- conflicts ---------------------------------------------------------------------------------------------


async def test_every_kind_of_open_conflict_is_closed(repo: Repo, private: Path) -> None:
    for name in ("both", "du", "ud", "moved"):
        repo.write(name, f"{name}\n" * 4)
    repo.commit()
    repo.git("checkout", "-q", "-b", "theirs")
    for name in ("both", "du"):
        repo.write(name, "theirs\n")
    repo.git("rm", "-q", "ud")
    repo.git("mv", "moved", "moved-theirs")
    repo.commit()
    repo.git("checkout", "-q", "main")
    for name in ("both", "ud"):
        repo.write(name, "ours\n")
    repo.git("rm", "-q", "du")
    repo.git("mv", "moved", "moved-ours")
    repo.commit()
    repo.git("merge", "theirs", accept=(1,))
    kinds = {line[:2] for line in repo.status()}
    assert {"DU", "UD", "UU", "DD", "UA", "AU"} <= kinds
    changes = await tracked(repo.top, private)
    await invoke(changes, UNCOMMITTED, DISCARD, at(repo, "du"))
    assert not [line for line in repo.status() if line.endswith(" du")]
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert repo.status() == []
    assert repo.git("ls-files", "--unmerged") == b""
    assert sorted(file.name for file in repo.top.iterdir()) == [
        *(".git", "a.txt", "both", "moved-ours", "src", "ud")
    ]
