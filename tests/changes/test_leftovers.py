"""What is left of a discard when the host is killed in it."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from changes.repositories import Repo, tracked
from changes.test_operations import TURN
from serai.changes.catalogue import SESSION, UNCOMMITTED
from serai.changes.closed import Closed
from serai.changes.leftovers import NOTES, clean_up
from serai.changes.writing import taken_away

KILLED = """
import os, signal, sys
from pathlib import Path
from serai.changes import reaching, writing
from serai.changes.closed import Closed
from serai.changes.reaching import Expected, Found

top, notes, source, what, moment = sys.argv[1:]
name = os.fsdecode(b"odd \\xff") if what == "odd" else "a/x"
expected = Expected(Found(b"seen", 0).digest)
closed = Closed("/nowhere at all")

def die(*_words, **_more):
    os.kill(os.getpid(), signal.SIGKILL)

match moment:
    case "drafting":
        writing.shutil.copyfileobj = die
    case "looking":
        writing._is_untouched = die
    case "placing":
        writing.put_exclusively = die
    case "deleting":
        really, seen = os.unlink, []
        def unlink(path, **more):
            seen.append(path)
            if len(seen) == 2:
                die()
            really(path, **more)
        os.unlink = unlink
writing.put_file(
    top, name, Path(source), 0o100644, closed, expected=expected, notes=Path(notes)
)
"""


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def kill_while(moment: str, top: Path, notes: Path, source: Path, what: str = "plain") -> None:
    """Have a file replaced by a process that is killed at some moment of it."""
    words = [str(top), str(notes), str(source), what, moment]
    killed = subprocess.run([sys.executable, "-c", KILLED, *words], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr


@pytest.mark.parametrize("what", ["plain", "odd"])
@pytest.mark.parametrize("moment", ["drafting", "looking", "placing", "deleting"])
def test_what_a_killed_host_left_is_cleaned_up_by_the_next_one(
    tmp_path: Path, moment: str, what: str
) -> None:
    top, notes, source = tmp_path / "top", tmp_path / NOTES, tmp_path / "source"
    place = top / (os.fsdecode(b"odd \xff") if what == "odd" else "a/x")
    place.parent.mkdir(parents=True)
    place.write_bytes(b"seen")
    source.write_bytes(b"new")
    kill_while(moment, top, notes, source, what)
    assert [name for name in names(place.parent) if name.startswith(".serai-")]
    clean_up(notes, Closed("/nowhere at all"))
    assert names(place.parent) == [place.name]
    assert place.read_bytes() == (b"new" if moment == "deleting" else b"seen")
    assert list(notes.iterdir()) == []


def test_a_file_that_is_not_what_was_to_go_stays_though_its_name_was_taken(tmp_path: Path) -> None:
    top, notes, source = tmp_path / "top", tmp_path / NOTES, tmp_path / "source"
    (top / "a").mkdir(parents=True)
    (top / "a/x").write_bytes(b"seen")
    source.write_bytes(b"new")
    kill_while("looking", top, notes, source)
    [aside] = [file for file in (top / "a").iterdir() if file.read_bytes() != b"new"]
    aside.write_bytes(b"written meanwhile")
    (top / "a/x").write_bytes(b"made by someone else")
    clean_up(notes, Closed("/nowhere at all"))
    assert aside.read_bytes() == b"written meanwhile"
    assert (top / "a/x").read_bytes() == b"made by someone else"


def test_a_file_that_was_back_and_had_both_names_when_the_host_was_killed_has_its_own(tmp_path: Path) -> None:
    top, notes, source = tmp_path / "top", tmp_path / NOTES, tmp_path / "source"
    (top / "a").mkdir(parents=True)
    (top / "a/x").write_bytes(b"seen")
    source.write_bytes(b"new")
    kill_while("looking", top, notes, source)
    [aside] = [file for file in (top / "a").iterdir() if file.read_bytes() == b"seen"]
    aside.write_bytes(b"written meanwhile")
    (top / "a/x").hardlink_to(aside)
    clean_up(notes, Closed("/nowhere at all"))
    assert names(top / "a") == ["x"]
    assert (top / "a/x").read_bytes() == b"written meanwhile"
    assert list(notes.iterdir()) == []


async def test_of_what_a_killed_host_had_undone_it_is_said_that_it_is_as_it_was(
    repo: Repo, private: Path
) -> None:
    changes = await tracked(repo.top, private)
    await changes.begin_turn("t")
    before = (repo.top / "a.txt").read_bytes()
    for name in ("a.txt", "new", "src/b.py"):
        repo.write(name, "the agent's\n")
    await changes.end_turn("t")
    repo.write("a.txt", before)
    (repo.top / "new").unlink()
    again = await tracked(repo.top, private)
    done, refused = await again.discard(TURN, None)
    assert [one.path for one in done] == ["src/b.py"]
    assert refused == dict.fromkeys(("a.txt", "new"), "it is as it was before that turn")
    assert repo.status() == []


async def test_what_a_killed_host_had_in_the_private_folder_for_a_moment_goes(
    repo: Repo, private: Path
) -> None:
    changes = await tracked(repo.top, private)
    await changes.begin_session()
    for name in ("back-1234/files", "ignored-1234", "read-1234"):
        (private / name).mkdir(parents=True)
    (private / "back-1234/files/key").write_text("secret\n")
    (private / "new-1234").touch()
    before = set(names(private))
    with changes._mirror.scratch("back") as own:
        changes = await tracked(repo.top, private)
        assert Path(own).name in names(private)
    assert before - set(names(private)) == {"back-1234", "ignored-1234", "new-1234", "read-1234"}
    repo.write("a.txt", "changed\n")
    assert [one.path for one in (await changes.compute(SESSION)).changes] == ["a.txt"]


def test_what_this_host_is_about_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"x")
    notes = tmp_path / NOTES
    with taken_away(str(tmp_path), "x", Closed("/nowhere at all"), notes=notes) as aside:
        clean_up(notes, Closed("/nowhere at all"))
        assert (tmp_path / aside).exists()
    assert not (tmp_path / aside).exists()
    assert list(notes.iterdir()) == []


# A file that was renamed into a folder of its own name is back; the renamed one was still to be deleted.
KILLED_WITHIN = """
import os, signal, sys
from pathlib import Path
from serai.changes.closed import Closed
from serai.changes.reaching import Expected, Found
from serai.changes.writing import put_file, put_link, taken_away

