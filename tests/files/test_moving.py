"""`resourceMove`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from files.desk import DENIED, EXISTS, INVALID, NOT_FOUND, SECRET, Desk, contents, refused
from serai.files import Root, kernel


def test_a_file_gets_another_name(desk: Desk) -> None:
    (desk.work / "a").write_text("a")
    (desk.work / "folder").mkdir()
    desk.move(desk.work / "a", desk.work / "folder" / "b")
    assert list(contents(desk.work)) == ["folder", "folder/b"]


def test_what_is_there_is_replaced_unless_that_fails(desk: Desk) -> None:
    (desk.work / "a").write_text("a")
    (desk.work / "b").write_text("b")
    with refused(EXISTS):
        desk.move(desk.work / "a", desk.work / "b", fail_if_exists=True)
    assert (desk.work / "b").read_text() == "b"
    desk.move(desk.work / "a", desk.work / "b")
    assert (desk.work / "b").read_text() == "a"
    desk.move(desk.work / "b", desk.work / "c", fail_if_exists=True)
    assert list(contents(desk.work)) == ["c"]


@pytest.mark.parametrize("kind", ["file", "directory"])
@pytest.mark.parametrize("able", [True, False])
def test_it_never_replaces_what_it_must_not_even_if_that_came_just_now(
    desk: Desk,
    kind: str,
    able: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Whether or not the system can rename without replacing."""
    if not able:
        monkeypatch.setattr(kernel, "_rename", None)
    source, there = desk.work / "a", desk.work / "b"
    for path in (source, there):
        if kind == "file":
            path.write_text(path.name)
        else:
            (path / path.name).mkdir(parents=True)
    held = os.open(desk.work, os.O_RDONLY)
    try:
        with pytest.raises(FileExistsError):
            kernel.rename_exclusively("a", "b", source_in=held, destination_in=held)
        kernel.rename_exclusively("a", "c", source_in=held, destination_in=held)
    finally:
        os.close(held)
    assert sorted(desk.list(desk.work)) == ["b", "c"]


def test_a_directory_takes_the_place_of_an_empty_one_only(desk: Desk) -> None:
    (desk.work / "box" / "a").mkdir(parents=True)
    (desk.work / "empty").mkdir()
    (desk.work / "full" / "b").mkdir(parents=True)
    (desk.work / "file").write_text("x")
    for source, destination in (("box", "full"), ("box", "file"), ("file", "full"), ("file", "empty")):
        with refused(EXISTS):
            desk.move(desk.work / source, desk.work / destination)
    desk.move(desk.work / "box", desk.work / "empty")
    assert list(contents(desk.work)) == ["empty", "empty/a", "file", "full", "full/b"]


def test_a_directory_is_not_moved_into_itself(desk: Desk) -> None:
    (desk.work / "box" / "deep").mkdir(parents=True)
    for destination in ("box/a", "box/deep/a"):
        with refused(INVALID):
            desk.move(desk.work / "box", desk.work / destination)


def test_a_link_is_moved_and_replaced_itself(desk: Desk) -> None:
    (desk.work / "out").symlink_to(desk.secret)
    (desk.work / "a").write_text("a")
    desk.move(desk.work / "out", desk.work / "moved")
    assert (desk.work / "moved").is_symlink()
    desk.move(desk.work / "a", desk.work / "moved")
    assert not (desk.work / "moved").is_symlink()
    assert desk.secret.read_text() == SECRET


def test_nothing_is_moved_in_or_out(desk: Desk) -> None:
    (desk.work / "a").write_text("a")
    (desk.work / "link").symlink_to(desk.outside)
    for source, destination in (
        (desk.work / "a", desk.outside / "a"),
        (desk.work / "a", desk.work / "link" / "a"),
        (desk.secret, desk.work / "b"),
        (desk.work / "link" / "secret.txt", desk.work / "b"),
    ):
        with refused(DENIED):
            desk.move(source, destination)


def test_what_may_only_be_written_is_not_made_readable_by_moving_it(desk: Desk, tmp_path: Path) -> None:
    drop = tmp_path / "drop"
    drop.mkdir()
    (drop / "a").write_text("a")
    desk.roots |= [Root.of(drop, writable=True, readable=False)]
    desk.write(drop / "b", "b")
    with refused(DENIED):
        desk.read(drop / "a")
    with refused(DENIED):
        desk.list(drop)
    with refused(DENIED):
        desk.move(drop / "a", desk.work / "a")


def test_what_is_not_there_is_not_found(desk: Desk) -> None:
    with refused(NOT_FOUND):
        desk.move(desk.work / "none", desk.work / "b")
    (desk.work / "a").write_text("a")
    with refused(NOT_FOUND):
        desk.move(desk.work / "a", desk.work / "none" / "b")


@pytest.fixture
def elsewhere(desk: Desk) -> Iterator[Path]:
    """A directory on another file system that may be written."""
    memory = Path("/dev/shm")  # noqa: S108 - it is the other file system that is wanted
    if not os.access(memory, os.W_OK) or memory.stat().st_dev == desk.work.stat().st_dev:
        pytest.skip("there is no second file system to write to")
    folder = Path(tempfile.mkdtemp(dir=memory))
    desk.roots |= [Root.of(folder, writable=True)]
    yield folder
    shutil.rmtree(folder)


def test_things_are_moved_to_another_file_system(desk: Desk, elsewhere: Path) -> None:
    (desk.work / "box" / "deep").mkdir(parents=True)
    (desk.work / "box" / "deep" / "a").write_text("a")
    (desk.work / "file").write_text("x")
    (desk.work / "link").symlink_to("somewhere")
    before = contents(desk.work)
    for name in ("box", "file", "link"):
        desk.move(desk.work / name, elsewhere / name)
    assert contents(elsewhere) == before
    assert contents(desk.work) == {}
    (desk.work / "file").write_text("y")
    with refused(EXISTS):
        desk.move(desk.work / "file", elsewhere / "file", fail_if_exists=True)
    with refused(EXISTS):
        desk.move(desk.work / "file", elsewhere / "box")
    desk.move(desk.work / "file", elsewhere / "file")
    assert (elsewhere / "file").read_text() == "y"


def test_a_file_with_several_names_is_not_moved_to_another_file_system(desk: Desk, elsewhere: Path) -> None:
    (desk.work / "hard").hardlink_to(desk.secret)
    with refused(DENIED):
        desk.move(desk.work / "hard", elsewhere / "hard")
    assert contents(elsewhere) == {}
