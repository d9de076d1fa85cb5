"""Stage, discard, open."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo, always, tracked
from changes.test_tracked import ODD_NAMES
from serai.ahp.commands import (
    ChangesetOperationTarget,
    ChangesetRangeTarget,
    ChangesetResourceTarget,
    InvokeChangesetOperationResult,
)
from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import TextPosition, TextRange
from serai.changes import staging
from serai.changes.catalogue import SESSION, UNCOMMITTED, ChangesetKind, Which
from serai.changes.noted import NotedChanges
from serai.changes.operations import DISCARD, OPEN, STAGE, invoke, operations_for
from serai.changes.records import UNSEEN, Change, LeftOutReason, Limits, Side
from serai.changes.showing import file_uri
from serai.changes.tracked import TrackedChanges
from serai.errors import GitFailed, InvalidParams, ProtocolError

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


async def test_it_is_said_that_all_is_deleted_where_nothing_is_committed(
    tmp_path: Path, private: Path
) -> None:
    repo = Repo(tmp_path / "unborn")
    repo.write("mine", "x\n")
    changes = await tracked(repo.top, private)
    await changes.compute(UNCOMMITTED)
    assert not changes.has_commit
    said = {
        kind: one.confirmation
        for kind in ChangesetKind
        for one in operations_for(kind, has_git=True, has_commit=changes.has_commit)
        if one.id == DISCARD
    }
    assert str(said[ChangesetKind.UNCOMMITTED]).startswith("Nothing is committed yet: this deletes all files")
    assert "since" in str(said[ChangesetKind.SESSION])
    repo.commit()
    await changes.compute(UNCOMMITTED)
    assert changes.has_commit


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
    repo.conflict()
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


async def test_of_what_cannot_be_staged_together_nothing_is(repo: Repo, private: Path) -> None:
    (repo.top / "src/b.py").unlink()
    repo.write("a.txt", "new\n")
    repo.git("config", "filter.broken.clean", "false")
    repo.git("config", "filter.broken.required", "true")
    changes = await tracked(repo.top, private, trusted=always)
    await changes.compute(UNCOMMITTED)
    (repo.top / ".git/info/attributes").write_text("a.txt filter=broken\n")
    deleted, modified = Change(Side("src/b.py", "0" * 40), None), Change(None, Side("a.txt", "0" * 40))
    with pytest.raises(GitFailed, match="could not stage the files"):
        await changes.stage([deleted, modified])
    assert repo.status() == [" M a.txt", " D src/b.py"]


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


async def test_what_is_done_with_a_turn_whose_end_was_not_seen_says_so(repo: Repo, private: Path) -> None:
    first = await tracked(repo.top, private)
    await first.begin_turn("t")
    await first.compute(TURN)
    await first.see_turn("t")
    repo.write("unseen", "x\n")
    again = await tracked(repo.top, private)
    done = await invoke(again, TURN, DISCARD, None)
    assert done.message == f"Discarded the changes to 0 files. T{UNSEEN[1:]}"


async def test_what_was_not_looked_at_in_a_turn_is_named_there_and_by_who_discards_it(
    repo: Repo, private: Path
) -> None:
    repo.write("old", "x" * 20)
    changes = await tracked(repo.top, private, limits=Limits(file_bytes=10))
    await changes.begin_turn("t")
    repo.write("big", "x" * 20)
    repo.write("small", "x")
    await changes.end_turn("t")
    for again in (changes, await tracked(repo.top, private, limits=Limits(file_bytes=10))):
        found = await again.compute(TURN)
        assert [(one.path, one.reason) for one in found.left_out] == [("big", LeftOutReason.TOO_LARGE)]
    done = await invoke(changes, TURN, DISCARD, None)
    assert done.message == "Discarded the changes to 1 file. Left out: big (too large)"
    await changes.forget_turn("t")
    with pytest.raises(ProtocolError):
        await changes.compute(TURN)


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("it%27s%20%28a%29%20b%2A", "it's%20(a)%20b*"),  # as JavaScript's encodeURI has it
        (".txt", "%2Etx%74"),
        ("/inn/", "/%69nn/"),
        ("file:///", "file://localhost/"),
        ("file:", "FILE:"),
    ],
)
async def test_a_file_is_found_however_its_uri_is_spelled(
    repo: Repo, changes: TrackedChanges, ours: str, theirs: str
) -> None:
    name = "it's (a) b*.txt"
    repo.write(name, "new\n")
    uri = file_uri(str(repo.top), name)
    target = ChangesetResourceTarget(resource=uri.replace(ours, theirs))
    assert target.resource != uri
    assert await changes.read(opened(await invoke(changes, UNCOMMITTED, OPEN, target))) == b"new\n"
    assert (await invoke(changes, UNCOMMITTED, STAGE, target)).message == f"Staged {name}"
    await invoke(changes, UNCOMMITTED, DISCARD, target)
    assert not (repo.top / name).exists()


@pytest.mark.parametrize("uri", ["file://[", "https://example.org/a.txt", "file:///", "", "a.txt"])
async def test_what_names_no_file_here_is_not_found(repo: Repo, changes: TrackedChanges, uri: str) -> None:
    repo.write("a.txt", "new\n")
    with pytest.raises(ProtocolError) as caught:
        await invoke(changes, UNCOMMITTED, DISCARD, ChangesetResourceTarget(resource=uri))
    assert caught.value.number == AhpErrorCode.NOT_FOUND


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


async def test_staging_that_takes_too_long_leaves_no_lock(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staging, "_SECONDS", 0.5)
    (repo.top / ".git/info/attributes").write_text("a.txt filter=slow\n")
    changes = await tracked(repo.top, private, trusted=always)
    repo.write("a.txt", "mine\n")
    await changes.compute(UNCOMMITTED)
    repo.git("config", "filter.slow.clean", "if [ -e .git/index.lock ]; then sleep 60; fi; cat")
    with pytest.raises(ProtocolError, match=r"took more than 0\.5 s"):
        await invoke(changes, UNCOMMITTED, STAGE, None)
    assert not (repo.top / ".git/index.lock").exists()
    assert repo.status() == [" M a.txt"]
