"""`resourceDelete`."""

from __future__ import annotations

import os
import socket

from machine.files.desk import DENIED, INVALID, NOT_FOUND, Desk, contents, refused
from serai.machine.files.handles import MAX_DEPTH


def test_files_and_empty_directories_are_deleted(desk: Desk) -> None:
    (desk.work / "a").write_text("a")
    (desk.work / "b").mkdir()
    desk.delete(desk.work / "a")
    desk.delete(desk.work / "b")
    assert contents(desk.work) == {}
    with refused(NOT_FOUND):
        desk.delete(desk.work / "a")


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


def test_pipes_and_strange_names_go_with_their_directory(desk: Desk) -> None:
    box = desk.work / "box"
    box.mkdir()
    os.mkfifo(box / "pipe")
    (box / os.fsdecode(b"\xff")).mkdir()
    desk.delete(box, recursive=True)
    assert contents(desk.work) == {}


def test_pipes_and_sockets_that_someone_left_are_deleted(desk: Desk) -> None:
    os.mkfifo(desk.work / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(desk.work / "socket"))
    desk.delete(desk.work / "pipe")
    desk.delete(desk.work / "socket", recursive=True)
    assert contents(desk.work) == {}


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
