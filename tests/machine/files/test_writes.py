"""`resourceWrite`."""

from __future__ import annotations

import base64
import os
import resource
import stat
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from machine.files.desk import CONFLICT, EXISTS, INVALID, Desk, refused
from serai.errors import ProtocolError
from serai.machine import draft as drafts
from serai.machine.files import writes


@pytest.fixture
def file(desk: Desk) -> Path:
    file = desk.work / "a.txt"
    file.write_bytes(b"0123456789")
    return file


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    old=st.binary(max_size=50),
    new=st.binary(max_size=20),
    mode=st.sampled_from(["truncate", "append", "insert"]),
    position=st.integers(0, 60),
)
def test_the_result_is_what_the_protocol_says(
    desk: Desk, old: bytes, new: bytes, mode: str, position: int
) -> None:
    (desk.work / "a").write_bytes(old)
    desk.write(
        desk.work / "a", base64.b64encode(new).decode(), encoding="base64", mode=mode, position=position
    )
    cut = max(0, len(old) - position) if mode == "append" else position
    expected = old[:cut] + new + (b"" if mode == "truncate" else old[cut:])
    assert (desk.work / "a").read_bytes() == expected


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"encoding": "base64", "data": "not base64!"}, "params.data"),
        ({"encoding": "base64", "data": "YQ"}, "params.data"),
        ({"encoding": "utf-8", "data": "\ud800"}, "params.data"),
        ({"encoding": "hex", "data": "00"}, "params.encoding"),
        ({"mode": "prepend"}, "params.mode"),
        ({"position": -1}, "params.position"),
    ],
)
def test_what_makes_no_sense_is_refused(desk: Desk, file: Path, options: dict[str, Any], field: str) -> None:
    with refused(INVALID) as caught:
        desk.write(file, **options)
    assert caught.value.data == {"field": field}
    assert file.read_bytes() == b"0123456789"


DONE = 0


def outcome(attempt: Callable[[], None]) -> int:
    try:
        attempt()
    except ProtocolError as error:
        return error.number
    return DONE


def test_create_only_does_not_replace_what_another_program_made_just_now(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = drafts.Draft.commit

    def late(draft: drafts.Draft, *, exclusive: bool) -> None:
        (desk.work / "a").write_text("theirs")
        real(draft, exclusive=exclusive)

    monkeypatch.setattr(drafts.Draft, "commit", late)
    with refused(EXISTS):
        desk.write(desk.work / "a", "ours", create_only=True)
    assert (desk.work / "a").read_text() == "theirs"


def test_a_version_that_was_seen_can_be_changed_once(desk: Desk, file: Path) -> None:
    seen = desk.resolve(file).etag
    desk.write(file, "one", if_match=seen)
    with refused(CONFLICT):
        desk.write(file, "two", if_match=seen)
    with refused(CONFLICT):
        desk.write(file, "two", mode="append", if_match=seen)
    assert file.read_text() == "one"
    desk.write(file, "!", mode="append", if_match=desk.resolve(file).etag)
    assert file.read_text() == "one!"
    file.unlink()
    with refused(CONFLICT):
        desk.write(file, "two", if_match=seen)
    assert not file.exists()


@pytest.mark.parametrize(
    "options", [{"mode": "insert"}, {"position": 5}, {"mode": "append", "position": 1}, {"if_match": "seen"}]
)
def test_what_another_program_adds_meanwhile_is_not_lost(
    desk: Desk, file: Path, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    if "if_match" in options:
        options = {"if_match": desk.resolve(file).etag}
    real = writes.write_all

    def slowly(descriptor: int, data: bytes) -> None:
        with file.open("ab") as other:
            other.write(b"theirs")
        real(descriptor, data)

    monkeypatch.setattr(writes, "write_all", slowly)
    with refused(CONFLICT):
        desk.write(file, "ours", **options)
    assert file.read_bytes() == b"0123456789theirs"


def test_appending_adds_to_the_file_that_others_have_open(desk: Desk, file: Path) -> None:
    with file.open("rb") as follower:
        follower.read()
        desk.write(file, "more", mode="append")
        assert follower.read() == b"more"


def test_permissions_are_kept_and_set_user_id_is_not(desk: Desk, file: Path) -> None:
    file.chmod(0o4750)
    desk.write(file, "new")
    assert stat.S_IMODE(file.stat().st_mode) == 0o750
    desk.write(file, "x", mode="insert")
    assert stat.S_IMODE(file.stat().st_mode) == 0o750


def test_a_new_file_has_ordinary_permissions(desk: Desk) -> None:
    before = os.umask(0o027)
    try:
        desk.write(desk.work / "a")
    finally:
        os.umask(before)
    assert stat.S_IMODE((desk.work / "a").stat().st_mode) == 0o640


@contextmanager
def room_for(size: int) -> Generator[None]:
    """No file may grow beyond that, as if the disk were full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize(
    "options", [{}, {"mode": "append"}, {"mode": "insert"}, {"mode": "append", "position": 3}]
)
def test_when_there_is_no_room_the_file_is_as_it_was(desk: Desk, file: Path, options: dict[str, Any]) -> None:
    data = "x" * 100_000
    with room_for(50_000), refused(-32603) as caught:
        desk.write(file, data, **options)
    assert "full" in caught.value.message
    assert file.read_bytes() == b"0123456789"
    with room_for(50_000), refused(-32603):
        desk.write(desk.work / "new", data, **options)
    assert list(desk.list(desk.work)) == ["a.txt"]


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere Python has no attributes")
def test_what_is_attached_to_a_file_stays_when_it_is_replaced(desk: Desk) -> None:
    path, other = desk.work / "a", desk.work / "b"
    path.write_text("old")
    other.write_text("another")
    try:
        os.setxattr(path, "user.note", b"mine")
    except OSError:
        pytest.skip("NOT CHECKED: this file system has no attributes")
    os.setxattr(other, "user.note", b"another's")
    desk.write(path, "new")
    assert (path.read_text(), os.getxattr(path, "user.note")) == ("new", b"mine")
    desk.write(path, "er", mode="insert", position=3)
    assert (path.read_text(), os.getxattr(path, "user.note")) == ("newer", b"mine")
    desk.copy(other, path)
    assert (path.read_text(), os.getxattr(path, "user.note")) == ("another", b"mine")
    desk.copy(other, desk.work / "c")
    assert os.listxattr(desk.work / "c") == []
