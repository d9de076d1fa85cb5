"""Putting files back, and nothing else."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from serai.changes.closed import Closed
from serai.changes.reaching import Expected, Found, read_file
from serai.changes.writing import (
    put_file,
    put_link,
    remove_empty_folders,
    share,
    take_away,
    taken_away,
)
from serai.errors import FileInTheWay, FileTooLarge

NOTHING = Closed("/nowhere at all")


@pytest.fixture
def top(tmp_path: Path) -> Path:
    folder = tmp_path / "top"
    folder.mkdir()
    return folder


@pytest.fixture
def source(tmp_path: Path) -> Path:
    file = tmp_path / "source"
    file.write_bytes(b"content")
    return file


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def test_a_file_is_put_and_directories_are_made(top: Path, source: Path) -> None:
    put_file(str(top), "a/b/c", source, 0o100755, NOTHING)
    assert (top / "a/b/c").read_bytes() == b"content"
    assert os.access(top / "a/b/c", os.X_OK)
    put_file(str(top), "a/b/c", source, 0o100644, NOTHING)
    assert not (top / "a/b/c").stat().st_mode & 0o111
    assert names(top / "a/b") == ["c"]


def test_a_link_is_replaced_and_not_written_through(top: Path, source: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_bytes(b"keep")
    (top / "x").symlink_to(tmp_path / "outside")
    put_file(str(top), "x", source, 0o100644, NOTHING)
    assert not (top / "x").is_symlink()
    assert (tmp_path / "outside").read_bytes() == b"keep"
    put_link(str(top), "x", b"to \xff", NOTHING)
    assert os.fsencode((top / "x").readlink()) == b"to \xff"


@pytest.mark.parametrize("path", ["way/x", "way/deep/x"])
def test_no_link_leads_out(top: Path, source: Path, tmp_path: Path, path: str) -> None:
    outside = tmp_path / "outside"
    (outside / "deep").mkdir(parents=True)
    (outside / "x").write_bytes(b"keep")
    (outside / "deep/x").write_bytes(b"keep")
    (top / "way").symlink_to(outside)
    for act in (
        lambda: put_file(str(top), path, source, 0o100644, NOTHING),
        lambda: put_link(str(top), path, b"x", NOTHING),
        lambda: take_away(str(top), path, NOTHING),
        lambda: read_file(str(top), path, 10, NOTHING),
    ):
        with pytest.raises(FileInTheWay, match="behind a symbolic link"):
            act()
    assert (outside / "x").read_bytes() == (outside / "deep/x").read_bytes() == b"keep"
    assert names(outside) == ["deep", "x"]


@pytest.mark.parametrize("path", ["../x", "a/../../x", "/etc/x", "", ".", "a//b", "a/", "nul\0"])
def test_odd_paths_are_refused(top: Path, source: Path, path: str) -> None:
    with pytest.raises(FileInTheWay):
        put_file(str(top), path, source, 0o100644, NOTHING)
    with pytest.raises(FileInTheWay):
        take_away(str(top), path, NOTHING)


def test_a_directory_with_something_in_it_stays(top: Path, source: Path) -> None:
    (top / "full").mkdir()
    (top / "full/x").write_bytes(b"x")
    (top / "empty").mkdir()
    with pytest.raises(FileInTheWay):
        put_file(str(top), "full", source, 0o100644, NOTHING)
    with pytest.raises(FileInTheWay):
        take_away(str(top), "full", NOTHING)
    put_file(str(top), "empty", source, 0o100644, NOTHING)
    assert names(top) == ["empty", "full"]
    assert (top / "empty").is_file()


def test_taking_away_what_is_gone_is_no_matter(top: Path) -> None:
    take_away(str(top), "x", NOTHING)
    take_away(str(top), "no/such/x", NOTHING)
    (top / "x").symlink_to("/etc/passwd")
    take_away(str(top), "x", NOTHING)
    assert names(top) == []


def test_reading(top: Path) -> None:
    (top / "x").write_bytes(b"12345")
    found = read_file(str(top), "x", 5, NOTHING)
    assert found is not None
    assert (found.data, found.mode) == (b"12345", 0o100644)
    assert read_file(str(top), "no/such", 5, NOTHING) is None
    assert read_file(str(top), "x/below", 5, NOTHING) is None
    with pytest.raises(FileTooLarge):
        read_file(str(top), "x", 4, NOTHING)
    os.mkfifo(top / "pipe")
    with pytest.raises(FileInTheWay, match="not a file"):
        read_file(str(top), "pipe", 5, NOTHING)


def test_what_made_room_in_vain_is_put_back(top: Path, source: Path) -> None:
    (top / "a/deep").mkdir(parents=True)
    (top / "a/deep/x").write_bytes(b"x")
    with taken_away(str(top), "a/deep/x", NOTHING, stays=0):
        put_file(str(top), "a", source, 0o100644, NOTHING)
    assert names(top) == ["a"]
    assert (top / "a").read_bytes() == b"content"
    (top / "b/deep").mkdir(parents=True)
    (top / "b/deep/x").write_bytes(b"x")
    (top / "b/other").write_bytes(b"other")
    with pytest.raises(FileInTheWay), taken_away(str(top), "b/deep/x", NOTHING, stays=0):
        put_file(str(top), "b", source, 0o100644, NOTHING)
    assert names(top) == ["a", "b"]
    assert (top / "b/deep/x").read_bytes() == b"x"
    with pytest.raises(FileInTheWay), taken_away(str(top), "b/no/such", NOTHING, stays=0):
        pytest.fail("there is nothing to take away")
    assert names(top) == ["a", "b"]


def test_empty_folders_go_as_far_as_they_are_empty_and_may(top: Path, tmp_path: Path) -> None:
    (top / "a/b/c/d").mkdir(parents=True)
    remove_empty_folders(str(top), "a/b/c/d/x", NOTHING, stays=2)
    assert names(top / "a/b") == []
    (top / "a/other").write_bytes(b"x")
    remove_empty_folders(str(top), "a/b/x", NOTHING, stays=0)
    assert names(top / "a") == ["other"]
    outside = tmp_path / "outside/in"
    outside.mkdir(parents=True)
    (top / "way").symlink_to(outside.parent)
    remove_empty_folders(str(top), "way/in/x", NOTHING, stays=0)
    assert outside.is_dir()
    own = top / "own"
    own.mkdir()
    remove_empty_folders(str(top), "own/x", Closed(own), stays=0)
    assert own.is_dir()


def test_a_file_is_shared_with_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_names: object) -> None:
        raise PermissionError

    source, target = tmp_path / "one/x", tmp_path / "other/deep/x"
    source.parent.mkdir()
    share(source, target)
    assert not target.exists()
    source.write_bytes(b"x")
    share(source, target)
    share(source, target)
    assert target.stat().st_ino == source.stat().st_ino
    monkeypatch.setattr(os, "link", no_links)
    share(source, tmp_path / "copy")
    assert (tmp_path / "copy").read_bytes() == b"x"
    assert names(target.parent) == ["x"]


# -- what was not looked at stays --------------------------------------------------------------------------


def known(data: bytes) -> Expected:
    return Expected(Found(data, 0).digest)


def test_a_file_that_is_not_what_was_expected_stays(top: Path, source: Path) -> None:
    file = top / "x"
    file.write_bytes(b"later")
    for act in (
        lambda: put_file(str(top), "x", source, 0o100644, NOTHING, expected=known(b"seen")),
        lambda: put_file(str(top), "x", source, 0o100644, NOTHING, expected=Expected(None)),
        lambda: put_link(str(top), "x", b"y", NOTHING, expected=known(b"seen")),
        lambda: put_link(str(top), "x", b"y", NOTHING, expected=Expected(known(b"later").content, True)),
        lambda: take_away(str(top), "x", NOTHING, expected=known(b"seen")),
    ):
        inode = file.stat().st_ino
        with pytest.raises(FileInTheWay, match="has changed since it was looked at"):
            act()
        assert (file.read_bytes(), file.stat().st_ino) == (b"later", inode)
        assert names(top) == ["x"]
    with pytest.raises(FileInTheWay, match="has changed"):
        put_file(str(top), "gone", source, 0o100644, NOTHING, expected=known(b"seen"))
    assert names(top) == ["x"]


def test_a_file_that_is_what_was_expected_is_replaced(top: Path, source: Path) -> None:
    (top / "x").write_bytes(b"seen")
    put_file(str(top), "x", source, 0o100644, NOTHING, expected=known(b"seen"))
    assert (top / "x").read_bytes() == b"content"
    put_link(str(top), "x", b"to", NOTHING, expected=known(b"content"))
    put_file(str(top), "x", source, 0o100644, NOTHING, expected=Expected(known(b"to").content, is_link=True))
    take_away(str(top), "x", NOTHING, expected=known(b"content"))
    put_file(str(top), "x", source, 0o100644, NOTHING, expected=Expected(None))
    assert (top / "x").read_bytes() == b"content"
    assert names(top) == ["x"]


@pytest.mark.parametrize("is_recent", [True, False])
def test_what_is_written_between_the_look_and_the_move_goes_back(
    top: Path, is_recent: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = top / "x"
    file.write_bytes(b"seen")
    if not is_recent:
        os.utime(file, (1_000_000_000, 1_000_000_000))
    times = file.stat()
    rename = os.rename

    def write_and_rename(source: str, target: str, **handles: int) -> None:
        file.write_bytes(b"late")
        if is_recent:
            os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))  # within one tick of the clock
        rename(source, target, **handles)

    monkeypatch.setattr(os, "rename", write_and_rename)
    with pytest.raises(FileInTheWay, match="has changed since it was looked at"):
        take_away(str(top), "x", NOTHING, expected=known(b"seen"))
    assert file.read_bytes() == b"late"
    assert names(top) == ["x"]


def test_a_file_is_known_by_what_git_knows_it_by(top: Path) -> None:
    (top / "x").write_bytes(b"content\n")
    take_away(
        str(top),
        "x",
        NOTHING,
        expected=Expected("d95f3ad14dee633a758d2e331151e950dd13e4ed", object_format="sha1"),
    )
    assert names(top) == []


def test_what_comes_to_a_name_meanwhile_stays_and_so_does_what_was_there(top: Path) -> None:
    (top / "x").write_bytes(b"first")

    def fail_while_it_is_away() -> None:
        with taken_away(str(top), "x", NOTHING, expected=known(b"first")):
            (top / "x").write_bytes(b"came meanwhile")
            raise FileInTheWay("the rest cannot be done")

    with pytest.raises(FileInTheWay, match=r"what was there is at \.serai-"):
        fail_while_it_is_away()
    assert (top / "x").read_bytes() == b"came meanwhile"
    [left] = [file for file in top.iterdir() if file.name != "x"]
    assert left.read_bytes() == b"first"


def test_a_file_system_without_hard_links_will_do(
    top: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_names: object, **_handles: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", no_links)
    (top / "x").write_bytes(b"seen")
    put_file(str(top), "x", source, 0o100644, NOTHING, expected=known(b"seen"))
    with pytest.raises(FileInTheWay, match="has changed"):
        take_away(str(top), "x", NOTHING, expected=known(b"seen"))
    assert (top / "x").read_bytes() == b"content"
    assert names(top) == ["x"]


# -- permissions -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("there", "mode", "given", "found"),
    [
        (0o600, 0o100644, None, 0o600),
        (0o640, 0o100755, None, 0o750),
        (0o755, 0o100644, None, 0o644),
        (0o644, 0o100644, 0o600, 0o600),
        (0o600, 0o100644, 0o664, 0o664),
        (None, 0o100644, 0o640, 0o640),
    ],
)
def test_a_file_has_the_permissions_of_the_one_that_it_replaces_or_those_that_are_known(
    top: Path, source: Path, there: int | None, mode: int, given: int | None, found: int
) -> None:
    if there is not None:
        (top / "x").write_bytes(b"old")
        (top / "x").chmod(there)
    put_file(str(top), "x", source, mode, NOTHING, permissions=given)
    assert (top / "x").stat().st_mode & 0o777 == found


def test_a_file_keeps_what_is_attached_to_it(top: Path, source: Path) -> None:
    (top / "x").write_bytes(b"old")
    try:
        os.setxattr(top / "x", "user.mine", b"value")
    except (AttributeError, OSError):
        pytest.skip("this file system has no attributes")
    put_file(str(top), "x", source, 0o100644, NOTHING)
    assert os.getxattr(top / "x", "user.mine") == b"value"
