"""`resourceList` and `resourceMkdir`."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

from machine.files.desk import DENIED, EXISTS, NOT_FOUND, Desk, contents, refused


def test_everything_is_listed_by_name(desk: Desk) -> None:
    for name in ("b", ".hidden", "ü", "a b"):
        (desk.work / name).write_text("")
    (desk.work / "c").mkdir()
    assert list(desk.list(desk.work).items()) == [
        (".hidden", "file"),
        ("a b", "file"),
        ("b", "file"),
        ("c", "directory"),
        ("ü", "file"),
    ]
    assert desk.list(desk.work / "c") == {}
    with refused(NOT_FOUND):
        desk.list(desk.work / "d")


def test_links_are_what_they_lead_to_where_that_may_be_told(desk: Desk) -> None:
    (desk.work / "folder").mkdir()
    (desk.work / "file").write_text("")
    for name, target in {
        "to-folder": "folder",
        "to-file": "file",
        "to-library": desk.library,
        "to-nothing": "nothing",
        "to-itself": "to-itself",
        "to-outside": desk.outside,
    }.items():
        (desk.work / name).symlink_to(target)
    found = desk.list(desk.work)
    assert {name for name, kind in found.items() if kind == "directory"} == {
        "folder",
        "to-folder",
        "to-library",
    }
    assert len(found) == 8


def test_names_that_are_no_text_are_shown_all_the_same(desk: Desk) -> None:
    for name in (b"caf\xe9", b"\xff\xfe"):
        (desk.work / os.fsdecode(name)).touch()
    (desk.work / os.fsdecode(b"link\xff")).symlink_to("nowhere")
    assert list(desk.list(desk.work)) == ["caf\ufffd", "link\ufffd", "\ufffd\ufffd"]


def test_directories_are_made_down_to_the_last(desk: Desk) -> None:
    desk.mkdir(desk.work / "a" / "b" / "c")
    desk.mkdir(desk.work / "a" / "b" / "c")
    desk.mkdir(desk.work)
    assert (desk.work / "a" / "b" / "c").is_dir()


def test_what_is_in_the_way_is_said_and_stays(desk: Desk) -> None:
    (desk.work / "file").write_text("x")
    for name in ("file", "file/a", "file/a/b"):
        with refused(EXISTS):
            desk.mkdir(desk.work / name)
    assert (desk.work / "file").read_text() == "x"


def test_directories_are_made_where_a_link_leads_if_that_is_inside(desk: Desk) -> None:
    (desk.work / "real").mkdir()
    (desk.work / "in").symlink_to("real")
    (desk.work / "out").symlink_to(desk.outside)
    (desk.work / "out-new").symlink_to(desk.outside / "new")
    desk.mkdir(desk.work / "in" / "a" / "b")
    assert (desk.work / "real" / "a" / "b").is_dir()
    for name in ("out/a", "out/folder/a", "out-new", "out-new/a"):
        with refused(DENIED):
            desk.mkdir(desk.work / name)


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


def test_many_can_make_the_same_at_once(desk: Desk) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(desk.mkdir, [desk.work / "a" / "b" / str(number % 4) for number in range(64)]))
    assert sorted(desk.list(desk.work / "a" / "b")) == ["0", "1", "2", "3"]
