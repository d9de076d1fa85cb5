"""What was there before, and was not seen: no discard deletes or overwrites it."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from changes.repositories import Repo, brief, tracked
from changes.test_operations import TURN, at
from serai.changes import unseen
from serai.changes.catalogue import SESSION, UNCOMMITTED, Which
from serai.changes.operations import DISCARD, invoke
from serai.changes.records import Limits
from serai.changes.tracked import TrackedChanges
from serai.errors import ProtocolError


async def begun(repo: Repo, private: Path, limits: Limits | None = None) -> TrackedChanges:
    """A session with a turn that runs."""
    changes = await tracked(repo.top, private, limits=limits)
    await changes.begin_session()
    await changes.begin_turn("t")
    return changes


async def discarded(changes: TrackedChanges, which: Which) -> str:
    result = await invoke(changes, which, DISCARD, None)
    assert isinstance(result.message, str)
    return result.message


@pytest.mark.parametrize(
    ("which", "is_over", "restarts"),
    [
        (UNCOMMITTED, True, True),
        (UNCOMMITTED, False, False),
        (SESSION, True, True),
        (SESSION, False, False),
        (TURN, True, True),
        (TURN, False, True),
        (TURN, False, False),
    ],
)
async def test_a_file_that_was_ignored_stays_when_the_list_is_changed(
    repo: Repo, private: Path, which: Which, is_over: bool, restarts: bool
) -> None:
    repo.write(".gitignore", ".env\n*.key\n")
    repo.commit()
    repo.write(".env", "SECRET=1\n")
    repo.write("src/private.key", "secret\n")
    changes = await begun(repo, private)
    repo.write(".gitignore", "nothing\n")
    repo.write("new", "the agent's\n")
    if is_over:
        await changes.end_turn("t")
    if restarts:
        await changes.compute(TURN)
        await changes.see_turn("t")
        changes = await tracked(repo.top, private)
    message = await discarded(changes, which)
    assert message.startswith("Discarded the changes to 2 files; not 2: .env: ")
    assert (repo.top / ".env").read_text() == "SECRET=1\n"
    assert (repo.top / "src/private.key").read_text() == "secret\n"
    assert (repo.top / ".gitignore").read_text() == ".env\n*.key\n"
    assert not (repo.top / "new").exists()
    assert (await changes.compute(UNCOMMITTED)).changes == ()


@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])
async def test_a_file_that_the_persons_own_list_ignored_stays(
    repo: Repo, private: Path, which: Which
) -> None:
    exclude = repo.top / ".git/info/exclude"
    exclude.write_text("mine\n")
    repo.write("mine", "precious\n")
    changes = await begun(repo, private)
    exclude.write_text("")
    with pytest.raises(ProtocolError, match="nothing was done: mine: it was there before, and was not recor"):
        await discarded(changes, which)
    assert (repo.top / "mine").read_text() == "precious\n"


async def test_what_the_agent_made_where_nothing_was_goes_though_it_was_ignored_for_a_while(
    repo: Repo, private: Path
) -> None:
    repo.write(".gitignore", "*.log\n")
    repo.commit()
    repo.write("logs/old.log", "precious\n")
    changes = await begun(repo, private)
    repo.write("logs/new.log", "the agent's\n")
    repo.write("logs/notes", "the agent's\n")
    repo.write(".gitignore", "")
    assert (await discarded(changes, SESSION)).startswith("Discarded the changes to 3 files; not 1: logs/old")
    assert [file.name for file in (repo.top / "logs").iterdir()] == ["old.log"]


async def test_a_file_that_looks_renamed_to_what_was_there_is_left(repo: Repo, private: Path) -> None:
    content = "print('b')\n" * 10
    repo.write(".gitignore", "copy.py\n")
    repo.commit()
    repo.write("copy.py", content)
    changes = await begun(repo, private)
    (repo.top / "src/b.py").unlink()
    (repo.top / ".gitignore").unlink()
    assert "renamed src/b.py -> copy.py +0 -0" in brief((await changes.compute(SESSION)).changes)
    message = await discarded(changes, SESSION)
    assert message.startswith("Discarded the changes to 2 files; not 1: copy.py: it was there before")
    assert (repo.top / "copy.py").read_text() == (repo.top / "src/b.py").read_text() == content


@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION])
async def test_a_new_file_that_was_too_large_stays_when_it_becomes_smaller(
    repo: Repo, private: Path, which: Which
) -> None:
    repo.write("big", "x" * 101)
    changes = await begun(repo, private, Limits(file_bytes=100))
    repo.write("big", "cut\n")
    repo.write("new", "x\n")
    assert (await discarded(changes, which)).startswith("Discarded the changes to 1 file; not 1: big: ")
    assert (repo.top / "big").read_text() == "cut\n"


async def test_a_tracked_file_that_was_too_large_does_not_come_back_as_it_was_committed(
    repo: Repo, private: Path
) -> None:
    repo.write("a.txt", "mine" * 100)
    changes = await begun(repo, private, Limits(file_bytes=100))
    repo.write("a.txt", "cut\n")
    with pytest.raises(ProtocolError, match=r"a\.txt: what it was before was not recorded"):
        await discarded(changes, SESSION)
    assert (repo.top / "a.txt").read_text() == "cut\n"


async def test_of_too_many_new_files_none_is_deleted_that_was_there(repo: Repo, private: Path) -> None:
    for number in range(12):
        repo.write(f"new/{number:02}", "x\n" if number % 4 else f"{number}\n")
    changes = await begun(repo, private, Limits(new_files=10))
    for number in range(4):
        (repo.top / f"new/{number:02}").unlink()
    repo.git("update-index", "--refresh")
    changes = await tracked(repo.top, private, limits=Limits(new_files=10))
    repo.write("new/late", "the agent's\n")
    message = await discarded(changes, SESSION)
    assert message.startswith("Discarded the changes to 5 files; not 2: new/10: it was there before")
    assert sorted(file.name for file in (repo.top / "new").iterdir()) == [f"{n:02}" for n in range(12)]


@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])
async def test_what_was_in_a_repository_within_this_one_stays(
    repo: Repo, private: Path, which: Which
) -> None:
    Repo(repo.top / "inner").write("x/f", "precious\n")
    changes = await begun(repo, private)
    shutil.rmtree(repo.top / "inner/.git")
    with pytest.raises(ProtocolError, match="nothing was done: inner/x/f: it may have been there before"):
        await discarded(changes, which)
    assert (repo.top / "inner/x/f").read_text() == "precious\n"


@pytest.mark.parametrize("which", [UNCOMMITTED, SESSION, TURN])
async def test_what_was_in_a_submodule_stays(repo: Repo, private: Path, tmp_path: Path, which: Which) -> None:
    repo.add_submodule(tmp_path / "library", "deep/lib")
    repo.write("deep/lib/own", "precious\n")
    changes = await begun(repo, private)
    repo.git("rm", "-q", "--cached", "deep/lib")
    (repo.top / "deep/lib/.git").unlink()
    message = "nothing was done: deep/lib/lib.txt: it is in a folder that was a submodule; deep/lib/own: "
    with pytest.raises(ProtocolError, match=message):
        await discarded(changes, which)
    assert sorted(file.name for file in (repo.top / "deep/lib").iterdir()) == ["lib.txt", "own"]


@pytest.mark.parametrize("flag", ["skip-worktree", "assume-unchanged"])
async def test_a_file_that_git_was_told_not_to_look_at_is_not_overwritten(
    repo: Repo, private: Path, flag: str
) -> None:
    repo.git("update-index", f"--{flag}", "a.txt", "src/b.py")
    repo.write("a.txt", "mine\n")
    (repo.top / "src/b.py").unlink()
    changes = await begun(repo, private)
    repo.git("update-index", f"--no-{flag}", "a.txt", "src/b.py")
    repo.write("src/deep/c.txt", "the agent's\n")
    message = await discarded(changes, SESSION)
    assert "not 1: a.txt: what it was before was not recorded" in message
    assert (repo.top / "a.txt").read_text() == "mine\n"
    assert (repo.top / "src/deep/c.txt").read_text() == "c\n"


async def test_it_is_said_of_such_a_file_that_it_was_there_and_not_that_it_had_another_name(
    repo: Repo, private: Path
) -> None:
    repo.git("update-index", "--skip-worktree", "a.txt")
    repo.write("a.txt", "mine\n")
    changes = await begun(repo, private)
    repo.git("update-index", "--no-skip-worktree", "a.txt")
    with pytest.raises(ProtocolError, match=r"a\.txt: what it was before was not recorded"):
        await discarded(changes, UNCOMMITTED)
    assert (repo.top / "a.txt").read_text() == "mine\n"


async def test_a_base_from_before_that_was_recorded_deletes_nothing(repo: Repo, private: Path) -> None:
    changes = await begun(repo, private)
    refs = await changes._mirror.run("for-each-ref", "--format=delete %(refname)", "refs/margins/", doing="")
    await changes._mirror.run("update-ref", "--stdin", doing="", data=refs.output)
    changes = await tracked(repo.top, private)
    repo.write("new/x", "x\n")
    repo.write("a.txt", "changed\n")
    (repo.top / "src/b.py").unlink()
    message = await discarded(changes, SESSION)
    assert message == (
        "Discarded the changes to 2 files; not 1: new/x: it is not known whether it was there before"
    )
    assert (repo.top / "new/x").exists()
    assert (repo.top / "a.txt").read_text() == "one\ntwo\nthree\n"
    assert (repo.top / "src/b.py").stat().st_mode & 0o777 == 0o600


async def test_folders_that_were_empty_stay_and_new_ones_go(repo: Repo, private: Path) -> None:
    (repo.top / "logs/x").mkdir(parents=True)
    changes = await begun(repo, private)
    repo.write("logs/x/f", "x\n")
    repo.write("logs/new/deep/f", "x\n")
    assert await discarded(changes, TURN) == "Discarded the changes to 2 files"
    assert [path.relative_to(repo.top).as_posix() for path in (repo.top / "logs").rglob("*")] == ["logs/x"]


async def test_a_fork_knows_what_was_there_before_the_turns_that_it_took_over(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    repo.write(".gitignore", ".env\n")
    repo.commit()
    repo.write(".env", "precious\n")
    changes = await begun(repo, private)
    repo.write(".gitignore", "")
    repo.write("new", "x\n")
    await changes.end_turn("t")
    fork = await tracked(repo.top, tmp_path / "fork", session_id="s2")
    await fork.adopt(private, tmp_path / "none", ["t"])
    shutil.rmtree(private)
    assert "not 1: .env: it was there before" in await discarded(fork, TURN)
    assert (repo.top / ".env").exists()
    assert not (repo.top / "new").exists()


async def test_odd_names_are_known_again(repo: Repo, private: Path) -> None:
    names = ["with space", "new\nline", 'quo"te', "*", os.fsdecode(b"not-utf8-\xff"), "-dash"]
    repo.write(".gitignore", "odd/\n")
    repo.commit()
    for name in names:
        repo.write(f"odd/{name}", "precious\n")
        repo.write(name, "precious\n")
    (repo.top / ".git/info/exclude").write_text("*\n")
    changes = await begun(repo, private)
    (repo.top / ".git/info/exclude").write_text("")
    repo.write(".gitignore", "")
    repo.write("odd/new", "x\n")
    for which in (SESSION, UNCOMMITTED):
        repo.write(".gitignore", "")
        await discarded(changes, which)
        assert all((repo.top / name).exists() for name in names)
        assert all((repo.top / f"odd/{name}").exists() for name in names)


async def test_one_file_that_was_there_is_refused_with_the_reason(repo: Repo, private: Path) -> None:
    (repo.top / ".git/info/exclude").write_text(".env\n")
    repo.write(".env", "precious\n")
    changes = await begun(repo, private)
    (repo.top / ".git/info/exclude").write_text("")
    with pytest.raises(ProtocolError, match="it was there before"):
        await invoke(changes, SESSION, DISCARD, at(repo, ".env"))


async def test_new_files_beside_many_ignored_ones_can_be_discarded(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unseen, "MOST_EACH", 3)
    repo.write(".gitignore", "*.csv\nnode_modules\n")
    repo.commit()
    for number in range(6):
        repo.write(f"data/{number}.csv", "precious\n")
        repo.write(f"pkg/node_modules/{number}.js", "precious\n")
    changes = await begun(repo, private)
    for path in ("data/script.py", "pkg/package.json", "pkg/src/i.js"):
        repo.write(path, "the agent's\n")
    assert await discarded(changes, TURN) == "Discarded the changes to 3 files"
    assert not (repo.top / "pkg/src").exists()
    repo.write(".gitignore", "")
    repo.write("data/1.csv", "changed\n")
    message = await discarded(changes, TURN)
    assert message.startswith(
        "Discarded the changes to 1 file; not 12: data/0.csv: it may have been there be"
    )
    assert (repo.top / "data/1.csv").read_text() == "changed\n"


async def test_a_session_in_a_folder_with_only_ignored_files_can_discard_new_ones(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unseen, "MOST_EACH", 3)
    repo.write(".gitignore", "node_modules\n")
    for number in range(6):
        repo.write(f"pkg/node_modules/{number}.js", "precious\n")
    changes = await tracked(repo.top / "pkg", private)
    await changes.begin_session()
    repo.write("pkg/package.json", "{}\n")
    assert await discarded(changes, SESSION) == "Discarded the changes to 1 file"


@pytest.mark.parametrize("most", [500, 1])
async def test_new_files_beside_a_repository_within_this_one_can_be_discarded(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(unseen, "MOST_EACH", most)
    Repo(repo.top / "libs/one").write("f", "precious\n")
    changes = await begun(repo, private)
    repo.write("libs/new.py", "the agent's\n")
    shutil.rmtree(repo.top / "libs/one/.git")
    repo.write("libs/one/f", "changed\n")
    message = await discarded(changes, TURN)
    assert message.startswith("Discarded the changes to 1 file; not 1: libs/one/f: it may have been there be")
    assert (repo.top / "libs/one/f").exists()


@pytest.mark.parametrize("most", [20_000, 4, 0])
async def test_new_files_among_very_many_ignored_ones_can_be_discarded(
    repo: Repo, private: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(unseen, "MOST_NAMES", most)
    repo.write(".gitignore", "*.o\n")
    repo.commit()
    for number in range(6):
        repo.write(f"src/{number}.o", "precious\n")
    repo.write("top.o", "precious\n")
    repo.write("src/big", "x" * 1001)
    changes = await begun(repo, private, Limits(file_bytes=1000))
    repo.write("src/n.c", "the agent's\n")
    repo.write("n", "the agent's\n")
    repo.write("src/big", "cut\n")
    message = await discarded(changes, TURN)
    assert message.startswith("Discarded the changes to 2 files; not 1: src/big: it was there before")
    repo.write("src/1.o", "changed\n")
    repo.write(".gitignore", "")
    message = await discarded(changes, TURN)
    assert message.startswith("Discarded the changes to 1 file; not 8: src/0.o: ")
    assert (repo.top / "src/1.o").read_text() == "changed\n"


@pytest.mark.parametrize("where", ["info", "settings", "ignored"])
async def test_what_lists_outside_of_the_tree_ignored_stays_when_they_change(
    repo: Repo, private: Path, home: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    monkeypatch.setattr(unseen, "MOST_EACH", 2)
    match where:
        case "info":
            ignores = repo.write(".git/info/exclude", "data/\n")
        case "settings":
            ignores = home / "ignores"
            ignores.write_text("data/\n")
            repo.git("config", "core.excludesFile", str(ignores))
        case _:
            ignores = repo.write("data/.gitignore", "*\n")
    for number in range(6):
        repo.write(f"data/{number}", "precious\n")
    changes = await begun(repo, private)
    ignores.write_text("")
    repo.write("data/1", "changed\n")
    repo.write("new", "x\n")
    message = await discarded(changes, TURN)
    assert message.startswith("Discarded the changes to 1 file; not ")
    assert (repo.top / "data/1").read_text() == "changed\n"
