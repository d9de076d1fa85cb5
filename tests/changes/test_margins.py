"""What is kept beside a tree, and how little of it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest

from changes.repositories import Repo, tracked
from serai.changes import unseen
from serai.changes.margins import Margin
from serai.changes.tracked import TrackedChanges
from serai.changes.trees import SESSION_BASE
from serai.errors import GitFailed


async def margin_of(changes: TrackedChanges) -> Margin:
    await changes.begin_session()
    recorded = changes._trees.margin_of(SESSION_BASE)
    assert recorded is not None
    found = await changes._margins.read(recorded)
    assert found is not None
    return found[0]


def test_what_was_there_is_told_from_what_was_not() -> None:
    margin = Margin(frozenset([b"a/x", b"large/"]), frozenset([b"deep/empty"]), frozenset([b"stale"]))
    vague = Margin(vague=frozenset([b"many/"]))
    assert [vague.may_have_had(path) for path in ("many/x", "many", "x")] == [True, False, False]
    assert not vague.had("many/x")
    assert vague.folders()("many/deep")
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


def test_one_that_an_earlier_version_kept_can_be_read() -> None:
    kept = msgspec.msgpack.encode(([b"a/x"], [b"empty"], [], {b"key": 0o600}, 0o755))
    found = msgspec.msgpack.decode(kept, type=Margin)
    assert found == Margin(frozenset([b"a/x"]), frozenset([b"empty"]), permissions={b"key": 0o600})
    assert msgspec.msgpack.decode(found.encoded(), type=Margin) == found


async def test_folders_of_which_git_knows_nothing_are_looked_into_while_they_are_small(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unseen, "MOST_EACH", 5)
    repo.write(".gitignore", "*.o\n")
    for number in range(10):
        repo.write(f"many/{number}.o")
    repo.write("few/deep/x.o")
    repo.write("src/y.o")
    (repo.top / "empty/deep").mkdir(parents=True)
    Repo(repo.top / "inner").write("z.o")
    (repo.top / "way").symlink_to("src")
    margin = await margin_of(await tracked(repo.top, private))
    assert margin.others == {b"few/deep/x.o", b"src/y.o", b"inner/"}
    assert margin.vague == {b"many/"}
    assert margin.empty == {b"empty/deep"}


@pytest.mark.parametrize(
    ("most", "names", "folders"),
    [
        (10, {b"a", b"b/1", b"b/2", b"b/c/1", b"b/c/2"}, set[bytes]()),
        (4, {b"a", b"b/1", b"b/2"}, {b"b/c/"}),
        (3, {b"a", b"b/1", b"b/2"}, {b"b/c/"}),
        (2, {b"a"}, {b"b/c/", b"b/"}),
        (1, {b"a"}, {b"b/"}),
        (0, set[bytes](), {b"/"}),
    ],
)
def test_of_too_many_names_the_innermost_go_first(most: int, names: set[bytes], folders: set[bytes]) -> None:
    assert unseen.fewer({b"a", b"b/1", b"b/2", b"b/c/1", b"b/c/2"}, most) == (names, folders)


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

    monkeypatch.setattr(changes._margins._permissions, "usual", fail)
    await changes.begin_session()
    assert changes._trees.has(SESSION_BASE)
    assert changes._trees.margin_of(SESSION_BASE) is None


async def test_there_is_one_also_when_files_became_folders_and_folders_links(
    repo: Repo, private: Path
) -> None:
    changes = await tracked(repo.top, private)
    for path in ("a", "z/b"):
        repo.write(path, "x\n")
    await changes.begin_session()
    (repo.top / "a").unlink()
    repo.write("a/b", "y\n")
    (repo.top / "z/b").unlink()
    (repo.top / "z").rmdir()
    (repo.top / "z").symlink_to("src")
    await changes.begin_turn("t")
    assert changes._trees.margin_of("turn/t") is not None
    plain = await changes._mirror.run(
        "ls-tree", "-r", "--name-only", f"{changes._trees.margin_of('turn/t')}:plain", doing="look"
    )
    assert {b"a", b"a/b", b"z", b"z/b"}.intersection(plain.output.split()) == {b"a/b", b"z"}


async def test_what_fails_once_is_begun_anew(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = await tracked(repo.top, private)
    repo.write("new", "x\n")
    await changes.begin_session()
    repo.write("new", "y\n")
    tree = changes._margins.plain.tree
    failures = [GitFailed("the index is gone")]

    async def fail_once(instead: Iterable[bytes] = ()) -> str:
        if failures:
            raise failures.pop()
        return await tree(instead)

    monkeypatch.setattr(changes._margins.plain, "tree", fail_once)
    await changes.begin_turn("t")
    assert changes._trees.margin_of("turn/t") is not None
    assert not failures
