"""What the files of a folder were when a turn began."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from changes.folders import until_it_is_older
from serai.changes import beginnings
from serai.changes.beginnings import Beginning, Beginnings, has_changed_since
from serai.changes.closed import Closed
from serai.changes.reaching import Found
from serai.changes.records import LINK_MODE
from serai.changes.sightings import sighted


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "plain"
    folder.mkdir()
    return folder


@pytest.fixture
def closed(tmp_path: Path) -> Closed:
    return Closed(tmp_path / "home of the host")


def write(top: Path, path: str, content: bytes = b"x\n") -> Path:
    file = top / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content)
    return file


def told(began: Beginnings, path: str) -> bytes | str:
    """What was at a path, in a word."""
    beginning = began.of(path)
    if beginning is None:
        return "not known"
    return beginning.found.data if beginning.found is not None else "no file"


def test_files_are_remembered_as_they_were(top: Path, closed: Closed) -> None:
    file = write(top, "sub/run", b"before\n")
    file.chmod(0o750)
    seen = sighted(bytes(file))
    began = Beginnings.take(str(top), closed)
    file.write_bytes(b"after\n")
    beginning = began.of("sub/run")
    assert beginning is not None
    assert beginning.found is not None
    assert beginning.found == Found(b"before\n", 0o100755)
    assert beginning.found.permissions == 0o750
    assert beginning.seen == seen


def test_where_nothing_was_is_known_with_the_folders_on_the_way(top: Path, closed: Closed) -> None:
    write(top, "file")
    (top / "sub/deep").mkdir(parents=True)
    (top / "sub").chmod(0o700)
    (top / "sub/deep").chmod(0o755)
    before = time.time_ns()
    began = Beginnings.take(str(top), closed)
    found = {
        path: began.of(path)
        for path in ("new", "file/new", "sub/new", "sub/deep", "sub/deep/a/new", "sub/a/b")
    }
    at = began.at
    assert before <= at <= time.time_ns()
    assert found == {
        "new": Beginning(None, at),
        "file/new": Beginning(None, at),
        "sub/new": Beginning(None, at, folders=(0o700,)),
        "sub/deep": Beginning(None, at, folders=(0o700, 0o755)),
        "sub/deep/a/new": Beginning(None, at, folders=(0o700, 0o755)),
        "sub/a/b": Beginning(None, at, folders=(0o700,)),
    }


def test_links_are_remembered_and_not_followed(top: Path, closed: Closed, tmp_path: Path) -> None:
    write(tmp_path, "outside/file", b"secret\n")
    (top / "way").symlink_to(tmp_path / "outside")
    (top / "link").symlink_to(tmp_path / "outside/file")
    (top / "round").symlink_to(top)
    began = Beginnings.take(str(top), closed)
    link = began.of("link")
    assert link is not None
    assert link.found == Found(os.fsencode(tmp_path / "outside/file"), LINK_MODE)
    assert [told(began, path) for path in ("way/file", "way/new", "round/link")] == ["not known"] * 3


def test_what_is_no_file_is_neither_opened_nor_known(top: Path, closed: Closed) -> None:
    os.mkfifo(top / "pipe")
    began = Beginnings.take(str(top), closed)  # who opens it waits, or lets a writer go on
    assert told(began, "pipe") == "not known"
    with pytest.raises(OSError, match="No such device"):
        os.close(os.open(top / "pipe", os.O_WRONLY | os.O_NONBLOCK))


def test_what_belongs_to_tools_is_not_entered(top: Path, closed: Closed) -> None:
    for folder in (".git", "node_modules", "sub/node_modules"):
        write(top, f"{folder}/file")
    began = Beginnings.take(str(top), closed)
    assert told(began, "sub/node_modules/file") == told(began, "node_modules/new") == "not known"
    assert told(began, ".git/file") == "not known"


def test_the_hosts_own_folder_is_not_entered_by_any_name(top: Path) -> None:
    write(top, "a/home/own")
    (top / "to it").symlink_to("a/home")
    began = Beginnings.take(str(top), Closed(top / "to it"))
    assert told(began, "a/home/own") == told(began, "a/home/new") == "not known"
    assert told(began, "a/new") == "no file"
    assert told(Beginnings.take(str(top), Closed(top)), "a/new") == "not known"


def test_a_folder_that_is_not_there_has_no_beginning(top: Path, closed: Closed) -> None:
    assert told(Beginnings.take(str(top / "none"), closed), "a") == "not known"


def test_names_that_may_be_the_same_elsewhere_are_not_known_to_be_new(top: Path, closed: Closed) -> None:
    for name in ("README.md", "Sub/caf\u00e9"):
        write(top, name)
    began = Beginnings.take(str(top), closed)
    asked = ("Readme.md", "sub/new", "Sub/cafe\u0301", "Sub/CAF\u00c9")
    assert [told(began, path) for path in asked] == ["not known"] * 4
    assert told(began, "Sub/new") == "no file"


def test_names_may_have_any_bytes(top: Path, closed: Closed) -> None:
    name = os.fsdecode(b"odd \xff\n name")
    write(top, name)
    assert told(Beginnings.take(str(top), closed), name) == b"x\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is closed to root")
def test_what_may_not_be_read_is_not_known(top: Path, closed: Closed) -> None:
    write(top, "key").chmod(0)
    write(top, "locked/file").parent.chmod(0)
    began = Beginnings.take(str(top), closed)
    (top / "locked").chmod(0o700)
    assert [told(began, path) for path in ("key", "locked/file", "locked/new")] == ["not known"] * 3


# -- bounds ------------------------------------------------------------------------------------------------


def test_large_files_are_not_remembered(top: Path, closed: Closed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(beginnings, "_LARGEST", 10)
    write(top, "large", b"x" * 11)
    write(top, "small", b"x" * 10)
    began = Beginnings.take(str(top), closed)
    assert [told(began, path) for path in ("large", "small", "new")] == ["not known", b"x" * 10, "no file"]


def test_a_file_that_does_not_fit_does_not_keep_smaller_ones_out(
    top: Path, closed: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginnings, "_MOST_BYTES", 10)
    write(top, "first", b"x" * 8)
    write(top, "sub/second", b"x" * 8)
    write(top, "sub/deep/third", b"x" * 2)
    began = Beginnings.take(str(top), closed)
    asked = ("first", "sub/second", "sub/deep/third", "sub/new")
    assert [told(began, path) for path in asked] == [b"x" * 8, "not known", b"xx", "no file"]


def test_the_uppermost_files_are_remembered_when_there_are_many(
    top: Path, closed: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(beginnings, "_MOST_FILES", 2)
    for path in ("a/x/1", "a/2", "3", "a/x/4", "a/x/5"):
        write(top, path)
    began = Beginnings.take(str(top), closed)
    asked = ("3", "a/2", "a/x/1", "a/x/new")
    assert [told(began, path) for path in asked] == [b"x\n", b"x\n", "not known", "no file"]


def test_where_it_was_not_looked_nothing_is_known(
    top: Path, closed: Closed, monkeypatch: pytest.MonkeyPatch
) -> None:
    for path in ("a/1", "a/2", "b/1", "b/2", "b/3"):
        write(top, path)
    monkeypatch.setattr(beginnings, "_MOST_ENTRIES", 4)  # a, b, and two more
    began = Beginnings.take(str(top), closed)
    listed = [told(began, f"{folder}/new") for folder in "ab"]
    assert told(began, "new") == "no file"
    assert listed.count("not known") >= 1
    assert "not known" in {told(began, path) for path in ("b/1", "b/2", "b/3")}


def test_a_slow_disk_keeps_nobody_waiting(top: Path, closed: Closed, monkeypatch: pytest.MonkeyPatch) -> None:
    write(top, "a")
    monkeypatch.setattr(beginnings, "_LONGEST", -1.0)
    assert told(Beginnings.take(str(top), closed), "a") == "not known"


# -- what has changed since --------------------------------------------------------------------------------


async def test_what_is_written_replaced_or_deleted_has_changed_and_nothing_else_has(top: Path) -> None:
    file = write(top, "sub/file")
    places = [str(file), str(top / "sub/none"), str(top / "sub/none/such")]
    for work, changed in (
        (lambda: file.write_bytes(b"y"), [True, False, False]),
        (lambda: os.utime(file, (1, 1)), [True, False, False]),
        (lambda: write(top, "draft").replace(file), [True, True, True]),
        (file.unlink, [True, True, True]),
        (file.parent.rmdir, [True, True, True]),
    ):
        await until_it_is_older(*(place for place in (file, file.parent, top) if place.exists()))
        since = time.time_ns()
        assert [has_changed_since(place, since) for place in places] == [False] * 3
        work()
        assert [has_changed_since(place, since) for place in places] == changed
