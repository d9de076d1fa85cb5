"""What is outside stays outside, however it is named."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from machine.files.desk import DENIED, EXISTS, INVALID, SECRET, Desk, refused
from serai.machine.files import FileRoot, Roots, find, uri_of

# -- names -------------------------------------------------------------------------------------------------


def test_a_namesake_of_a_root_is_outside(desk: Desk) -> None:
    sibling = desk.work.with_name("workshop")
    sibling.mkdir()
    (sibling / "a").write_text("a")
    desk.refuses_all(sibling / "a")
    desk.refuses_all(desk.work.parent)


@pytest.mark.parametrize(
    "tail",
    [
        "/../outside/secret.txt",
        "/%2e%2e/outside/secret.txt",
        "/..%2foutside%2fsecret.txt",
        "/%2e%2e%2foutside/secret.txt",
        "/./../outside/secret.txt",
        "/a%00/../../outside/secret.txt",
        "//../outside/secret.txt",
    ],
)
def test_no_traversal_leads_outside(desk: Desk, tail: str) -> None:
    desk.refuses_all(uri_of(desk.work) + tail)


def test_what_is_outside_is_not_told_about(desk: Desk) -> None:
    """There or not, file or directory: the answer is the same."""
    said: set[str] = set()
    for name in ("secret.txt", "missing", "missing/below", "secret.txt/below", "folder"):
        path = desk.outside / name
        with refused(DENIED) as caught:
            desk.resolve(path)
        assert caught.value.data == {"request": {"channel": "ahp-root://", "uri": uri_of(path), "read": True}}
        said.add(caught.value.message.replace(uri_of(path), "X"))
    assert len(said) == 1


def test_a_directory_that_may_only_be_read_is_not_written(desk: Desk) -> None:
    book = desk.library / "book.txt"
    book.write_text("words")
    (desk.work / "a").write_text("a")
    for attempt in (
        lambda: desk.write(book),
        lambda: desk.write(book, mode="append"),
        lambda: desk.write(desk.library / "new", create_only=True),
        lambda: desk.mkdir(desk.library / "new"),
        lambda: desk.delete(book),
        lambda: desk.move(book, desk.work / "book"),
        lambda: desk.move(desk.work / "a", desk.library / "a"),
        lambda: desk.copy(desk.work / "a", book),
    ):
        with refused(DENIED):
            attempt()
    assert book.read_text() == "words"
    desk.copy(book, desk.work / "book")
    assert desk.read(desk.work / "book") == "words"


@pytest.mark.parametrize("name", [b"caf\xe9.txt", b"\xff", b"ok\xed\xa0\x80"])
def test_names_that_are_not_utf8_are_refused(desk: Desk, name: bytes) -> None:
    inside = desk.work / os.fsdecode(name)
    inside.write_text("here")
    desk.refuses_all(inside)
    assert list(desk.list(desk.work)) == [name.decode(errors="replace")]


# -- links -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("absolute", [True, False])
def test_a_link_to_something_outside_is_refused(desk: Desk, absolute: bool) -> None:
    link = desk.work / "link"
    link.symlink_to(desk.secret if absolute else "../outside/secret.txt")
    for attempt in (
        lambda: desk.read(link),
        lambda: desk.write(link),
        lambda: desk.write(link, mode="append"),
        lambda: desk.copy(link, desk.work / "taken"),
        lambda: desk.resolve(link),
        lambda: desk.mkdir(link),
    ):
        with refused(DENIED):
            attempt()
    assert desk.resolve(link, follow_symlinks=False).type == "symlink"


def test_a_link_from_outside_may_lead_inside(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(desk.work)
    desk.write(tmp_path / "alias" / "a.txt", "a")
    assert desk.resolve(tmp_path / "alias" / "a.txt").uri == uri_of(desk.work / "a.txt")
    desk.delete(tmp_path / "alias" / "a.txt")
    with refused(DENIED):
        desk.delete(tmp_path / "alias")


# -- hard links --------------------------------------------------------------------------------------------


def test_a_file_with_a_name_outside_is_neither_read_nor_written(desk: Desk) -> None:
    hard = desk.work / "hard"
    hard.hardlink_to(desk.secret)
    (desk.work / "a").write_text("a")
    for attempt in (
        lambda: desk.read(hard),
        lambda: desk.write(hard),
        lambda: desk.write(hard, mode="append"),
        lambda: desk.write(hard, mode="insert"),
        lambda: desk.copy(hard, desk.work / "taken"),
        lambda: desk.copy(desk.work / "a", hard),
    ):
        with refused(DENIED) as caught:
            attempt()
        assert caught.value.data is None
    assert hard.read_text() == SECRET
    assert desk.resolve(hard).size == len(SECRET)
    assert desk.list(desk.work) == {"a": "file", "hard": "file"}


# -- what is no file ---------------------------------------------------------------------------------------


def test_pipes_and_sockets_are_refused_and_nobody_waits(desk: Desk) -> None:
    os.mkfifo(desk.work / "pipe")
    desk.refuses_all(desk.work / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(desk.work / "socket"))
        desk.refuses_all(desk.work / "socket")
    (desk.work / "link").symlink_to("pipe")
    with refused(DENIED):
        desk.read(desk.work / "link")
    assert desk.list(desk.work) == {"link": "file", "pipe": "file", "socket": "file"}


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="there is no /proc here")
@pytest.mark.parametrize(
    "path",
    [
        "/proc/self/environ",
        "/proc/self/fd/0",
        "/sys/kernel",
    ],
)
def test_views_of_the_system_are_refused_even_below_a_root(desk: Desk, path: str) -> None:
    desk.roots = Roots.of(FileRoot("/", writable=True))
    desk.refuses_all(Path(path))


# -- the rest ----------------------------------------------------------------------------------------------


def test_a_root_itself_is_neither_deleted_nor_moved_nor_replaced(desk: Desk) -> None:
    (desk.work / "a").mkdir()
    for attempt in (
        lambda: desk.delete(desk.work, recursive=True),
        lambda: desk.move(desk.work, desk.work / "b"),
        lambda: desk.move(desk.work / "a", desk.work),
    ):
        with refused(DENIED) as caught:
            attempt()
        assert "only what is in it can be moved or deleted" in str(caught.value)
        assert caught.value.data is None, "no grant would help"
    with refused(DENIED) as caught:
        desk.delete(desk.library, recursive=True)
    assert caught.value.data is not None, "a grant would help"
    inner = Roots.of(FileRoot.of(desk.work / "a", writable=True))
    with refused(DENIED), find(uri_of(desk.work / "a"), inner, write=True, itself=False):
        pass
    desk.roots |= inner.all
    desk.delete(desk.work / "a")


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may do everything")
def test_what_the_system_refuses_is_refused(desk: Desk) -> None:
    closed = desk.work / "closed"
    closed.mkdir(0o000)
    (desk.work / "mute").write_text("x")
    (desk.work / "mute").chmod(0o000)
    try:
        for attempt in (
            lambda: desk.read(closed / "a"),
            lambda: desk.list(closed),
            lambda: desk.write(closed / "a"),
            lambda: desk.read(desk.work / "mute"),
            lambda: desk.write(desk.work / "mute"),
            lambda: desk.delete(closed, recursive=True),
        ):
            with refused(DENIED):
                attempt()
    finally:
        closed.chmod(0o700)


def test_the_wrong_kind_is_said(desk: Desk) -> None:
    (desk.work / "file").write_text("x")
    with refused(INVALID):
        desk.read(desk.work)
    with refused(INVALID):
        desk.list(desk.work / "file")
    with refused(EXISTS):
        desk.write(desk.work)
