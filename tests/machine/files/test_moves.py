"""`resourceMove`, `resourceDelete` and `resourceMkdir`."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from machine.files.desk import DENIED, EXISTS, INVALID, SECRET, Desk, contents, refused
from serai.machine.files import FileRoot
from serai.machine.safe_paths import MAX_DEPTH


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


def test_a_link_is_moved_and_replaced_itself(desk: Desk) -> None:
    (desk.work / "out").symlink_to(desk.secret)
    (desk.work / "a").write_text("a")
    desk.move(desk.work / "out", desk.work / "moved")
    assert (desk.work / "moved").is_symlink()
    desk.move(desk.work / "a", desk.work / "moved")
    assert not (desk.work / "moved").is_symlink()
    assert desk.secret.read_text() == SECRET


# -- from one file system to another -----------------------------------------------------------------------


@pytest.fixture
def elsewhere(desk: Desk) -> Iterator[Path]:
    """A directory on another file system that may be written."""
    here = desk.work.stat().st_dev
    places = [Path("/dev/shm"), Path(tempfile.gettempdir())]  # noqa: S108 - one of them is on another file system
    other = next((one for one in places if os.access(one, os.W_OK) and one.stat().st_dev != here), None)
    if other is None:
        pytest.skip("there is no second file system to write to")
    folder = Path(tempfile.mkdtemp(dir=other))
    desk.roots |= [FileRoot.of(folder, writable=True)]
    yield folder
    shutil.rmtree(folder)


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_nothing_is_moved_to_another_file_system_and_that_is_said(
    desk: Desk, elsewhere: Path, kind: str
) -> None:
    (desk.work / "folder").mkdir()
    (desk.work / "file").write_text("a")
    before = contents(desk.work)
    with refused(DENIED, match="another file system"):
        desk.move(desk.work / kind, elsewhere / kind)
    assert contents(desk.work) == before
    assert contents(elsewhere) == {}


# -- resourceDelete ----------------------------------------------------------------------------------------


def test_a_directory_with_something_in_it_needs_to_be_meant(desk: Desk) -> None:
    (desk.work / "box" / "deep").mkdir(parents=True)
    (desk.work / "box" / "deep" / "a").write_text("a")
    before = contents(desk.work)
    with refused(INVALID) as caught:
        desk.delete(desk.work / "box")
    assert caught.value.data == {"field": "params.recursive"}
    assert contents(desk.work) == before
    desk.delete(desk.work / "box", recursive=True)
    assert contents(desk.work) == {}


def test_links_go_and_what_they_lead_to_stays(desk: Desk) -> None:
    box = desk.work / "box"
    box.mkdir()
    (box / "to-folder").symlink_to(desk.outside)
    (box / "to-file").symlink_to(desk.secret)
    (box / "hard").hardlink_to(desk.secret)
    (desk.work / "link").symlink_to(desk.outside)
    desk.delete(desk.work / "link", recursive=True)
    desk.delete(box, recursive=True)
    assert contents(desk.work) == {}
    assert desk.secret.exists()
    with refused(DENIED):
        desk.delete(desk.secret)


def test_a_deep_tree_is_deleted_and_one_that_is_too_deep_takes_no_more_handles_than_there_are(
    desk: Desk,
) -> None:
    desk.mkdir(desk.work.joinpath(*["d"] * 200))
    with refused(DENIED):
        desk.mkdir(desk.work.joinpath(*["d"] * 300))
    deepest = desk.work.joinpath(*["d"] * 200)
    desk.move(desk.work / "d", desk.work / "upper")
    desk.mkdir(deepest)
    desk.move(desk.work / "upper", deepest / "lower")
    for attempt in (
        lambda: desk.delete(desk.work / "d", recursive=True),
        lambda: desk.copy(desk.work / "d", desk.work / "copy"),
    ):
        with refused(DENIED) as caught:
            attempt()
        assert f"more than {MAX_DEPTH}" in caught.value.message
    desk.delete(deepest / "lower", recursive=True)
    desk.delete(desk.work / "d", recursive=True)
    assert contents(desk.work) == {}


# -- resourceMkdir -----------------------------------------------------------------------------------------


def test_nothing_is_made_in_what_is_closed(desk: Desk) -> None:
    closed = desk.work / "closed"
    closed.mkdir()
    (desk.work / "link").symlink_to("closed")
    desk.roots = desk.roots.closing(closed)
    for name in ("closed/a", "closed/a/b/c", "link/a", "link/a/b"):
        with refused(DENIED):
            desk.mkdir(desk.work / name)
    assert contents(closed) == {}
    desk.mkdir(desk.work / "beside" / "it")
