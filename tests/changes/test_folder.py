"""What changed in a folder, in a repository and in none."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo, brief, everything
from serai.changes import recorder
from serai.changes.diff import LINK_MODE, Changes
from serai.changes.folder import FolderChanges, open_folder, place_of
from serai.changes.view import SESSION, UNCOMMITTED, ChangesetKind, Which, content_uri
from serai.errors import FileUnreadable, FolderTooLarge, GitFailed, ProtocolError

T1 = Which(ChangesetKind.TURN, "t 1/ü")


async def opened(directory: Path, own: Path, session: str = "s1") -> FolderChanges:
    return await open_folder(str(directory), session, folder=own / "changes" / session, home=own)


async def begun(directory: Path, own: Path) -> FolderChanges:
    changes = await opened(directory, own)
    await changes.begin_session()
    return changes


async def seen(changes: FolderChanges, which: Which = SESSION) -> list[str]:
    return brief((await changes.compute(which)).changes)


@pytest.fixture(params=["repository", "folder"])
def anywhere(repo: Repo, request: pytest.FixtureRequest) -> Repo:
    """The same files, in a repository and in none."""
    if request.param == "folder":
        shutil.rmtree(repo.top / ".git")
    return repo


# -- bases ---------------------------------------------------------------------------------------------------


async def test_a_changeset_has_what_differs_from_its_base(anywhere: Repo, own: Path) -> None:
    anywhere.write("mine.txt", "before\n")
    changes = await begun(anywhere.top, own)
    anywhere.write("a.txt", "one\n2\nthree\n")
    await changes.begin_turn("t 1/ü")
    (anywhere.top / "src/b.py").rename(anywhere.top / "moved.py")
    anywhere.write("data", b"\0\1")
    (anywhere.top / "src/deep/c.txt").chmod(0o755)
    (anywhere.top / "link").symlink_to("/etc/passwd")
    anywhere.write("odd \udcff\n", "x\n")
    of_turn = [
        "added data binary",
        "added link +1 -0",
        "renamed src/b.py -> moved.py +0 -0",
        "added odd \udcff\n +1 -0",
        "modified src/deep/c.txt +0 -0",
    ]
    assert await seen(changes, T1) == of_turn
    await changes.end_turn("t 1/ü")
    (anywhere.top / "link").unlink()
    assert await seen(changes, T1) == of_turn
    assert (await changes.compute(T1)).settled
    assert len(await seen(changes)) == 5
    again = await opened(anywhere.top, own)
    assert await seen(again, T1) == of_turn
    assert "modified a.txt +1 -1" in await seen(again)


async def test_recorded_content_is_read_byte_for_byte(anywhere: Repo, own: Path) -> None:
    anywhere.write(".gitattributes", "* text eol=lf ident working-tree-encoding=UTF-16\n*.bin filter=lfs\n")
    anywhere.write("a.txt", "$Id$\r\n")
    anywhere.write("b.bin", b"\xff\xfe\r\n")
    (anywhere.top / "link").symlink_to("a.txt")
    changes = await begun(anywhere.top, own)
    for name in ("a.txt", "b.bin", "link"):
        (anywhere.top / name).unlink()
    found = {change.path: change.before for change in (await changes.compute(SESSION)).changes}
    read = {path: await changes.read(content_uri("s1", side)) for path, side in found.items() if side}
    assert read == {"a.txt": b"$Id$\r\n", "b.bin": b"\xff\xfe\r\n", "link": b"a.txt"}
    assert found["link"] is not None
    assert found["link"].mode == LINK_MODE


async def test_a_turn_that_was_cut_off_ends_with_what_is_recorded_next(repo: Repo, own: Path) -> None:
    changes = await begun(repo.top, own)
    for turn, cut_off in (("t 1/ü", "one"), ("t 2", "two")):
        await changes.begin_turn(turn)
        repo.write(cut_off, "x\n")
        changes = await opened(repo.top, own)  # as the next host does
    await changes.end_turn("t 2")
    repo.write("later", "x\n")
    assert await seen(changes, T1) == ["added one +1 -0"]
    assert await seen(changes, Which(ChangesetKind.TURN, "t 2")) == ["added two +1 -0"]


async def test_a_fork_takes_over_turns_and_keeps_them(anywhere: Repo, own: Path) -> None:
    changes = await begun(anywhere.top, own)
    await changes.begin_turn("t 1/ü")
    anywhere.write("a.txt", "new\n")
    await changes.end_turn("t 1/ü")
    fork = await opened(anywhere.top, own, "fork")
    await fork.adopt(own / "changes/s1", ["t 1/ü", "unknown"])
    shutil.rmtree(own / "changes/s1")
    fork = await opened(anywhere.top, own, "fork")
    [change] = (await fork.compute(T1)).changes
    assert change.before is not None
    assert await fork.read(content_uri("fork", change.before)) == b"one\ntwo\nthree\n"


# -- what is looked at ---------------------------------------------------------------------------------------


async def test_ignored_files_are_left_out_by_every_list_that_git_knows(
    repo: Repo, own: Path, home: Path
) -> None:
    repo.write(".gitignore", "*.log\n/src/only\n")
    (repo.top / ".git/info/exclude").write_text("excluded\n")
    (home / ".gitconfig").write_text("[core]\n\texcludesFile = ~/mine\n")
    (home / "mine").write_text("of mine\n")
    changes = await begun(repo.top / "src", own)
    for path in ("src/x.log", "src/only", "src/excluded", "src/of mine", "src/new", "src/deep/only"):
        repo.write(path, "x\n")
    assert await seen(changes) == ["added deep/only +1 -0", "added new +1 -0"]


async def test_files_that_are_tracked_although_ignored_are_seen(repo: Repo, own: Path) -> None:
    repo.write(".gitignore", "*.log\n")
    repo.write("kept.log", "1\n")
    repo.git("add", "-f", "kept.log", ".gitignore")
    repo.git("commit", "-q", "-m", "kept")
    changes = await begun(repo.top, own)
    assert await seen(changes, UNCOMMITTED) == []
    repo.write("kept.log", "2\n")
    repo.write("other.log", "2\n")
    assert await seen(changes, UNCOMMITTED) == ["modified kept.log +1 -1"]
    assert await seen(changes) == ["modified kept.log +1 -1"]


async def test_submodules_and_nested_repositories_are_left_alone(
    repo: Repo, own: Path, tmp_path: Path
) -> None:
    repo.add_submodule(tmp_path / "library", "lib")
    nested = Repo(repo.top / "nested")
    nested.write("x", "1\n")
    nested.commit()
    changes = await begun(repo.top, own)
    repo.write("lib/lib.txt", "2\n")
    nested.write("x", "2\n")
    repo.write("new", "x\n")
    assert await seen(changes) == await seen(changes, UNCOMMITTED) == ["added new +1 -0"]


async def test_the_hosts_own_folder_is_never_recorded(anywhere: Repo) -> None:
    own = anywhere.top / "a [home]!"
    own.mkdir()
    changes = await begun(anywhere.top, own)
    (own / "database.key").write_text("secret\n")
    assert await seen(changes) == []
    with pytest.raises(FileUnreadable, match="own folder"):
        await opened(own / "changes", own)


async def test_large_and_unreadable_files_are_named_and_left_out(
    repo: Repo, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder, "MAX_FILE_BYTES", 100)
    repo.write("committed", "x" * 101)
    repo.commit()
    changes = await begun(repo.top, own)
    repo.write("large", "x" * 101)
    repo.write("small", "x" * 10)
    os.mkfifo(repo.top / "pipe")
    found = await changes.compute(UNCOMMITTED)
    assert brief(found.changes) == ["added small +1 -0"]
    assert set(found.left_out) >= {"large"}


@pytest.mark.parametrize("bound", ["MAX_FILES", "MAX_BYTES", "_MAX_LISTED"])
async def test_a_folder_that_is_too_large_has_no_changeset_and_says_so(
    anywhere: Repo, own: Path, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    monkeypatch.setattr(recorder, bound, 2)
    changes = await opened(anywhere.top, own)
    with pytest.raises(FolderTooLarge, match="not recorded"):
        await changes.begin_session()
    with pytest.raises(FolderTooLarge):
        await changes.compute(SESSION)


async def test_what_comes_in_the_place_of_another_kind_is_recorded(anywhere: Repo, own: Path) -> None:
    changes = await begun(anywhere.top, own)
    shutil.rmtree(anywhere.top / "src")
    (anywhere.top / "src").symlink_to(".")
    (anywhere.top / "a.txt").unlink()
    anywhere.write("a.txt/inside", "x\n")
    assert await seen(changes) == [
        "deleted a.txt +0 -3",
        "added a.txt/inside +1 -0",
        "added src +1 -0",
        "deleted src/b.py +0 -10",
        "deleted src/deep/c.txt +0 -1",
    ]
    (anywhere.top / "src").unlink()
    os.mkfifo(anywhere.top / "src")
    assert "added src +1 -0" not in await seen(changes)


# -- what is uncommitted -------------------------------------------------------------------------------------


async def test_what_is_uncommitted_follows_commits(repo: Repo, own: Path) -> None:
    changes = await begun(repo.top / "src", own)
    repo.write("src/b.py", "b\n")
    repo.write("outside", "x\n")
    assert await seen(changes, UNCOMMITTED) == ["modified b.py +1 -10"]
    repo.commit()
    assert await seen(changes, UNCOMMITTED) == []
    assert await seen(changes) == ["modified b.py +1 -10"]


async def test_line_ends_and_encodings_that_git_converts_are_no_change(repo: Repo, own: Path) -> None:
    repo.write(".gitattributes", "*.txt text eol=crlf\n*.u16 text working-tree-encoding=UTF-16LE\n")
    repo.write("a.txt", "one\r\ntwo\r\n")
    repo.write("b.txt", "one\r\n")
    repo.write("c.u16", "x\n".encode("utf-16-le"))
    repo.commit()
    changes = await begun(repo.top, own)
    assert await seen(changes, UNCOMMITTED) == []
    repo.write("b.txt", "other\r\n")
    assert [line.split()[1] for line in await seen(changes, UNCOMMITTED)] == ["b.txt"]
    found = await changes.compute(UNCOMMITTED)
    await changes.discard(UNCOMMITTED, found.changes)
    assert (repo.top / "b.txt").read_bytes() == b"one\r\n"


async def test_files_with_a_filter_are_not_among_the_uncommitted_and_not_staged(
    repo: Repo, own: Path
) -> None:
    repo.write(".gitattributes", "*.bin filter=large\n")
    repo.write("a.bin", "pointer\n")
    repo.commit()
    changes = await begun(repo.top, own)
    repo.write("a.bin", "content\n")
    repo.write("b.bin", "content\n")
    assert await seen(changes, UNCOMMITTED) == []
    found = await changes.compute(SESSION)
    assert brief(found.changes) == ["modified a.bin +1 -1", "added b.bin +1 -0"]
    refused = await changes.stage(found.changes)
    assert set(refused) == {"a.bin", "b.bin"}
    assert repo.git("diff", "--cached", "--name-only") == b""


async def test_a_sparse_checkout_has_deleted_nothing(repo: Repo, own: Path) -> None:
    repo.status()  # git leaves alone what it has not looked at
    repo.git("sparse-checkout", "set", "--no-cone", "/a.txt")
    assert not (repo.top / "src").exists()
    changes = await begun(repo.top, own)
    repo.write("a.txt", "x\n")
    assert await seen(changes, UNCOMMITTED) == ["modified a.txt +1 -3"]


async def test_conflicts_are_told(repo: Repo, own: Path) -> None:
    repo.conflict()
    changes = await begun(repo.top, own)
    [change] = (await changes.compute(UNCOMMITTED)).changes
    assert change.conflicted


async def test_staging_puts_exactly_the_named_files_into_the_index(repo: Repo, own: Path) -> None:
    changes = await begun(repo.top / "src", own)
    repo.write("a.txt", "not named\n")
    repo.write("src/new", "x\n")
    (repo.top / "src/b.py").rename(repo.top / "src/moved.py")
    await changes.stage((await changes.compute(SESSION)).changes)
    assert repo.status() == [" M a.txt", "R  src/moved.py", "src/b.py", "A  src/new"]


# -- the person's things -------------------------------------------------------------------------------------


async def test_nothing_of_the_person_is_touched_and_nothing_of_the_folder_is_run(
    repo: Repo, own: Path, tmp_path: Path
) -> None:
    ran = tmp_path / "ran"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\ntouch '{ran}'\ncat\n")
    script.chmod(0o755)
    for name in ("pre-commit", "post-checkout", "post-index-change", "reference-transaction"):
        hook = repo.top / ".git/hooks" / name
        hook.parent.mkdir(exist_ok=True)
        shutil.copy2(script, hook)
    for setting in ("core.fsmonitor", "filter.evil.clean", "filter.evil.smudge", "diff.evil.textconv"):
        repo.git("config", setting, str(script))
    repo.git("config", "diff.external", str(script))
    repo.write(".gitattributes", "* filter=evil diff=evil\n")
    before = everything(repo.top / ".git")
    changes = await begun(repo.top, own)
    await changes.begin_turn("t 1/ü")
    repo.write("a.txt", "other\n")
    repo.write("new", "x\n")
    await changes.end_turn("t 1/ü")
    for which in (UNCOMMITTED, SESSION, T1):
        found = await changes.compute(which)
        await changes.discard(which, found.changes)
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert everything(repo.top / ".git") == before
    assert not ran.exists()


def open_to_others(folder: Path) -> list[Path]:
    found = [path for path in folder.rglob("*") if "items" not in path.parts and not path.is_symlink()]
    return [path for path in (folder, *found) if path.lstat().st_mode & 0o077]


async def test_what_is_recorded_is_for_its_owner_alone(repo: Repo, own: Path) -> None:
    umask = os.umask(0)
    try:
        changes = await begun(repo.top, own)
        repo.write("new", "x\n")
        await changes.discard(SESSION, (await changes.compute(SESSION)).changes)
    finally:
        os.umask(umask)
    assert open_to_others(own) == []


# -- a folder that becomes another one -----------------------------------------------------------------------


async def test_a_repository_that_comes_later_changes_nothing_that_is_recorded(
    anywhere: Repo, own: Path
) -> None:
    shutil.rmtree(anywhere.top / ".git", ignore_errors=True)
    changes = await begun(anywhere.top, own)
    await changes.begin_turn("t 1/ü")
    anywhere.write("a.txt", "new\n")
    anywhere.git("init", "-q")
    assert place_of(str(anywhere.top)) != changes.place
    await changes.end_turn("t 1/ü")
    after = await opened(anywhere.top, own)
    assert after.has_git
    assert await seen(after, T1) == await seen(after) == ["modified a.txt +1 -3"]
    assert len(await seen(after, UNCOMMITTED)) == 3


async def test_when_the_repository_is_removed_recording_goes_on_from_there(repo: Repo, own: Path) -> None:
    changes = await begun(repo.top, own)
    await changes.begin_turn("t 1/ü")
    repo.write("a.txt", "new\n")
    await changes.end_turn("t 1/ü")
    shutil.rmtree(repo.top / ".git")
    after = await opened(repo.top, own)
    with pytest.raises(GitFailed):
        await after.compute(T1)
    with pytest.raises(ProtocolError, match="in no repository"):
        await after.compute(UNCOMMITTED)
    await after.begin_session(late=True)
    repo.write("b.txt", "x\n")
    found = await after.compute(SESSION)
    assert brief(found.changes) == ["added b.txt +1 -0"]
    assert "only since" in str(found.lacks)


async def test_another_folder_in_the_place_starts_a_new_base(anywhere: Repo, own: Path) -> None:
    changes = await begun(anywhere.top, own)
    await changes.begin_turn("t 1/ü")
    await changes.end_turn("t 1/ü")
    anywhere.top.rename(anywhere.top.with_name("away"))
    anywhere.top.mkdir()
    anywhere.write("other", "x\n")
    after = await opened(anywhere.top, own)
    await after.begin_session(late=True)
    assert await seen(after) == []
    with pytest.raises(ProtocolError, match="another one"):
        await after.compute(T1)


async def test_objects_that_the_person_deletes_take_no_other_changeset_with_them(
    repo: Repo, own: Path
) -> None:
    repo.write("staged", "x\n")
    repo.git("add", "staged")
    changes = await begun(repo.top, own)
    await changes.begin_turn("t 1/ü")
    repo.git("rm", "-q", "--cached", "staged")
    repo.git("gc", "-q", "--prune=now")
    assert await seen(changes, UNCOMMITTED) == ["added staged +1 -0"]
    found = await changes.compute_all([UNCOMMITTED, T1])
    assert isinstance(found[UNCOMMITTED], Changes)
