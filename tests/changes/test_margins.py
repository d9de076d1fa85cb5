"""What is kept beside a tree, and how little of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from changes.repositories import Repo, tracked
from serai.changes import margins
from serai.changes.margins import Margin
from serai.changes.tracked import TrackedChanges
from serai.changes.trees import SESSION_BASE


async def margin_of(changes: TrackedChanges) -> Margin:
    await changes.begin_session()
    recorded = changes._trees.margin_of(SESSION_BASE)
    assert recorded is not None
    margin = await changes._margins.read(recorded)
    assert margin is not None
    return margin


def test_what_was_there_is_told_from_what_was_not() -> None:
    margin = Margin(frozenset([b"a/x", b"large/"]), frozenset([b"deep/empty"]), frozenset([b"stale"]))
    assert [margin.had(path) for path in ("a/x", "a/y", "a", "large/any/thing")] == [True, False, False, True]
    was_there = margin.folders()
    assert [was_there(path) for path in ("deep", "deep/empty", "a", "large", "large/any")] == [True] * 5
    assert [was_there(path) for path in ("deep/other", "a/x/y", "new")] == [False] * 3
    assert (margin.is_stale("stale"), margin.is_stale("other")) == (True, False)
    assert Margin(frozenset([b"/"])).had("anything")


def test_permissions_are_the_usual_ones_unless_they_are_known() -> None:
    margin = Margin(permissions={b"key": 0o600}, usual=0o750)
    assert margin.permissions_of("key", 0o100644) == 0o600
    assert margin.permissions_of("other", 0o100644) == 0o640
    assert margin.permissions_of("other", 0o100755) == 0o750


async def test_folders_of_which_git_knows_nothing_are_looked_into_while_they_are_small(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(margins, "_MOST_EACH", 5)
    repo.write(".gitignore", "*.o\n")
    for number in range(10):
        repo.write(f"many/{number}.o")
    repo.write("few/deep/x.o")
    repo.write("src/y.o")
    (repo.top / "empty/deep").mkdir(parents=True)
    Repo(repo.top / "inner").write("z.o")
    (repo.top / "way").symlink_to("src")
    margin = await margin_of(await tracked(repo.top, private))
    assert margin.others == {b"many/", b"few/deep/x.o", b"src/y.o", b"inner/"}
    assert margin.empty == {b"empty/deep"}


@pytest.mark.parametrize(
    ("most", "names"),
    [
        (10, {b"a", b"b/1", b"b/2", b"b/c/1", b"b/c/2"}),
        (4, {b"a", b"b/1", b"b/2", b"b/c/"}),
        (3, {b"a", b"b/"}),
        (1, {b"/"}),
    ],
)
def test_of_too_many_names_the_innermost_go_first(
    most: int, names: set[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(margins, "_MOST_NAMES", most)
    assert margins._fewer({b"a", b"b/1", b"b/2", b"b/c/1", b"b/c/2"}) == names


async def test_a_directory_in_which_nothing_is_yet_is_empty_and_not_unknown(
    repo: Repo, private: Path
) -> None:
    (repo.top / "sub/dir").mkdir(parents=True)
    margin = await margin_of(await tracked(repo.top / "sub/dir", private))
    assert (margin.others, margin.empty) == (frozenset(), {b"sub/dir"})


async def test_the_hosts_own_folder_is_not_looked_into(repo: Repo) -> None:
    repo.write("home/token", "secret\n")
    changes = await tracked(repo.top, repo.top / "home")
    margin = await margin_of(changes)
    assert not [name for name in margin.others if name.startswith(b"home/")]
    assert changes.directory == str(repo.top)


async def test_a_margin_that_cannot_be_told_is_none(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = await tracked(repo.top, private)

    def fail(*_words: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(changes._margins, "_usual", fail)
    await changes.begin_session()
    assert changes._trees.has(SESSION_BASE)
    assert changes._trees.margin_of(SESSION_BASE) is None
