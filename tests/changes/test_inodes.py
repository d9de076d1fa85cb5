"""Files that were made before a base, and are new in their place: no discard deletes or overwrites them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from changes.births import OLDER, OWN_BIRTH, append, contents, settle
from changes.repositories import Repo, brief, never, tracked
from changes.test_guarding import begun, discarded
from changes.test_operations import TURN
from serai.changes import unseen
from serai.changes.catalogue import SESSION, UNCOMMITTED, Which
from serai.changes.noted import NotedChanges
from serai.changes.opening import open_changes
from serai.changes.operations import DISCARD, invoke
from serai.errors import ProtocolError

pytestmark = pytest.mark.usefixtures("tells_birth")

ALL = pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])


@ALL
async def test_what_was_moved_here_and_written_to_stays(
    repo: Repo, private: Path, tmp_path: Path, which: Which, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unseen, "MOST_EACH", 3)
    repo.write(".gitignore", "data/\n")
    repo.commit()
    for number in range(6):
        repo.write(f"data/{number}", "precious\n")
    inner = Repo(repo.top / "inner").write("f", "precious\n")
    elsewhere = tmp_path / "notes"
    elsewhere.write_text("precious\n")
    settle(tmp_path)
    changes = await begun(repo, private)
    elsewhere.rename(repo.top / "notes")
    inner.rename(repo.top / "f")
    (repo.top / "data").rename(repo.top / "storage")
    written = [repo.top / name for name in ("notes", "f", "storage/1")]
    for file in written:
        append(file)
    later = time.time() + 1e6
    os.utime(repo.top / "notes", (later, later))
    repo.write("new", "the agent's\n")
    message = await discarded(changes, which)
    assert message.startswith("Discarded the changes to 1 file; not 8: f: it is older than the ")
    assert {file.read_text() for file in written} == {"precious\nmore\n"}
    assert not (repo.top / "new").exists()


@ALL
async def test_what_looks_renamed_and_was_moved_here_stays_and_the_earlier_file_comes_back(
    repo: Repo, private: Path, tmp_path: Path, which: Which
) -> None:
    elsewhere = tmp_path / "b"
    elsewhere.write_text("print('b')\n" * 10)
    settle(tmp_path)
    changes = await begun(repo, private)
    (repo.top / "src/b.py").unlink()
    elsewhere.rename(repo.top / "b")
    append(repo.top / "b")
    if which != UNCOMMITTED:
        assert brief((await changes.compute(which)).changes) == ["renamed src/b.py -> b +1 -0"]
    message = await discarded(changes, which)
    assert f"not 1: b: it is older than the {'turn' if which == TURN else 'session'}: {OLDER}" in message
    assert (repo.top / "b").read_text() == "print('b')\n" * 10 + "more\n"
    assert (repo.top / "src/b.py").read_text() == "print('b')\n" * 10


@OWN_BIRTH
@ALL
async def test_what_was_moved_onto_a_recorded_file_and_written_to_is_not_overwritten(
    repo: Repo, private: Path, tmp_path: Path, which: Which
) -> None:
    elsewhere = tmp_path / "doc"
    elsewhere.write_text("precious\n")
    settle(tmp_path)
    changes = await begun(repo, private)
    elsewhere.rename(repo.top / "a.txt")
    append(repo.top / "a.txt")
    with pytest.raises(ProtocolError, match=rf"nothing was done: a\.txt: .*{OLDER}"):
        await discarded(changes, which)
    assert (repo.top / "a.txt").read_text() == "precious\nmore\n"


@OWN_BIRTH
async def test_what_was_moved_to_where_an_agent_wrote_before_there_was_a_repository_stays(
    tmp_path: Path, private: Path
) -> None:
    work, elsewhere = tmp_path / "work", tmp_path / "doc"
    work.mkdir()
    elsewhere.write_text("precious\n")
    noted = await open_changes(str(work), "s1", folder=private, trusted=never)
    assert isinstance(noted, NotedChanges)
    await noted.begin_session()
    await noted.begin_turn("t")
    for name in ("doc", "own"):
        await noted.note_before("t", name)
    (work / "own").write_text("the agent's\n")
    for name in ("doc", "own"):
        await noted.note_after("t", name)
    await noted.end_turn("t")
    Repo(work)
    settle(tmp_path)
    changes = await open_changes(str(work), "s1", folder=private, trusted=never)
    elsewhere.rename(work / "doc")
    result = await invoke(changes, SESSION, DISCARD, None)
    assert result.message == (
        f"Discarded the changes to 1 file; not 1: doc: it is older than the session: {OLDER}"
    )
    assert (work / "doc").read_text() == "precious\n"
    assert not (work / "own").exists()


def _new_and_edited(repo: Repo) -> None:
    append(repo.write("new", "the agent's\n"))
    append(repo.top / "a.txt")
    append(repo.top / "mine")


def _saved_by_rename(repo: Repo) -> None:
    for name in ("a.txt", "mine", "new"):
        repo.write(f"{name}.tmp", "saved\n").replace(repo.top / name)


def _saved_with_a_copy_of_the_earlier(repo: Repo) -> None:
    for name in ("a.txt", "mine"):
        (repo.top / name).rename(repo.top / f"{name}~")
        repo.write(name, "saved\n")
        append(repo.top / f"{name}~")


def _renamed_and_edited(repo: Repo) -> None:
    for name in ("src/b.py", "mine", "src/deep/c.txt"):
        file = repo.top / name
        file.rename(repo.top / file.name.upper())
        append(repo.top / file.name.upper(), "much more\n" * 20)


def _moved_onto_each_other(repo: Repo) -> None:
    (repo.top / "mine").rename(repo.top / "a.txt")
    (repo.top / "src/b.py").rename(repo.top / "mine")
    append(repo.top / "a.txt")
    append(repo.top / "mine")


def _moved_by_git(repo: Repo) -> None:
    repo.git("mv", "src/b.py", "b.py")
    append(repo.top / "b.py")
    repo.commit()
    append(repo.top / "b.py")


def _stashed_and_back(repo: Repo) -> None:
    append(repo.top / "a.txt")
    repo.write("new", "the agent's\n")
    repo.git("stash", "-q", "-u")
    repo.git("stash", "pop", "-q")


def _checked_out(repo: Repo) -> None:
    repo.git("checkout", "-q", "other")


@pytest.mark.parametrize("restarts", [True, False])
@pytest.mark.parametrize("which", [SESSION, TURN])
@pytest.mark.parametrize(
    "work",
    [
        _new_and_edited,
        _saved_by_rename,
        _saved_with_a_copy_of_the_earlier,
        _renamed_and_edited,
        _moved_onto_each_other,
        _moved_by_git,
        _stashed_and_back,
        _checked_out,
    ],
)
async def test_ordinary_work_is_undone(
    repo: Repo, private: Path, which: Which, work: Callable[[Repo], None], restarts: bool
) -> None:
    repo.git("checkout", "-q", "-b", "other")
    repo.write("a.txt", "another\n")
    repo.write("other", "x\n")
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.write("mine", "the person's\n" * 9)
    settle(repo.top)
    changes = await begun(repo, private)
    before = contents(repo.top)
    work(repo)
    await changes.end_turn("t")
    if restarts:
        changes = await tracked(repo.top, private)
    assert "not" not in await discarded(changes, which)
    assert contents(repo.top) == before


async def test_what_the_person_had_not_committed_and_an_agent_edited_goes_with_all_that_is_uncommitted(
    repo: Repo, private: Path
) -> None:
    repo.write("mine", "the person's\n")
    settle(repo.top)
    changes = await begun(repo, private)
    append(repo.top / "mine")
    append(repo.top / "a.txt")
    assert await discarded(changes, UNCOMMITTED) == "Discarded the changes to 2 files"
    assert repo.status() == []


@pytest.mark.parametrize("is_renamed", [True, False])
async def test_what_was_moved_here_and_committed_can_be_brought_back_to_that(
    repo: Repo, private: Path, tmp_path: Path, is_renamed: bool
) -> None:
    elsewhere = tmp_path / "logo"
    elsewhere.write_text("precious\n" * 9)
    settle(tmp_path)
    changes = await begun(repo, private)
    elsewhere.rename(repo.top / "logo")
    repo.commit()
    name = "logo"
    if is_renamed:
        name = "picture"
        (repo.top / "logo").rename(repo.top / name)
    append(repo.top / name)
    assert "not" not in await discarded(changes, UNCOMMITTED)
    assert repo.status() == []
    assert (repo.top / "logo").read_text() == "precious\n" * 9


async def test_what_was_moved_here_and_is_staged_only_stays(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "logo"
    elsewhere.write_text("precious\n")
    settle(tmp_path)
    changes = await begun(repo, private)
    elsewhere.rename(repo.top / "logo")
    repo.git("add", "-A")
    append(repo.top / "logo")
    with pytest.raises(ProtocolError, match=f"nothing was done: logo: .*{OLDER}"):
        await discarded(changes, UNCOMMITTED)
    assert (repo.top / "logo").read_text() == "precious\nmore\n"


async def test_what_was_moved_here_and_has_the_number_of_a_committed_file_that_is_gone_stays(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    repo.git("update-index", "--refresh")
    gone = repo.top / "src/b.py"
    number = gone.stat().st_ino
    settle(tmp_path)
    gone.unlink()
    for again in range(200):
        elsewhere = tmp_path / f"doc{again}"
        elsewhere.write_text("precious\n")
        if elsewhere.stat().st_ino == number:
            break
    else:
        pytest.skip("this file system does not give numbers anew at once")
    settle(tmp_path)
    changes = await begun(repo, private)
    elsewhere.rename(repo.top / "doc")
    append(repo.top / "doc")
    assert f"not 1: doc: it is older than the session: {OLDER}" in await discarded(changes, UNCOMMITTED)
    assert (repo.top / "doc").read_text() == "precious\nmore\n"
    assert gone.exists()
