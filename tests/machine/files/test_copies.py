"""`resourceCopy`."""

from __future__ import annotations

import os
import stat

from machine.files.desk import DENIED, EXISTS, INVALID, Desk, contents, refused


def test_what_is_there_is_replaced_unless_that_fails(desk: Desk) -> None:
    (desk.work / "a").write_text("a")
    (desk.work / "b").write_text("b")
    (desk.work / "b").chmod(0o600)
    with refused(EXISTS):
        desk.copy(desk.work / "a", desk.work / "b", fail_if_exists=True)
    assert (desk.work / "b").read_text() == "b"
    desk.copy(desk.work / "a", desk.work / "b")
    assert (desk.work / "b").read_text() == "a"
    assert stat.S_IMODE((desk.work / "b").stat().st_mode) == 0o600
    desk.copy(desk.work / "a", desk.work / "c", fail_if_exists=True)
    assert (desk.work / "c").read_text() == "a"
    desk.copy(desk.work / "a", desk.work / "a")
    assert (desk.work / "a").read_text() == "a"


def test_a_directory_is_copied_with_all_that_is_in_it(desk: Desk) -> None:
    box = desk.library / "box"
    (box / "deep" / "deeper").mkdir(parents=True)
    (box / "deep" / "a").write_text("a")
    (box / "deep" / "a").chmod(0o640)
    (box / "deep").chmod(0o750)
    (box / "empty").mkdir()
    (box / "in").symlink_to("deep/a")
    (box / "out").symlink_to(desk.outside)
    (box / os.fsdecode(b"\xff")).touch()
    desk.copy(box, desk.work / "box")
    assert contents(desk.work / "box") == contents(box)
    assert (desk.work / "box" / "out").is_symlink(), "a link stays a link"
    with refused(DENIED):
        desk.list(desk.work / "box" / "out")


def test_a_directory_is_not_copied_into_itself(desk: Desk) -> None:
    (desk.work / "box" / "deep").mkdir(parents=True)
    (desk.work / "alias").symlink_to("box/deep")
    for destination in ("box/copy", "box/deep/copy", "alias/copy"):
        with refused(INVALID):
            desk.copy(desk.work / "box", desk.work / destination)
    assert list(contents(desk.work)) == ["alias", "box", "box/deep"]


def test_a_directory_with_a_pipe_in_it_is_not_copied_in_part(desk: Desk) -> None:
    (desk.work / "box" / "deep").mkdir(parents=True)
    (desk.work / "box" / "a").write_text("a")
    os.mkfifo(desk.work / "box" / "deep" / "pipe")
    with refused(DENIED):
        desk.copy(desk.work / "box", desk.work / "copy")
    assert list(desk.list(desk.work)) == ["box"]
