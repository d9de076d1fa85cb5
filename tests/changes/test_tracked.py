"""What changed in a working directory that is in a repository."""

from __future__ import annotations

import asyncio
import os
import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo, always, brief, everything, tracked
from serai.ahp.errors import AhpErrorCode
from serai.changes.catalogue import SESSION, UNCOMMITTED, ChangesetKind, Which
from serai.changes.records import UNSEEN, Changes, Limits
from serai.changes.showing import content_uri, file_uri, show
from serai.errors import GitFailed, ProtocolError

TURN = Which(ChangesetKind.TURN, "t 1/ü")
TURN_T = Which(ChangesetKind.TURN, "t")

ODD_NAMES = [
    "with space",
    "new\nline",
    'quo"te',
    "-dash",
    "--",
    ":(glob)*",
    ":!a.txt",
    "*",
    "tab\tbed",
    "back\\slash",
    "ümläut",
    os.fsdecode(b"not-utf8-\xff\xfe"),
    "#hash",
    "dir with\nline/-x",
]


async def test_a_clean_work_tree_has_no_changes(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    assert await changes.compute(UNCOMMITTED) == await changes.compute(UNCOMMITTED)
    assert (await changes.compute(UNCOMMITTED)).changes == ()


async def test_every_kind_of_change_is_seen(repo: Repo, private: Path) -> None:
    repo.write("gone.txt", "x\ny\n")
    repo.write("old name.txt", "".join(f"line {n}\n" for n in range(20)))
    repo.write("run.sh", "echo\n")
    repo.write("picture.png", b"\x89PNG\0\0one")
    repo.write("turns.txt", "into a link\n")
    repo.commit()
    changes = await tracked(repo.top, private)
    repo.write("a.txt", "one\n2\nthree\nfour\n")
    (repo.top / "gone.txt").unlink()
    (repo.top / "old name.txt").rename(repo.top / "new name.txt")
    (repo.top / "run.sh").chmod(0o755)
    repo.write("picture.png", b"\x89PNG\0\0two")
    repo.write("untracked/new.txt", "hello\n")
    repo.write("data.bin", b"\0\1\2")
    (repo.top / "link").symlink_to("/nowhere/at/all")
    (repo.top / "turns.txt").unlink()
    (repo.top / "turns.txt").symlink_to("a.txt")
    result = await changes.compute(UNCOMMITTED)
    assert brief(result.changes) == [
        "modified a.txt +2 -1",
        "added data.bin binary",
        "deleted gone.txt +0 -2",
        "added link +1 -0",
        "renamed old name.txt -> new name.txt +0 -0",
        "modified picture.png binary",
        "modified run.sh +0 -0",
        "modified turns.txt +1 -1",
        "added untracked/new.txt +1 -0",
    ]
    modes = {change.path: change.after.mode for change in result.changes if change.after}
    assert modes["run.sh"] == 0o100755
    assert modes["link"] == modes["turns.txt"] == 0o120000
    assert result.left_out == ()


async def test_odd_names_come_back_as_they_are(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    for name in ODD_NAMES:
        repo.write(name, "x\n")
    found = (await changes.compute(UNCOMMITTED)).changes
    assert {change.path for change in found} == set(ODD_NAMES)
    repo.commit()
    await changes.begin_turn("t")
    for name in ODD_NAMES:
        repo.write(name, "x\ny\n")
    found = (await changes.compute(Which(ChangesetKind.TURN, "t"))).changes
    assert {(change.path, change.kind, change.added) for change in found} == {
        (name, "modified", 1) for name in ODD_NAMES
    }


@pytest.mark.parametrize("name", ["-dash", '"a\nb"\n'])
async def test_the_folders_may_have_odd_names_too(tmp_path: Path, name: str) -> None:
    repo = Repo(tmp_path / name)
    repo.write("sub\ndir/a", "x\n")
    repo.commit()
    changes = await tracked(repo.top / "sub\ndir", tmp_path / "private")
    await changes.begin_session()
    repo.write("sub\ndir/a", "y\n")
    assert brief((await changes.compute(SESSION)).changes) == ["modified a +1 -1"]
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["modified a +1 -1"]


async def test_ignored_files_are_not_seen(repo: Repo, private: Path, home: Path) -> None:
    repo.write(".gitignore", "*.log\n")
    repo.commit()
    with (repo.top / ".git/info/exclude").open("a") as exclude:
        exclude.write("mine\n")
    (home / ".config/git").mkdir(parents=True)
    (home / ".config/git/ignore").write_text("*.swp\n")
    for name in ("x.log", "mine", "y.swp", "seen.txt"):
        repo.write(name, "x\n")
    changes = await tracked(repo.top, private)
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added seen.txt +1 -0"]


async def test_files_that_are_ignored_from_now_on_are_no_longer_uncommitted(
    repo: Repo, private: Path
) -> None:
    changes = await tracked(repo.top, private)
    repo.write("x.log", "x\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added x.log +1 -0"]
    repo.write(".gitignore", "*.log\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added .gitignore +1 -0"]


async def test_a_file_that_is_only_ignored_since_a_base_does_not_count_as_deleted(
    repo: Repo, private: Path
) -> None:
    repo.write("same.log", "x\n")
    repo.write("other.log", "x\n")
    repo.write("gone.log", "x\n")
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    repo.write(".gitignore", "*.log\n")
    repo.write("other.log", "x\ny\n")
    (repo.top / "gone.log").unlink()
    assert brief((await changes.compute(SESSION)).changes) == [
        "added .gitignore +1 -0",
        "deleted gone.log +0 -1",
        "modified other.log +1 -0",
    ]


async def test_a_session_sees_what_came_after_it_began(repo: Repo, private: Path) -> None:
    repo.write("a.txt", "the person's own change\n")
    repo.write("notes", "the person's notes\n")
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    assert (await changes.compute(SESSION)).changes == ()
    repo.write("notes", "the person's notes\nand the agent's\n")
    await changes.begin_session()  # again, after a restart for instance: it changes nothing
    assert brief((await changes.compute(SESSION)).changes) == ["modified notes +1 -0"]
    repo.commit()
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    assert brief((await changes.compute(SESSION)).changes) == ["modified notes +1 -0"]


async def test_a_turn_ends_where_it_ended(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    await changes.begin_turn(TURN.turn_id or "")
    repo.write("in turn", "x\n")
    assert changes.is_live(TURN)
    assert brief((await changes.compute(TURN)).changes) == ["added in turn +1 -0"]
    await changes.end_turn(TURN.turn_id or "")
    repo.write("in turn", "x\nlater\n")
    repo.write("later", "x\n")
    assert not changes.is_live(TURN)
    [change] = (await changes.compute(TURN)).changes
    assert change.after is not None
    assert await changes.read(content_uri("s1", change.after)) == b"x\n"


async def test_what_was_not_recorded_is_not_found(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    for which in (SESSION, TURN):
        with pytest.raises(ProtocolError) as caught:
            await changes.compute(which)
        assert caught.value.number == AhpErrorCode.NOT_FOUND


async def test_bases_survive_the_host(repo: Repo, private: Path) -> None:
    first = await tracked(repo.top, private)
    await first.begin_session()
    await first.begin_turn("t")
    repo.write("new", "x\n")
    await first.end_turn("t")
    repo.write("later", "x\n")
    again = await tracked(repo.top, private)
    assert brief((await again.compute(SESSION)).changes) == ["added later +1 -0", "added new +1 -0"]
    in_turn = await again.compute(TURN_T)
    assert (brief(in_turn.changes), in_turn.lacks) == (["added new +1 -0"], None)


async def test_a_turn_that_is_cut_off_has_what_was_seen_of_it_and_says_so(repo: Repo, private: Path) -> None:
    first = await tracked(repo.top, private)
    await first.begin_turn("t")
    repo.write("seen", "x\n")
    await first.compute(TURN_T)
    await first.see_turn("t")
    repo.write("unseen", "x\n")
    again = await tracked(repo.top, private)
    repo.write("later", "x\n")
    await again.end_turn("t")  # it began elsewhere: what there is now is not what there was at its end
    assert not again.is_live(TURN_T)
    in_turn = await again.compute(TURN_T)
    assert (brief(in_turn.changes), in_turn.lacks) == (["added seen +1 -0"], UNSEEN)
    repo.write("seen", "y\n")
    assert await again.discard(TURN_T, None) == ([], {"seen": "it has changed since that turn"})


async def test_of_a_turn_that_is_cut_off_before_anything_is_seen_nothing_is_known(
    repo: Repo, private: Path
) -> None:
    first = await tracked(repo.top, private)
    await first.begin_turn("t")
    repo.write("unseen", "x\n")
    again = await tracked(repo.top, private)
    with pytest.raises(ProtocolError, match="the end of this turn was not seen"):
        await again.compute(TURN_T)


async def test_an_end_that_cannot_be_recorded_was_not_seen(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    await changes.begin_turn("t")
    repo.write("seen", "x\n")
    await changes.compute(TURN_T)
    await changes.see_turn("t")
    index = (repo.top / ".git/index").read_bytes()
    (repo.top / ".git/index").write_bytes(b"not an index at all, by no means")
    with pytest.raises(GitFailed):
        await changes.end_turn("t")
    await changes.see_turn("t")  # it is over, and what the last look left is not whole
    (repo.top / ".git/index").write_bytes(index)
    repo.write("later", "x\n")
    await changes.compute(UNCOMMITTED)
    in_turn = await changes.compute(TURN_T)
    assert (brief(in_turn.changes), in_turn.lacks) == (["added seen +1 -0"], UNSEEN)


async def test_a_file_that_is_ignored_in_a_turn_is_not_deleted_by_it_and_can_be_undone(
    repo: Repo, private: Path
) -> None:
    repo.write("notes.log", "mine\n")
    changes = await tracked(repo.top, private)
    await changes.begin_turn("t")
    repo.write("notes.log", "mine\nand more\n")
    repo.write(".gitignore", "*.log\n")
    await changes.end_turn("t")
    in_turn = brief((await changes.compute(TURN_T)).changes)
    assert in_turn == ["added .gitignore +1 -0", "modified notes.log +1 -0"]
    done, refused = await changes.discard(TURN_T, None)
    assert (sorted(change.path for change in done), refused) == ([".gitignore", "notes.log"], {})
    assert (repo.top / "notes.log").read_text() == "mine\n"


async def test_a_turn_ends_also_when_git_has_deleted_what_it_began_with(repo: Repo, private: Path) -> None:
    repo.write("n", "only in the person's objects\n")
    repo.git("add", "n")
    repo.git("reset", "-q")
    changes = await tracked(repo.top, private)
    await changes.begin_turn("t")
    (repo.top / "n").unlink()
    repo.write(".gitignore", "*.log\n")
    repo.git("gc", "-q", "--prune=now")
    await changes.end_turn("t")
    with pytest.raises(GitFailed, match="no longer in the repository"):
        await changes.compute(TURN_T)


async def test_a_turn_of_the_same_id_begins_anew(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    await changes.begin_turn("t")
    repo.write("first", "x\n")
    await changes.end_turn("t")
    await changes.begin_turn("t")
    assert changes.is_live(TURN_T)
    repo.write("second", "x\n")
    assert brief((await changes.compute(TURN_T)).changes) == ["added second +1 -0"]


async def test_a_base_can_be_dropped_and_what_it_held_is_deleted(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    repo.write("only in the turn", os.urandom(5000).hex())
    await changes.begin_turn("t")
    repo.write("only in the turn", "now small\n")
    await changes.compute(UNCOMMITTED)

    def kept() -> int:
        return sum(file.stat().st_size for file in (private / "objects").rglob("*") if file.is_file())

    before = kept()
    await changes.forget_turn("t")
    await changes.forget_turn("never there")
    assert kept() < before - 4000
    with pytest.raises(ProtocolError):
        await changes.compute(Which(ChangesetKind.TURN, "t"))
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added only in the turn +1 -0"]
    await changes.forget()
    assert kept() == 0


async def test_earlier_states_of_a_file_do_not_pile_up(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private, limits=Limits(new_bytes=100_000))
    await changes.begin_session()
    for _ in range(8):
        repo.write("grows", os.urandom(30_000))
        await changes.compute(SESSION)
    kept = sum(file.stat().st_size for file in (private / "objects").rglob("*") if file.is_file())
    assert kept < 150_000


async def test_a_repository_without_commits(tmp_path: Path, private: Path) -> None:
    repo = Repo(tmp_path / "work")
    changes = await tracked(repo.top, private)
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    repo.write("first", "x\n")
    repo.write("staged", "x\n")
    repo.git("add", "staged")
    await changes.begin_session()
    repo.write("second", "x\n")
    found = brief((await changes.compute(UNCOMMITTED)).changes)
    assert found == ["added first +1 -0", "added second +1 -0", "added staged +1 -0"]
    assert brief((await changes.compute(SESSION)).changes) == ["added second +1 -0"]


async def test_a_repository_with_longer_ids(tmp_path: Path, private: Path) -> None:
    repo = Repo(tmp_path / "work", "--object-format=sha256")
    repo.write("a", "x\n")
    repo.write("b", "x\n")
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    assert len((await changes.compute(UNCOMMITTED)).changes) == 2
    repo.commit()
    repo.write("a", "y\n")
    (repo.top / "b").unlink()
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["modified a +1 -1", "deleted b +0 -1"]


async def test_a_detached_head(repo: Repo, private: Path) -> None:
    repo.write("a.txt", "later\n")
    repo.commit()
    repo.git("checkout", "-q", "--detach", "HEAD~1")
    changes = await tracked(repo.top, private)
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    repo.write("new", "x\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added new +1 -0"]


async def test_merge_conflicts_are_changes_that_say_so(repo: Repo, private: Path) -> None:
    repo.write("deleted by us", "x\n")
    repo.write("deleted by them", "x\n")
    repo.commit()
    repo.git("branch", "theirs")
    repo.write("a.txt", "ours\n")
    repo.write("deleted by them", "ours\n")
    (repo.top / "deleted by us").unlink()
    repo.commit()
    repo.git("checkout", "-q", "theirs")
    repo.write("a.txt", "theirs\n")
    repo.write("deleted by us", "theirs\n")
    (repo.top / "deleted by them").unlink()
    repo.commit()
    repo.git("checkout", "-q", "main")
    repo.git("merge", "theirs", accept=(1,))
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    result = await changes.compute(UNCOMMITTED)
    assert brief(result.changes) == ["modified a.txt +4 -0", "added deleted by us +1 -0"]
    assert all(change.conflicted for change in result.changes)
    repo.write("a.txt", "both\n")
    assert brief((await changes.compute(SESSION)).changes) == ["modified a.txt +1 -5"]
    repo.git("add", "-A")
    assert not any(change.conflicted for change in (await changes.compute(UNCOMMITTED)).changes)


async def test_only_the_working_directory_counts(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top / "src", private)
    await changes.begin_session()
    repo.write("outside", "x\n")
    repo.write("a.txt", "x\n")
    repo.write("src/new.py", "x\n")
    (repo.top / "src/deep/c.txt").unlink()
    for which in (UNCOMMITTED, SESSION):
        result = await changes.compute(which)
        assert brief(result.changes) == ["deleted deep/c.txt +0 -1", "added new.py +1 -0"]


async def test_another_work_tree_of_the_repository(repo: Repo, private: Path, tmp_path: Path) -> None:
    repo.git("worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    changes = await tracked(tmp_path / "other", private)
    await changes.begin_session()
    (tmp_path / "other/a.txt").write_text("in the other\n")
    repo.write("new", "in the first\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["modified a.txt +1 -3"]
    assert brief((await changes.compute(SESSION)).changes) == ["modified a.txt +1 -3"]


async def test_submodules_and_repositories_inside_are_left_alone(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    repo.add_submodule(tmp_path / "library", "lib")
    trap = tmp_path / "trap.sh"
    trap.write_text(f"#!/bin/sh\ntouch '{tmp_path}/sprung'\n")
    trap.chmod(0o755)
    repo.git("-C", "lib", "config", "core.fsmonitor", str(trap))
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    (repo.top / "lib/lib.txt").write_text("2\n")
    (repo.top / "lib/new").write_text("2\n")
    nested = Repo(repo.top / "nested")
    nested.write("inner", "x\n")
    nested.commit()
    before = everything(nested.top) | everything(repo.top / "lib") | everything(repo.top / ".git")
    for which in (UNCOMMITTED, SESSION):
        result = await changes.compute(which)
        assert result.changes == ()
        assert [(one.path, one.reason) for one in result.left_out] == [("nested", "a repository of its own")]
    assert everything(nested.top) | everything(repo.top / "lib") | everything(repo.top / ".git") == before
    assert str(tmp_path / "sprung") not in everything(tmp_path)
    Repo(repo.top / "lib").commit()  # the submodule's commit is another now
    repo.git("add", "lib")
    assert (await changes.compute(UNCOMMITTED)).changes == ()


async def test_directories_that_become_files_and_links(repo: Repo, private: Path) -> None:
    repo.write("dir/x", "x\n")
    repo.write("file", "x\n")
    repo.write("linked/y", "y\n")
    repo.write("elsewhere/y", "y\n")
    repo.commit()
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    shutil.rmtree(repo.top / "dir")
    repo.write("dir", "now a file\n")
    (repo.top / "file").unlink()
    repo.write("file/inner", "inner\n")
    shutil.rmtree(repo.top / "linked")
    (repo.top / "linked").symlink_to("elsewhere")
    expected = [
        "added dir +1 -0",
        "deleted dir/x +0 -1",
        "deleted file +0 -1",
        "added file/inner +1 -0",
        "added linked +1 -0",
        "deleted linked/y +0 -1",
    ]
    for which in (UNCOMMITTED, SESSION):
        assert brief((await changes.compute(which)).changes) == expected


async def test_line_ends_are_converted_as_the_repository_says(repo: Repo, private: Path) -> None:
    repo.git("config", "core.autocrlf", "true")
    repo.write("crlf.txt", b"one\r\ntwo\r\n")
    repo.commit()
    changes = await tracked(repo.top, private)
    os.utime(repo.top / "crlf.txt", ns=(1, 1))  # git has to read it
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    repo.write("crlf.txt", b"one\r\ntwo\r\nthree\r\n")
    [change] = (await changes.compute(UNCOMMITTED)).changes
    assert (change.added, change.removed) == (1, 0)
    assert change.before is not None
    assert await changes.read(content_uri("s1", change.before)) == b"one\r\ntwo\r\n"


async def test_content_before_and_after_can_be_read(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top / "src", private)
    repo.write("src/b.py", b"new \xff bytes\0\n")
    [change] = (await changes.compute(UNCOMMITTED)).changes
    assert change.before is not None
    assert await changes.read(content_uri("s1", change.before)) == b"print('b')\n" * 10
    assert await changes.read(file_uri(str(repo.top / "src"), "b.py")) == b"new \xff bytes\0\n"


async def test_links_and_odd_names_can_be_read_as_they_are_after_a_change(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    odd = os.fsdecode(b"\xff")
    (repo.top / "link").symlink_to("a.txt")
    repo.write(odd, "before\n")
    repo.commit()
    changes = await tracked(repo.top, private)
    (repo.top / "link").unlink()
    (repo.top / "link").symlink_to(tmp_path / "outside")
    repo.write(odd, "after\n")
    read: dict[str, list[bytes]] = {}
    for change in (await changes.compute(UNCOMMITTED)).changes:
        edit = show(change, changes.directory, "s1", live=True).edit
        uris = [side.content.uri for side in (edit.before, edit.after) if side]
        assert all(uri.startswith("serai-change:") for uri in uris)
        read[change.path] = [await changes.read(uri) for uri in uris]
    assert read == {
        "link": [b"a.txt", os.fsencode(tmp_path / "outside")],
        odd: [b"before\n", b"after\n"],
    }


async def test_other_content_cannot_be_read(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    for uri in (
        f"serai-change:/s1/{'0' * 40}/a.txt",
        f"serai-change:/another/{'0' * 40}/a.txt",
        "serai-change:/s1/HEAD/a.txt",
        "serai-change:/s1/--help/a.txt",
        "file:///etc/passwd",
        "https://example.org/",
    ):
        with pytest.raises(ProtocolError) as caught:
            await changes.read(uri)
        assert caught.value.number in {AhpErrorCode.NOT_FOUND, AhpErrorCode.CONTENT_NOT_FOUND}


async def test_files_outside_are_not_read_through_links_or_dots(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text("secret")
    (repo.top / "way").symlink_to(tmp_path)
    (repo.top / "direct").symlink_to(tmp_path / "secret")
    changes = await tracked(repo.top, private)
    top = str(repo.top)
    for uri in (f"file://{top}/way/secret", f"file://{top}/../secret", f"file://{top}/%2e%2e/secret"):
        with pytest.raises(ProtocolError):
            await changes.read(uri)
    assert await changes.read(f"file://{top}/direct") == os.fsencode(tmp_path / "secret")


async def test_many_may_ask_at_once(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    await asyncio.gather(changes.begin_session(), changes.begin_turn("t"))
    repo.write("new", "x\n")
    turn = Which(ChangesetKind.TURN, "t")
    results = await asyncio.gather(*(changes.compute(which) for which in (UNCOMMITTED, SESSION, turn) * 3))
    assert all(brief(result.changes) == ["added new +1 -0"] for result in results)


async def test_several_changesets_cost_one_look(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    await changes.begin_turn("over")
    repo.write("first", "x\n")
    await changes.end_turn("over")
    repo.write("second", "x\n")
    over = Which(ChangesetKind.TURN, "over")
    generation = changes._scanner.generation
    found = await changes.compute_all([UNCOMMITTED, SESSION, over])
    assert changes._scanner.generation == generation + 1
    counts = {which: len(one.changes) for which, one in found.items() if isinstance(one, Changes)}
    assert counts == {UNCOMMITTED: 2, SESSION: 2, over: 1}
    assert await changes.compute_all([]) == {}


async def test_what_git_deletes_is_missed_only_where_it_is_needed(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    for number in range(2):
        repo.write("a.txt", f"{number}\n")
        repo.git("commit", "-q", "-a", "--amend", "-m", "another")
    repo.write("copy.txt", "0\n")  # its content is in a commit that nobody needs any more
    await changes.compute(UNCOMMITTED)
    repo.git("reflog", "expire", "--expire=now", "--all")
    repo.git("gc", "-q", "--prune=now")
    found = await changes.compute_all([UNCOMMITTED, SESSION])
    uncommitted, session = found[UNCOMMITTED], found[SESSION]
    assert isinstance(uncommitted, Changes)
    assert brief(uncommitted.changes) == ["added copy.txt +1 -0"]
    assert isinstance(session, GitFailed)
    assert "is no longer in the repository" in session.message
    again = await tracked(repo.top, private)
    await again.begin_turn("t")
    repo.write("new.txt", "x\n")
    assert brief((await again.compute(Which(ChangesetKind.TURN, "t"))).changes) == ["added new.txt +1 -0"]


async def test_a_tree_that_git_has_deleted_is_recorded_again(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    await changes.begin_turn("t")
    tree = repo.git("rev-parse", "HEAD^{tree}").decode().strip()
    (repo.top / ".git/objects" / tree[:2] / tree[2:]).unlink()
    await changes.begin_turn("u")
    repo.write("new.txt", "x\n")
    assert brief((await changes.compute(Which(ChangesetKind.TURN, "u"))).changes) == ["added new.txt +1 -0"]


async def test_a_cancelled_look_leaves_the_next_one_whole(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    for number in range(200):
        repo.write(f"many/{number}", f"{number}\n")
    for delay in (0.0, 0.01, 0.02, 0.03):
        task = asyncio.create_task(changes.compute(UNCOMMITTED))
        await asyncio.wait([task], timeout=delay)
        task.cancel()
        await asyncio.wait([task])
    assert len((await changes.compute(UNCOMMITTED)).changes) == 200
    assert not any(path.endswith(".lock") for path in everything(private))


async def test_a_repository_that_is_gone_is_said_to_be(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private)
    shutil.rmtree(repo.top)
    with pytest.raises(GitFailed, match=r"^the folder is gone$"):
        await changes.compute(UNCOMMITTED)


@pytest.mark.parametrize("looked", [False, True])
async def test_a_repository_that_is_gone_from_its_folder_is_said_to_be(
    repo: Repo, private: Path, looked: bool
) -> None:
    changes = await tracked(repo.top, private)
    if looked:
        await changes.compute(UNCOMMITTED)
    assert not changes.is_gone()
    shutil.rmtree(repo.top / ".git")
    assert changes.is_gone()
    with pytest.raises(GitFailed, match=r"^the repository is gone$"):
        await changes.compute(UNCOMMITTED)
    with pytest.raises(GitFailed, match=r"^the repository is gone$"):
        await changes.begin_turn("t")
    shutil.rmtree(repo.top)
    assert not changes.is_gone()  # there is nothing that could be seen in another way


async def test_the_private_folder_is_nobodys_change(repo: Repo) -> None:
    changes = await tracked(repo.top, repo.top / ".serai/changes/s1")
    repo.write("new", "x\n")
    repo.write(".serai/other", "x\n")
    await changes.begin_session()
    assert brief((await changes.compute(UNCOMMITTED)).changes) == [
        "added .serai/other +1 -0",
        "added new +1 -0",
    ]
    repo.write("new", "y\n")
    assert brief((await changes.compute(SESSION)).changes) == ["modified new +1 -1"]


async def test_staging_and_committing_meanwhile_is_noticed(repo: Repo, private: Path) -> None:
    changes = await tracked(repo.top, private, trusted=always)
    await changes.begin_session()
    repo.write("new", "x\n")
    assert len((await changes.compute(UNCOMMITTED)).changes) == 1
    repo.git("add", "new")
    assert len((await changes.compute(UNCOMMITTED)).changes) == 1
    repo.commit()
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    repo.git("reset", "-q", "--hard", "HEAD~1")
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    assert (await changes.compute(SESSION)).changes == ()


async def test_a_change_that_git_could_overlook_is_seen(repo: Repo, private: Path) -> None:
    """Same size, same time as the index: only because the copy keeps the index's time is it read again."""
    file = repo.write("racy", "aaaa\n")
    repo.commit()
    repo.git("config", "core.trustctime", "false")
    long_ago = 1_600_000_000 * 10**9
    os.utime(file, ns=(long_ago, long_ago))
    repo.git("update-index", "--refresh")
    os.utime(repo.top / ".git/index", ns=(long_ago, long_ago))
    changes = await tracked(repo.top, private)
    with file.open("r+b") as stream:
        stream.write(b"bbbb\n")
    os.utime(file, ns=(long_ago, long_ago))
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["modified racy +1 -1"]
