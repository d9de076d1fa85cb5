"""By which means the changes of a folder are seen."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from changes.repositories import Repo, brief, never
from serai.changes.catalogue import SESSION, ChangesetKind, Which
from serai.changes.noted import NotedChanges
from serai.changes.opening import open_changes
from serai.changes.operations import DISCARD, STAGE, invoke
from serai.changes.showing import content_uri
from serai.changes.tracked import TrackedChanges
from serai.errors import ProtocolError


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
