"""The private side: nothing of the person's is touched, and nothing of the repository's runs."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from changes.repositories import Repo, always, brief, everything, never, tracked
from serai.changes.catalogue import SESSION, UNCOMMITTED, ChangesetKind, Which
from serai.changes.showing import content_uri


async def test_taking_bases_and_comparing_touches_nothing(repo: Repo, private: Path) -> None:
    repo.write("stashed", "x\n")
    repo.git("stash", "-q", "-u")
    repo.write("staged", "x\n")
    repo.git("add", "staged")
    repo.write("staged", "x\ny\n")
    repo.write("untracked", "x\n")
    (repo.top / "src/b.py").unlink()
    os.utime(repo.top / "a.txt", ns=(5, 5))  # git status would write that down in the index
    before = everything(repo.top)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    await changes.begin_turn("t")
    for which in (UNCOMMITTED, SESSION, Which(ChangesetKind.TURN, "t")):
        for change in (await changes.compute(which)).changes:
            if change.before is not None:
                await changes.read(content_uri("s1", change.before))
    await changes.end_turn("t")
    await changes.forget_turn("t")
    assert everything(repo.top) == before


async def test_a_look_without_changes_touches_nothing_either(repo: Repo, private: Path) -> None:
    before = everything(repo.top)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    await changes.compute(SESSION)
    assert everything(repo.top) == before


async def test_the_private_folder_is_for_its_owner_alone(repo: Repo, private: Path) -> None:
    await tracked(repo.top, private)
    assert stat.S_IMODE(everything(private.parent)[str(private)][0]) == 0o700


@pytest.fixture
def trap(repo: Repo, tmp_path: Path) -> Path:
    """A repository that runs a program wherever git can be made to. The file appears when it succeeds."""
    sprung = tmp_path / "sprung"
    script = tmp_path / "trap.sh"
    script.write_text(f"#!/bin/sh\necho \"$0 $*\" >> '{sprung}'\ncat\n")
    script.chmod(0o755)
    for hook in (
        "post-index-change",
        "pre-commit",
        "post-checkout",
        "fsmonitor-watchman",
        "reference-transaction",
    ):
        file = repo.top / ".git/hooks" / hook
        file.parent.mkdir(exist_ok=True)
        file.write_bytes(script.read_bytes())
        file.chmod(0o755)
    for name, value in {
        "core.fsmonitor": str(script),
        "core.pager": str(script),
        "core.editor": str(script),
        "core.askPass": str(script),
        "core.sshCommand": str(script),
        "core.alternateRefsCommand": str(script),
        "diff.external": str(script),
        "diff.evil.command": str(script),
        "diff.evil.textconv": str(script),
        "filter.evil.clean": str(script),
        "filter.evil.smudge": str(script),
        "filter.evil.required": "true",
        "filter.worse.process": str(script),
        "merge.evil.driver": str(script),
        "protocol.ext.allow": "always",
        "remote.origin.url": f"ext::{script}",
        "remote.origin.promisor": "true",
        "alias.diff-files": f"!{script}",
        "alias.ls-files": f"!{script}",
    }.items():
        repo.git("config", name, value)
    (repo.top / ".git/info/attributes").write_text(
        "*.evil filter=evil diff=evil merge=evil\n*.worse filter=worse\n"
    )
    return sprung


def test_the_trap_works(repo: Repo, trap: Path) -> None:
    repo.write("new.evil", "x\n")
    repo.git("add", "-A", accept=(0, 128))
    assert "trap.sh" in trap.read_text()


async def test_nothing_of_an_untrusted_repository_runs(repo: Repo, private: Path, trap: Path) -> None:
    for name in ("new.evil", "new.worse"):
        repo.write(name, "x\n")
    changes = await tracked(repo.top, private, trusted=never)
    await changes.begin_session()
    for name in ("new.evil", "new.worse", "another.evil"):
        repo.write(name, "x\ny\n")
    for which in (UNCOMMITTED, SESSION):
        found = (await changes.compute(which)).changes
        assert len(found) == 3
        for change in found:
            for side in filter(None, (change.before, change.after)):
                await changes.read(content_uri("s1", side))
    a = next(change for change in (await changes.compute(UNCOMMITTED)).changes if change.path == "new.evil")
    assert "trusted" in (await changes.stage([a]))["new.evil"]
    repo.write("plain", "x\n")
    plain = [change for change in (await changes.compute(UNCOMMITTED)).changes if change.path == "plain"]
    assert await changes.stage(plain) == {}
    done, refused = await changes.discard(SESSION, None)
    assert [change.path for change in done] == ["plain"]
    assert refused.keys() == {"new.evil", "new.worse", "another.evil"}
    assert str(trap) not in everything(trap.parent)


async def test_filters_run_in_a_trusted_folder(repo: Repo, private: Path) -> None:
    repo.git("config", "filter.shout.clean", "tr a-z A-Z")
    repo.git("config", "filter.shout.smudge", "tr A-Z a-z")
    repo.write(".gitattributes", "*.shout filter=shout\n")
    repo.write("x.shout", "words\n")
    repo.commit()
    assert repo.git("show", "HEAD:x.shout") == b"WORDS\n"
    changes = await tracked(repo.top, private, trusted=always)
    os.utime(repo.top / "x.shout", ns=(5, 5))  # git has to read it
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    repo.write("x.shout", "other words\n")
    [change] = (await changes.compute(UNCOMMITTED)).changes
    assert change.before is not None
    assert await changes.read(content_uri("s1", change.before)) == b"words\n"
    await changes.stage([change])
    assert repo.git("show", ":x.shout") == b"OTHER WORDS\n"
    done, refused = await changes.discard(UNCOMMITTED, {"x.shout"})
    assert (len(done), refused) == (1, {})
    assert (repo.top / "x.shout").read_text() == "words\n"
    assert repo.status() == []


async def test_trust_is_asked_for_each_time(repo: Repo, private: Path) -> None:
    repo.git("config", "filter.shout.clean", "tr a-z A-Z")
    repo.write(".gitattributes", "*.shout filter=shout\n")
    repo.write("x.shout", "words\n")
    repo.commit()
    os.utime(repo.top / "x.shout", ns=(5, 5))
    trust = [False]
    changes = await tracked(repo.top, private, trusted=lambda: trust[0])
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["modified x.shout +1 -1"]
    trust[0] = True
    assert (await changes.compute(UNCOMMITTED)).changes == ()


async def test_a_split_index_is_read_whole(repo: Repo, private: Path) -> None:
    repo.git("update-index", "--split-index")
    repo.write("staged", "x\n")
    repo.git("add", "staged")
    assert list((repo.top / ".git").glob("sharedindex.*"))
    before = everything(repo.top)
    changes = await tracked(repo.top, private)
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added staged +1 -0"]
    repo.write("a.txt", "x\n")
    assert len((await changes.compute(UNCOMMITTED)).changes) == 2
    (repo.top / "a.txt").write_text("one\ntwo\nthree\n")
    assert everything(repo.top / ".git").items() <= before.items()


async def test_what_a_sparse_checkout_leaves_out_is_not_deleted(repo: Repo, private: Path) -> None:
    repo.git("sparse-checkout", "set", "--cone", "src/deep")
    assert not (repo.top / "src/deep/../../other").exists()
    repo.write("other/x", "x\n")
    repo.git("add", "--sparse", "-A")
    repo.git("commit", "-q", "-m", "other")
    repo.git("sparse-checkout", "reapply")
    assert not (repo.top / "other").exists()
    changes = await tracked(repo.top, private)
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    repo.write("other/x", "y\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["modified other/x +1 -1"]


async def test_settings_that_change_are_read_again(repo: Repo, private: Path, home: Path) -> None:
    changes = await tracked(repo.top, private)
    repo.write("x.mine", "x\n")
    assert len((await changes.compute(UNCOMMITTED)).changes) == 1
    (home / "ignored").write_text("*.mine\n")
    repo.git("config", "core.excludesFile", "~/ignored")
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    (home / "ignored").write_text("nothing\n")
    assert len((await changes.compute(UNCOMMITTED)).changes) == 1


async def test_a_lock_that_a_killed_host_left_is_no_matter(repo: Repo, private: Path) -> None:
    await (await tracked(repo.top, private)).begin_session()
    (private / "index.lock").write_bytes(b"")
    changes = await tracked(repo.top, private)
    repo.write("new", "x\n")
    assert brief((await changes.compute(SESSION)).changes) == ["added new +1 -0"]


async def test_a_pipe_in_the_place_of_a_list_is_not_waited_for(repo: Repo, private: Path) -> None:
    (repo.top / ".git/info/exclude").unlink(missing_ok=True)
    os.mkfifo(repo.top / ".git/info/exclude")
    changes = await tracked(repo.top, private)
    assert (await changes.compute(UNCOMMITTED)).changes == ()
