"""Who may read what comes back: no more than before."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo, tracked
from changes.test_guarding import begun, discarded
from changes.test_operations import TURN
from serai.changes import permissions
from serai.changes.catalogue import SESSION, UNCOMMITTED, Which

ALL = pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])


@pytest.fixture(autouse=True)
def usual() -> object:
    before = os.umask(0o022)
    yield
    os.umask(before)


def mode(place: Path) -> int:
    return place.lstat().st_mode & 0o777


@ALL
@pytest.mark.parametrize("moves", [True, False])
async def test_a_private_folder_comes_back_as_private_as_it_was(
    repo: Repo, private: Path, which: Which, moves: bool
) -> None:
    (repo.top / "src").chmod(0o700)
    (repo.top / "src/deep").chmod(0o750)
    changes = await begun(repo, private)
    if moves:
        (repo.top / "src").rename(repo.top / "other")
    else:
        shutil.rmtree(repo.top / "src")
    await discarded(changes, which)
    assert repo.status() == []
    assert (mode(repo.top / "src"), mode(repo.top / "src/deep")) == (0o700, 0o750)


@pytest.mark.parametrize("restarts", [True, False])
async def test_so_does_one_of_which_git_tracks_nothing_and_one_that_became_private_later(
    repo: Repo, private: Path, restarts: bool
) -> None:
    repo.write("keys/deep/key", "secret\n")
    (repo.top / "keys").chmod(0o700)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    (repo.top / "src").chmod(0o710)
    await changes.begin_turn("t")
    for name in ("keys", "src"):
        shutil.rmtree(repo.top / name)
    await changes.end_turn("t")
    if restarts:
        changes = await tracked(repo.top, private)
    await discarded(changes, TURN)
    found = [mode(repo.top / name) for name in ("keys", "keys/deep", "src", "src/deep")]
    assert found == [0o700, 0o755, 0o710, 0o755]
    assert (repo.top / "keys/deep/key").read_text() == "secret\n"


async def test_of_very_many_folders_the_outermost_are_looked_at(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(permissions, "_MOST_FOLDERS", 1)
    (repo.top / "src").chmod(0o700)
    changes = await begun(repo, private)
    shutil.rmtree(repo.top / "src")
    await discarded(changes, TURN)
    assert mode(repo.top / "src") == 0o700


@pytest.mark.parametrize(("name", "value"), [("core.trustctime", "false"), ("core.checkStat", "minimal")])
async def test_a_file_that_became_private_where_git_does_not_notice_comes_back_so(
    repo: Repo, private: Path, name: str, value: str
) -> None:
    repo.git("config", name, value)
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    (repo.top / "a.txt").chmod(0o600)
    await changes.begin_turn("t")
    (repo.top / "a.txt").unlink()
    await discarded(changes, TURN)
    assert mode(repo.top / "a.txt") == 0o600


@ALL
@pytest.mark.parametrize("value", ["false", "off"])
async def test_where_git_does_not_know_what_can_be_run_a_script_still_can(
    repo: Repo, private: Path, which: Which, value: str
) -> None:
    repo.git("config", "core.fileMode", value)
    repo.write("src/b.py", "print('b')\n" * 10, executable=True)
    repo.write("mine", "the person's\n", executable=True)
    repo.git("add", "mine")
    changes = await begun(repo, private)
    for file in ("src/b.py", "mine", "a.txt"):
        with (repo.top / file).open("a") as stream:
            stream.write("more\n")
    await discarded(changes, which)
    assert (mode(repo.top / "src/b.py"), mode(repo.top / "a.txt")) == (0o755, 0o644)
    if which != UNCOMMITTED:
        assert mode(repo.top / "mine") == 0o755


@pytest.mark.parametrize("which", [SESSION, TURN])
async def test_so_it_can_when_it_was_gone(repo: Repo, private: Path, which: Which) -> None:
    repo.git("config", "core.fileMode", "false")
    (repo.top / "src/b.py").chmod(0o755)
    repo.write("mine", "the person's\n", executable=True)
    changes = await begun(repo, private)
    for file in ("src/b.py", "mine", "a.txt"):
        (repo.top / file).unlink()
    await discarded(changes, which)
    assert [mode(repo.top / name) for name in ("src/b.py", "mine", "a.txt")] == [0o755, 0o755, 0o644]
