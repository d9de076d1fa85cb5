"""The host's own folder, when it is in a working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

from changes.repositories import Repo, brief, everything, never
from serai.ahp.commands import ChangesetResourceTarget
from serai.changes.catalogue import SESSION, UNCOMMITTED, ChangesetKind, Which
from serai.changes.closed import Closed
from serai.changes.discarding import discard
from serai.changes.noted import NotedChanges
from serai.changes.opening import SessionChanges, open_changes
from serai.changes.operations import DISCARD, STAGE, invoke
from serai.changes.quiet import Quiet
from serai.changes.reaching import read_file
from serai.changes.records import Change, Side
from serai.changes.showing import file_uri
from serai.changes.tracked import TrackedChanges
from serai.changes.writing import put_file, put_link, take_away
from serai.errors import FileInTheWay, FileUnreadable, ProtocolError

TURN = Which(ChangesetKind.TURN, "t")
NAMES = [".serai", "deep/er/home", "odd [a-z]*? {home}\\ ", ":(glob)home", "!home", "ümläut"]


def make_home(folder: Path) -> Path:
    folder.mkdir(parents=True)
    for name in ("database.key", "token", "history.db", "processes/one.json"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"the {name} of the host\n")
    return folder


async def opened(directory: Path, home: Path, session_id: str = "s1") -> SessionChanges:
    folder = home / "changes" / session_id
    return await open_changes(str(directory), session_id, folder=folder, trusted=never, home=home)


async def opened_by_git(repo: Repo, home: Path) -> TrackedChanges:
    changes = await opened(repo.top, home)
    assert isinstance(changes, TrackedChanges)
    return changes


# -- where it is -------------------------------------------------------------------------------------------


def test_it_is_found_by_its_own_name_and_by_links_that_lead_to_it(tmp_path: Path) -> None:
    top, elsewhere = tmp_path / "top", tmp_path / "elsewhere"
    home = make_home(top / "real/home")
    (top / "link").symlink_to("real/../real")
    elsewhere.symlink_to(top)
    for named in (home, top / "link/home", elsewhere / "link/home"):
        assert "real/home" in Closed(named).names_below(str(top))
        assert "real/home" in Closed(named).names_below(str(elsewhere))
        assert Closed(named).surrounds(str(home / "processes"))
        assert Closed(named).surrounds(str(elsewhere / "real/home"))
        assert not Closed(named).surrounds(str(top))
    assert Closed(top / "link/home").names_below(str(top)) == ("link", "real/home")
    assert Closed(home).names_below(str(home)) == ()
    assert Closed(home).names_below(str(top / "real/home/processes")) == ()
    assert Closed(tmp_path / "none/at/all").names_below(str(tmp_path)) == ("none/at/all",)


def test_links_in_a_circle_lead_nowhere(tmp_path: Path) -> None:
    (tmp_path / "round").symlink_to("and")
    (tmp_path / "and").symlink_to("round")
    assert set(Closed(tmp_path / "round").names_below(str(tmp_path))) == {"and", "round"}


def test_it_is_the_same_by_whatever_name(tmp_path: Path) -> None:
    home = make_home(tmp_path / "own")
    closed = Closed(home)
    (tmp_path / "link").symlink_to("own")
    paths = ["own", "own/token", "own/none", "own/processes/one.json", "owned", "a/own", "link"]
    assert closed.among(str(tmp_path), paths) == frozenset(paths[:4])


# -- writing -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["home/token", "home/new", "home/processes/one.json", "home", "way"])
def test_nothing_is_written_taken_away_or_read_there(tmp_path: Path, path: str) -> None:
    top = tmp_path / "top"
    make_home(top / "home")
    (top / "way").symlink_to("home")
    closed = Closed(top / "way")
    source = tmp_path / "source"
    source.write_text("something else")
    before = everything(top)
    for deed in (
        lambda: put_file(str(top), path, source, 0o100644, closed),
        lambda: put_link(str(top), path, b"elsewhere", closed),
        lambda: take_away(str(top), path, closed),
        lambda: read_file(str(top), path, 1000, closed),
        lambda: take_away(str(top / "home"), "token", closed),
    ):
        with pytest.raises(FileInTheWay, match="belongs to the host itself"):
            deed()
    assert everything(top) == before


# -- in a repository ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
async def test_in_a_repository_it_is_in_no_changeset(repo: Repo, name: str) -> None:
    home = make_home(repo.top / name)
    changes = await opened_by_git(repo, home)
    await changes.begin_session()
    await changes.begin_turn("t")
    (home / "token").write_text("another")
    (home / "history.db-wal").write_text("more")
    repo.write("new", "x\n")
    for which in (UNCOMMITTED, SESSION, TURN):
        found = await changes.compute(which)
        assert brief(found.changes) == ["added new +1 -0"]
        assert found.left_out == ()
    await changes.end_turn("t")
    assert brief((await changes.compute(TURN)).changes) == ["added new +1 -0"]


async def test_also_not_where_the_disk_does_not_tell_small_letters_from_large_ones(repo: Repo) -> None:
    repo.git("config", "core.ignorecase", "true")
    home = make_home(repo.top / "home")
    repo.write("HOME/token", "as this disk may name it\n")
    repo.commit()
    changes = await opened_by_git(repo, home)
    repo.write("HOME/token", "otherwise\n")
    repo.write("new", "x\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added new +1 -0"]


@pytest.mark.parametrize("below", [False, True])
async def test_also_not_where_it_is_part_of_the_repository(repo: Repo, below: bool) -> None:
    home = make_home(repo.top / "src/home" if below else repo.top / "home")
    repo.commit()
    found = await opened(repo.top / "src" if below else repo.top, home)
    assert isinstance(found, TrackedChanges)
    await found.begin_session()
    (home / "token").write_text("changed")
    (home / "database.key").unlink()
    repo.git("add", "-A", str(home))
    (home / "token").write_text("changed again")
    (home / "history.db").rename(repo.top / "src/out")
    expected = "out" if below else "src/out"
    for which in (UNCOMMITTED, SESSION):
        assert brief((await found.compute(which)).changes) == [f"added {expected} +1 -0"]
    # Nor when the person no longer has it tracked.
    repo.git("rm", "-rfq", "--cached", str(home))
    assert brief((await found.compute(UNCOMMITTED)).changes) == [f"added {expected} +1 -0"]


async def test_a_conflict_in_it_is_no_matter(repo: Repo) -> None:
    home = make_home(repo.top / "home")
    repo.commit()
    repo.git("branch", "theirs")
    repo.write("home/token", "ours\n")
    repo.commit()
    repo.git("checkout", "-q", "theirs")
    repo.write("home/token", "theirs\n")
    repo.commit()
    repo.git("merge", "main", accept=(1,))
    changes = await opened_by_git(repo, home)
    await changes.begin_session()
    assert (await changes.compute(UNCOMMITTED)).changes == ()
    assert (await changes.compute(SESSION)).changes == ()


async def test_what_was_recorded_of_it_earlier_is_in_no_changeset_any_more(repo: Repo, private: Path) -> None:
    home = repo.top / "home"
    changes = await open_changes(str(repo.top), "s1", folder=private, trusted=never)
    await changes.begin_turn("t")
    make_home(home)
    repo.write("new", "x\n")
    await changes.end_turn("t")
    assert len((await changes.compute(TURN)).changes) == 5
    again = await open_changes(str(repo.top), "s1", folder=private, trusted=never, home=home)
    assert brief((await again.compute(TURN)).changes) == ["added new +1 -0"]


async def test_discarding_and_staging_leave_it_alone(repo: Repo) -> None:
    home = make_home(repo.top / ".serai")
    changes = await opened_by_git(repo, home)
    repo.write("new", "x\n")
    await invoke(changes, UNCOMMITTED, STAGE, None)
    assert repo.status() == ["A  new", *(line for line in repo.status() if line.startswith("?? .serai/"))]
    kept = {path: seen for path, seen in everything(home).items() if "/changes" not in path}
    await invoke(changes, UNCOMMITTED, DISCARD, None)
    assert not (repo.top / "new").exists()
    now = everything(home)
    assert {path: now.get(path) for path in kept} == kept
    token = ChangesetResourceTarget(resource=file_uri(str(repo.top), ".serai/token"))
    for operation in (STAGE, DISCARD):
        with pytest.raises(ProtocolError, match="no changes here"):
            await invoke(changes, UNCOMMITTED, operation, token)


async def test_a_change_in_it_is_refused_whoever_hands_it_in(repo: Repo) -> None:
    home = make_home(repo.top / "home")
    (repo.top / "link").symlink_to("home")
    changes = await opened_by_git(repo, home)
    await changes.compute(UNCOMMITTED)
    blob = repo.git("hash-object", "-w", "a.txt").decode().strip()
    token = (home / "token").read_text()

    def change(path: str) -> Change:
        return Change(Side(path, blob), Side(path, blob))

    handed_in = [change("home/token"), Change(None, Side("home/database.key", blob)), change("link/token")]
    moved = Change(Side("home/history.db", blob), Side("a.txt", blob))
    refused = await changes.stage([*handed_in[:2], moved])
    assert set(refused) == {"home/token", "home/database.key", "a.txt"}
    assert not [line for line in repo.status() if not line.startswith("??")]
    tree = repo.git("rev-parse", "HEAD^{tree}").decode().strip()
    done, in_the_way = await discard(changes._mirror, handed_in, tree, quiet=Quiet())
    assert done == []
    assert set(in_the_way) == {"home/token", "home/database.key", "link/token"}
    assert (home / "token").read_text() == token
    assert (home / "database.key").exists()


async def test_a_link_that_leads_to_it_stays(repo: Repo, tmp_path: Path) -> None:
    make_home(tmp_path / "elsewhere")
    link = repo.top / ".serai"
    link.symlink_to(tmp_path / "elsewhere")
    changes = await opened_by_git(repo, link)
    repo.write("new", "x\n")
    assert brief((await changes.compute(UNCOMMITTED)).changes) == ["added new +1 -0"]
    await changes.discard(UNCOMMITTED, None)
    assert link.is_symlink()


async def test_other_links_to_it_are_like_any_link(repo: Repo) -> None:
    home = make_home(repo.top / ".serai")
    changes = await opened_by_git(repo, home)
    (repo.top / "link").symlink_to(".serai")
    assert [change.path for change in (await changes.compute(UNCOMMITTED)).changes] == ["link"]
    await changes.discard(UNCOMMITTED, None)
    assert "link" not in [file.name for file in repo.top.iterdir()]
    assert (home / "token").exists()


@pytest.mark.parametrize("below", ["", "processes"])
async def test_in_it_there_are_no_changes(tmp_path: Path, below: str) -> None:
    home = make_home(tmp_path / "own")
    with pytest.raises(FileUnreadable, match="the host's own folder"):
        await opened(home / below, home)


# -- in any other folder -----------------------------------------------------------------------------------


async def test_without_git_nothing_in_it_is_noted(tmp_path: Path) -> None:
    work = tmp_path / "work"
    home = make_home(work / ".serai")
    changes = await opened(work, home)
    assert isinstance(changes, NotedChanges)
    (work / "link").symlink_to(".serai")
    await changes.begin_turn("t")
    for path in (".serai/token", str(home / "token"), ".serai/../.serai/token", "link/token"):
        assert not await changes.note_before("t", path)
        assert not await changes.note_after("t", path)
    assert ".serai/token" not in changes.noted
    assert (await changes.compute(TURN)).changes == ()
    assert await changes.discard(TURN, None) == ([], {})


async def test_what_was_noted_of_it_earlier_is_not_put_back(tmp_path: Path, private: Path) -> None:
    work = tmp_path / "work"
    home = make_home(work / "home")
    before = NotedChanges(str(work), "s1", folder=private / "noted")
    await before.begin_turn("t")
    await before.note_before("t", "home/token")
    (home / "token").write_text("another")
    await before.note_after("t", "home/token")
    assert len((await before.compute(TURN)).changes) == 1
    again = await open_changes(str(work), "s1", folder=private, trusted=never, home=home)
    for which in (TURN, SESSION):
        assert (await again.compute(which)).changes == ()
        assert await again.discard(which, None) == ([], {})
    assert (home / "token").read_text() == "another"
