"""By which means the changes of a folder are seen."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo, brief, never
from serai.ahp.errors import AhpErrorCode
from serai.changes.catalogue import SESSION, UNCOMMITTED, ChangesetKind, Which
from serai.changes.noted import NotedChanges
from serai.changes.opening import SessionChanges, inherit, open_changes
from serai.changes.operations import DISCARD, STAGE, invoke
from serai.changes.showing import content_uri, show
from serai.changes.tracked import TrackedChanges
from serai.errors import FileUnreadable, GitFailed, ProtocolError


async def test_a_repository_is_seen_through_git(repo: Repo, private: Path) -> None:
    changes = await open_changes(str(repo.top), "s1", folder=private, trusted=never)
    assert isinstance(changes, TrackedChanges)


async def test_any_other_folder_through_notes(tmp_path: Path, private: Path) -> None:
    changes = await open_changes(str(tmp_path), "s1", folder=private, trusted=never)
    assert isinstance(changes, NotedChanges)
    assert changes.why is None


async def test_without_git_it_is_said_why(repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", os.devnull)
    changes = await open_changes(str(repo.top), "s1", folder=private, trusted=never)
    assert isinstance(changes, NotedChanges)
    assert "not installed" in (changes.why or "")


async def test_a_folder_whose_repository_works_elsewhere_is_seen_through_notes(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "diary").write_text("the only copy\n")
    tracked = await opened(repo.top, private)
    await tracked.begin_session()
    await tracked.begin_turn("t1")
    repo.git("config", "core.worktree", str(other))
    repo.write("a.txt", "the agent's\n")
    await tracked.end_turn("t1")
    assert brief((await tracked.compute(SESSION)).changes) == ["modified a.txt +1 -3"]
    for operation in (STAGE, DISCARD):
        with pytest.raises(ProtocolError, match="is not where it was"):
            await invoke(tracked, UNCOMMITTED, operation, None)
    changes = await opened(repo.top, private)
    assert isinstance(changes, NotedChanges)
    assert "work tree elsewhere" in (changes.why or "")
    await edit(changes, "t2", "new", "one\n")
    await invoke(changes, turn("t2"), DISCARD, None)
    assert not (repo.top / "new").exists()
    assert [(file.name, file.read_text()) for file in other.iterdir()] == [("diary", "the only copy\n")]
    repo.git("config", "--unset", "core.worktree")
    again = await opened(repo.top, private)
    assert (await invoke(again, turn("t1"), DISCARD, None)).message == "Discarded the changes to 1 file"
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_a_folder_that_became_a_repository_has_what_was_noted_before(
    tmp_path: Path, private: Path
) -> None:
    work, turn = tmp_path / "work", Which(ChangesetKind.TURN, "t")
    work.mkdir()
    (work / "a.txt").write_text("one\n")
    noted = await open_changes(str(work), "s1", folder=private, trusted=never)
    assert isinstance(noted, NotedChanges)
    await noted.begin_session()
    await noted.begin_turn("t")
    for path in ("a.txt", "b.txt"):
        await noted.note_before("t", path)
        (work / path).write_text("two\n")
        await noted.note_after("t", path)
    repo = Repo(work)
    changes = await open_changes(str(work), "s1", folder=private, trusted=never)
    assert changes.has_git
    since = await changes.compute(SESSION)
    assert brief(since.changes) == ["modified a.txt +1 -1", "added b.txt +1 -0"]
    assert "only what agents edited" in (since.lacks or "")
    [modified, added] = (await changes.compute(turn)).changes
    assert brief((modified, added)) == brief(since.changes)
    assert modified.before is not None
    assert modified.after is not None
    assert await changes.read(content_uri("s1", modified.before)) == b"one\n"
    assert await changes.read(content_uri("s1", modified.after)) == b"two\n"
    await invoke(changes, turn, STAGE, None)
    assert repo.status() == ["A  a.txt", "A  b.txt"]
    await invoke(changes, turn, DISCARD, None)
    assert (work / "a.txt").read_text() == "one\n"
    assert not (work / "b.txt").exists()
    await changes.forget_turn("t")
    with pytest.raises(ProtocolError):
        await changes.compute(turn)


@pytest.mark.parametrize("autocrlf", ["false", "true"])
async def test_a_folder_that_became_a_repository_goes_back_to_what_it_was_before(
    tmp_path: Path, private: Path, autocrlf: str
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "a").write_bytes(b"orig\nmixed\r\n")
    (work / "a").chmod(0o600)
    (work / "b").write_bytes(b"orig\n")
    noted = await open_changes(str(work), "s1", folder=private, trusted=never)
    assert isinstance(noted, NotedChanges)
    await noted.begin_session()
    for path in ("a", "b", "n"):
        await edit(noted, f"one {path}", path, "agent wrote this\n")
        os.utime(work / path, (1, 1))
    Repo(work).git("config", "core.autocrlf", autocrlf)
    changes = await open_changes(str(work), "s1", folder=private, trusted=never)
    await changes.begin_turn("t")
    (work / "a").unlink()
    (work / "a").write_text("agent again\n")
    await changes.end_turn("t")
    found = await changes.compute(SESSION)
    shown = show(found.changes[0], str(work), "s1", live=False, start=found.start).edit.before
    assert shown is not None
    assert await changes.read(shown.content.uri) == b"orig\nmixed\r\n"
    assert (await invoke(changes, SESSION, DISCARD, None)).message == "Discarded the changes to 3 files"
    assert (work / "b").read_bytes() == b"orig\n"
    assert (work / "a").read_bytes() == b"orig\nmixed\r\n"
    assert (work / "a").stat().st_mode & 0o777 == 0o600
    assert not (work / "n").exists()


@pytest.mark.parametrize("begun", [True, False])
async def test_how_the_session_began_is_claimed_only_where_that_is_known(
    tmp_path: Path, private: Path, begun: bool
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    (work / "there before").write_text("x\n")
    noted = await open_changes(str(work), "s1", folder=private, trusted=never)
    if begun:
        await noted.begin_session()
    Repo(work)
    changes = await open_changes(str(work), "s1", folder=private, trusted=never)
    (work / "new").write_text("x\n")
    if begun:
        assert brief((await changes.compute(SESSION)).changes) == ["added new +1 -0"]
    else:
        with pytest.raises(ProtocolError, match="was not recorded"):
            await changes.compute(SESSION)


def turn(turn_id: str) -> Which:
    return Which(ChangesetKind.TURN, turn_id)


async def opened(directory: Path, private: Path, session_id: str = "s1") -> SessionChanges:
    return await open_changes(str(directory), session_id, folder=private, trusted=never)


def write(file: Path, content: str) -> None:
    file.write_text(content)


async def edit(changes: SessionChanges, turn_id: str, path: str, content: str) -> None:
    """Have a tool write a file, in a turn of its own."""
    await changes.begin_turn(turn_id)
    if isinstance(changes, NotedChanges):
        await changes.note_before(turn_id, path)
    write(Path(changes.directory, path), content)
    if isinstance(changes, NotedChanges):
        await changes.note_after(turn_id, path)
    await changes.end_turn(turn_id)


# -- a repository that went away ---------------------------------------------------------------------------


@pytest.mark.parametrize("prefix", ["", "src"])
async def test_when_its_repository_is_gone_a_folder_is_seen_through_notes(
    repo: Repo, private: Path, prefix: str
) -> None:
    top = repo.top / prefix
    tracked = await opened(top, private)
    await tracked.begin_session()
    await edit(tracked, "t1", "new", "one\n")
    await edit(tracked, "t2", "new", "one\ntwo\n")
    shutil.rmtree(repo.top / ".git")
    changes = await opened(top, private)
    assert isinstance(changes, NotedChanges)
    await edit(changes, "t3", "new", "three\n")
    since = await changes.compute(SESSION)
    assert brief(since.changes) == ["modified new +1 -2"]
    assert "repository is gone" in (since.lacks or "")
    assert brief((await changes.compute(turn("t3"))).changes) == ["modified new +1 -2"]
    # The second turn needs nothing but what is ours. The first one needs the last commit.
    again = await opened(top, private)
    found = await again.compute_all([turn("t2"), turn("t1")])
    second = found[turn("t2")]
    assert not isinstance(second, Exception)
    assert (brief(second.changes), second.settled) == (["modified new +1 -0"], True)
    [modified] = second.changes
    assert modified.before is not None
    assert await again.read(content_uri("s1", modified.before)) == b"one\n"
    lost = found[turn("t1")]
    assert isinstance(lost, GitFailed)
    assert "the repository in which this was recorded is gone" in lost.message
    with pytest.raises(ProtocolError, match="it can only be looked at"):
        await invoke(again, turn("t2"), DISCARD, None)
    await again.forget_turn("t2")
    with pytest.raises(ProtocolError, match="nothing was noted"):
        await (await opened(top, private)).compute(turn("t2"))


async def test_a_turn_in_which_the_repository_went_away_has_what_was_noted_after_that(
    repo: Repo, private: Path
) -> None:
    tracked = await opened(repo.top, private)
    await tracked.begin_turn("t")
    shutil.rmtree(repo.top / ".git")
    changes = await opened(repo.top, private)
    assert isinstance(changes, NotedChanges)
    await changes.note_before("t", "a.txt")
    repo.write("a.txt", "other\n")
    await changes.note_after("t", "a.txt")
    found = await changes.compute(turn("t"))
    assert brief(found.changes) == ["modified a.txt +1 -3"]
    assert "went away in this turn" in (found.lacks or "")


async def test_a_repository_that_comes_again_takes_up_what_there_was(repo: Repo, private: Path) -> None:
    await (await opened(repo.top, private)).begin_session()
    (repo.top / ".git").rename(repo.top.parent / "away")
    noted = await opened(repo.top, private)
    await edit(noted, "t", "a.txt", "other\n")
    (repo.top.parent / "away").rename(repo.top / ".git")
    changes = await opened(repo.top, private)
    assert changes.has_git
    for which in (SESSION, turn("t")):
        assert brief((await changes.compute(which)).changes) == ["modified a.txt +1 -3"]


async def test_what_another_repository_recorded_is_not_compared_with_the_one_around_it(
    tmp_path: Path, private: Path
) -> None:
    around = Repo(tmp_path / "around")
    around.write("x", "x\n")
    around.commit()
    inner = Repo(around.top / "inner")
    inner.write("a.txt", "one\n")
    inner.commit()
    await (await opened(inner.top, private)).begin_session()
    shutil.rmtree(inner.top / ".git")
    changes = await opened(inner.top, private)
    assert changes.has_git
    since = await changes.compute(SESSION)
    assert since.changes == ()
    assert "Before the folder was in this repository" in (since.lacks or "")
    await invoke(changes, SESSION, DISCARD, None)
    assert (inner.top / "a.txt").read_text() == "one\n"
    await edit(changes, "t", "a.txt", "two\n")
    again = await opened(inner.top, private)
    for which in (turn("t"), SESSION):
        assert brief((await again.compute(which)).changes) == ["modified a.txt +1 -1"]


@pytest.mark.parametrize("outer_is_gone", [True, False])
async def test_what_a_repository_ignored_is_not_deleted_from_one_that_was_made_within_it(
    repo: Repo, private: Path, outer_is_gone: bool
) -> None:
    repo.write(".gitignore", ".env\n")
    repo.write("src/.env", "the only copy\n")
    repo.commit()
    await (await opened(repo.top / "src", private)).begin_session()
    if outer_is_gone:
        shutil.rmtree(repo.top / ".git")
    inner = Repo(repo.top / "src")
    inner.git("add", "b.py", "deep")
    inner.git("commit", "-q", "-m", "first")
    changes = await opened(inner.top, private)
    await edit(changes, "t", "new", "x\n")
    inner.write("b.py", "other\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == [
        "added .env +1 -0",
        "modified b.py +1 -10",
        "added new +1 -0",
    ]
    done, refused = await changes.discard(UNCOMMITTED, None)
    assert {change.path for change in done} == {"b.py", "new"}
    assert refused == {".env": "it was there before the folder was in this repository"}
    assert (inner.top / ".env").read_text() == "the only copy\n"
    assert not (inner.top / "new").exists()


async def test_what_such_a_repository_calls_renamed_is_not_deleted_either(repo: Repo, private: Path) -> None:
    repo.write(".gitignore", ".env\n")
    repo.write("src/.env", "print('b')\n" * 10)
    repo.commit()
    await (await opened(repo.top / "src", private)).begin_session()
    inner = Repo(repo.top / "src")
    inner.git("add", "b.py")
    inner.git("commit", "-q", "-m", "first")
    changes = await opened(inner.top, private)
    (inner.top / "b.py").unlink()
    assert "renamed b.py -> .env +0 -0" in brief((await changes.compute(UNCOMMITTED)).changes)
    await changes.discard(UNCOMMITTED, None)
    assert (inner.top / ".env").exists()
    assert (inner.top / "b.py").exists()


async def test_a_link_that_leads_elsewhere_has_what_is_recorded_there(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    other, link = tmp_path / "other", tmp_path / "link"
    shutil.copytree(repo.top, other)
    (other / "draft").write_text("of the person\n")
    link.symlink_to(repo.top)
    changes = await opened(link, private)
    await changes.begin_session()
    await edit(changes, "t1", "a.txt", "1\n")
    link.unlink()
    link.symlink_to(other)
    changes = await opened(link, private)
    assert (await changes.compute(SESSION)).changes == ()
    await edit(changes, "t2", "a.txt", "2\n")
    await is_only_to_be_seen(changes, turn("t1"), ["modified a.txt +1 -3"])
    await invoke(changes, SESSION, DISCARD, None)
    assert (other / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert (other / "draft").exists()
    link.unlink()
    link.symlink_to(repo.top)
    changes = await opened(link, private)
    since = await changes.compute(SESSION)
    assert (brief(since.changes), since.lacks) == (["modified a.txt +1 -3"], None)
    await invoke(changes, turn("t1"), DISCARD, None)
    assert repo.status() == []


async def is_only_to_be_seen(changes: SessionChanges, which: Which, expected: list[str]) -> None:
    """See that a turn of another place is shown, can be read, and that nothing can be done about it."""
    found = await changes.compute(which)
    assert (brief(found.changes), found.settled) == (expected, True)
    for change in found.changes:
        for side, tree in ((change.before, found.start), (change.after, found.end)):
            if side is not None:
                assert await changes.read(content_uri("s1", side, tree))
    for operation in (STAGE, DISCARD) if changes.has_git else (DISCARD,):
        with pytest.raises(ProtocolError, match="it can only be looked at") as caught:
            await invoke(changes, which, operation, None)
        assert caught.value.number == AhpErrorCode.CONFLICT


@pytest.mark.parametrize("has_git", [False, True])
async def test_what_was_noted_in_one_place_is_not_undone_in_another(
    tmp_path: Path, private: Path, has_git: bool
) -> None:
    one, two, link = (tmp_path / name for name in ("one", "two", "link"))
    for folder in (one, two):
        folder.mkdir()
        (folder / "a.txt").write_text(f"of {folder.name}\n")
    link.symlink_to(one)
    changes = await opened(link, private)
    await changes.begin_session()
    await edit(changes, "t0", "new", "0\n")
    await edit(changes, "t1", "a.txt", "1\n")
    (two / "new").write_text("of the person\n")
    if has_git:
        Repo(two).commit()
    link.unlink()
    link.symlink_to(two)
    changes = await opened(link, private)
    assert changes.has_git is has_git
    since = await changes.compute(SESSION)
    assert since.changes == ()
    assert since.lacks
    await is_only_to_be_seen(changes, turn("t1"), ["modified a.txt +1 -1"])
    await is_only_to_be_seen(changes, turn("t0"), ["added new +1 -0"])
    await edit(changes, "t2", "a.txt", "2\n")
    await invoke(changes, SESSION, DISCARD, None)
    assert {file.name: file.read_text() for file in two.iterdir() if file.is_file()} == {
        "a.txt": "of two\n",
        "new": "of the person\n",
    }
    await changes.forget_turn("t2")
    link.unlink()
    link.symlink_to(one)
    changes = await opened(link, private)
    assert brief((await changes.compute(SESSION)).changes) == ["modified a.txt +1 -1", "added new +1 -0"]
    for which in (turn("t1"), SESSION):
        await invoke(changes, which, DISCARD, None)
    assert {file.name: file.read_text() for file in one.iterdir()} == {"a.txt": "of one\n"}


async def test_a_turn_of_another_place_can_be_forgotten(repo: Repo, private: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(repo.top)
    changes = await opened(link, private)
    await edit(changes, "t1", "a.txt", "1\n")
    link.unlink()
    link.symlink_to(repo.top / "src")
    changes = await opened(link, private)
    await is_only_to_be_seen(changes, turn("t1"), ["modified a.txt +1 -3"])
    await changes.forget_turn("t1")
    for again in (changes, await opened(link, private)):
        with pytest.raises(ProtocolError, match="was not recorded"):
            await again.compute(turn("t1"))


async def test_what_was_moved_since_a_folder_came_into_a_repository_was_there_before(
    tmp_path: Path, private: Path
) -> None:
    around = Repo(tmp_path / "around")
    around.write("x", "x\n")
    around.commit()
    inner = Repo(around.top / "inner")
    for name in ("b", "k/1", "r", "s"):
        inner.write(name, f"of {name}\n" * 5)
    inner.commit()
    await (await opened(inner.top, private)).begin_session()
    shutil.rmtree(inner.top / ".git")
    changes = await opened(inner.top, private)
    await changes.begin_turn("t")
    (inner.top / "b").rename(inner.top / "c")
    (inner.top / "k").rename(inner.top / "m")
    (inner.top / "r").rename(inner.top / "q")
    (inner.top / "q").write_text("something else\n")
    inner.write("of s", (inner.top / "s").read_text())
    (inner.top / "s").unlink()
    inner.write("new", "new\n")
    await changes.end_turn("t")
    done, refused = await changes.discard(UNCOMMITTED, None)
    assert [change.path for change in done] == ["new"]
    assert {*refused.values()} == {"it was there before the folder was in this repository"}
    left = {str(file.relative_to(inner.top)) for file in inner.top.rglob("*") if file.is_file()}
    assert left == {"c", "m/1", "q", "of s"}
    await changes.discard(SESSION, None)
    left = {str(file.relative_to(inner.top)) for file in inner.top.rglob("*") if file.is_file()}
    assert left == {"b", "k/1", "r", "s"}


async def test_a_folder_without_git_that_is_gone_is_said_to_be(tmp_path: Path, private: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    changes = await opened(work, private)
    await edit(changes, "t", "a.txt", "one\n")
    shutil.rmtree(work)
    with pytest.raises(FileUnreadable, match="the folder is gone"):
        await changes.compute(SESSION)
    assert brief((await changes.compute(turn("t"))).changes) == ["added a.txt +1 -0"]


# -- a session that was forked from another one ------------------------------------------------------------


@pytest.mark.parametrize("has_git", [True, False])
async def test_a_fork_has_the_turns_of_the_other_session_also_when_that_is_gone(
    repo: Repo, tmp_path: Path, has_git: bool
) -> None:
    if not has_git:
        shutil.rmtree(repo.top / ".git")
    source = await opened(repo.top, tmp_path / "source")
    await source.begin_session()
    await edit(source, "t1", "a.txt", "1\n")
    await edit(source, "t2", "new", "2\n")
    await edit(source, "t3", "new", "3\n")
    fork = await opened(repo.top, tmp_path / "fork", "fork")
    await fork.begin_session()
    await inherit(fork, tmp_path / "source", ["t1", "t2"])
    shutil.rmtree(tmp_path / "source")
    for changes in (fork, await opened(repo.top, tmp_path / "fork", "fork")):
        assert brief((await changes.compute(turn("t1"))).changes) == ["modified a.txt +1 -3"]
        [added] = (await changes.compute(turn("t2"))).changes
        assert added.after is not None
        assert await changes.read(content_uri("fork", added.after)) == b"2\n"
        with pytest.raises(ProtocolError):
            await changes.compute(turn("t3"))
        assert (await changes.compute(SESSION)).changes == ()
    await invoke(fork, turn("t1"), DISCARD, None)
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"


@pytest.mark.parametrize("has_git", [True, False])
async def test_a_fork_in_another_folder_says_that_it_does_not_know_the_turns(
    repo: Repo, tmp_path: Path, has_git: bool
) -> None:
    source = await opened(repo.top, tmp_path / "source")
    await edit(source, "t", "a.txt", "1\n")
    other = tmp_path / "other"
    if has_git:
        shutil.copytree(repo.top, other)
    else:
        other.mkdir()
    fork = await opened(other, tmp_path / "fork", "fork")
    await inherit(fork, tmp_path / "source", ["t"])
    for changes in (fork, await opened(other, tmp_path / "fork", "fork")):
        for act in (changes.compute(turn("t")), invoke(changes, turn("t"), DISCARD, None)):
            with pytest.raises(ProtocolError, match="forked from") as caught:
                await act
            assert caught.value.number == AhpErrorCode.NOT_FOUND
    await fork.forget_turn("t")
    await edit(fork, "t", "b.txt", "x\n")
    assert brief((await fork.compute(turn("t"))).changes) == ["added b.txt +1 -0"]


async def test_a_fork_has_the_turns_that_were_before_there_was_a_repository(tmp_path: Path) -> None:
    work = tmp_path / "work"
    work.mkdir()
    source = await opened(work, tmp_path / "source")
    await edit(source, "t1", "a.txt", "1\n")
    Repo(work)
    source = await opened(work, tmp_path / "source")
    await edit(source, "t2", "b.txt", "2\n")
    fork = await opened(work, tmp_path / "fork", "fork")
    await fork.begin_session()
    await inherit(fork, tmp_path / "source", ["t1", "t2"])
    assert brief((await fork.compute(turn("t1"))).changes) == ["added a.txt +1 -0"]
    assert brief((await fork.compute(turn("t2"))).changes) == ["added b.txt +1 -0"]
    assert (await fork.compute(SESSION)).lacks is None


async def test_a_fork_has_the_turns_since_the_folder_is_a_repository_of_its_own(
    repo: Repo, tmp_path: Path
) -> None:
    part = repo.top / "src"
    source = await opened(part, tmp_path / "source")
    await source.begin_session()
    await edit(source, "t1", "b.py", "1\n")
    Repo(part)
    source = await opened(part, tmp_path / "source")
    await edit(source, "t2", "b.py", "2\n")
    fork = await opened(part, tmp_path / "fork", "fork")
    await fork.begin_session()
    await inherit(fork, tmp_path / "source", ["t1", "t2"])
    assert brief((await fork.compute(turn("t2"))).changes) == ["modified b.py +1 -1"]
    with pytest.raises(ProtocolError, match="forked from"):
        await fork.compute(turn("t1"))


@pytest.mark.parametrize("has_git", [True, False])
async def test_a_fork_has_the_turns_that_were_where_it_is(repo: Repo, tmp_path: Path, has_git: bool) -> None:
    if not has_git:
        shutil.rmtree(repo.top / ".git")
    for name in ("one", "two"):
        repo.write(f"{name}/f", f"{name}\n")
    link = tmp_path / "link"
    link.symlink_to(repo.top / "one")
    await edit(await opened(link, tmp_path / "source"), "t1", "f", "1\n")
    link.unlink()
    link.symlink_to(repo.top / "two")
    await edit(await opened(link, tmp_path / "source"), "t2", "f", "2\n")
    fork = await opened(repo.top / "two", tmp_path / "fork", "fork")
    await inherit(fork, tmp_path / "source", ["t1", "t2"])
    await invoke(fork, turn("t2"), DISCARD, None)
    assert (repo.top / "two/f").read_text() == "two\n"
    with pytest.raises(ProtocolError, match="forked from"):
        await fork.compute(turn("t1"))