top, notes, source, what = sys.argv[1:]
closed, expected = Closed("/nowhere at all"), Expected(Found(b"seen", 0).digest)
with taken_away(top, "t/f", closed, stays=0, expected=expected, notes=Path(notes)):
    if what == "link":
        put_link(top, "t", b"elsewhere", closed, notes=Path(notes))
    else:
        put_file(top, "t", Path(source), 0o100644, closed, notes=Path(notes))
    os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.parametrize("content", [b"seen", b"written meanwhile"])
@pytest.mark.parametrize("what", ["file", "link"])
def test_a_file_that_was_in_a_folder_which_is_a_file_again_goes_if_it_was_to_go(
    tmp_path: Path, what: str, content: bytes
) -> None:
    top, notes, source = tmp_path / "top", tmp_path / NOTES, tmp_path / "source"
    (top / "t").mkdir(parents=True)
    (top / "t/f").write_bytes(b"seen")
    (top / "elsewhere").mkdir()
    source.write_bytes(b"new")
    words = [str(top), str(notes), str(source), what]
    killed = subprocess.run([sys.executable, "-c", KILLED_WITHIN, *words], check=False, capture_output=True)
    assert killed.returncode == -signal.SIGKILL, killed.stderr
    [aside] = top.glob(".serai-*")
    aside.write_bytes(content)
    clean_up(notes, Closed("/nowhere at all"))
    assert names(top) == [*([aside.name] if content != b"seen" else []), "elsewhere", "t"]
    assert not (top / "t").is_dir() or (top / "t").is_symlink()
    assert names(top / "elsewhere") == []
    assert list(notes.iterdir()) == []


async def test_it_is_cleaned_up_when_the_changes_are_opened(
    repo: Repo, private: Path, tmp_path: Path
) -> None:
    source = tmp_path / "source"
    source.write_bytes(b"new")
    repo.write("a/x", b"seen")
    for moment in ("placing", "drafting"):
        await asyncio.to_thread(kill_while, moment, repo.top, private / NOTES, source)
        changes = await tracked(repo.top, private)
        assert [one.path for one in (await changes.compute(UNCOMMITTED)).changes] == ["a/x"]
        assert names(repo.top / "a") == ["x"]
        assert (repo.top / "a/x").read_bytes() == b"seen"
