"""`resourceMove`."""

from __future__ import annotations

import errno
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from machine.files.desk import CONFLICT, DENIED, EXISTS, INVALID, NOT_FOUND, SECRET, Desk, contents, refused
from serai.errors import ProtocolError
from serai.machine.files import Root, copying, kernel, moving, trees
from serai.machine.files.originals import Original


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


def test_nothing_is_moved_onto_another_name_of_the_same_file(desk: Desk) -> None:
    """The system does nothing then, and says that it did."""
    (desk.work / "a").write_text("a")
    (desk.work / "b").hardlink_to(desk.work / "a")
    with refused(DENIED):
        desk.move(desk.work / "a", desk.work / "b")
    assert list(contents(desk.work)) == ["a", "b"]
    desk.move(desk.work / "a", desk.work / "a")
    desk.move(desk.work / "a", desk.work / "c")
    assert list(contents(desk.work)) == ["b", "c"]


# -- from one file system to another -----------------------------------------------------------------------


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


def test_what_is_moved_to_another_file_system_keeps_its_times(desk: Desk, elsewhere: Path) -> None:
    (desk.work / "box" / "deep").mkdir(parents=True)
    (desk.work / "box" / "deep" / "a").write_text("a")
    (desk.work / "box" / "link").symlink_to("deep")
    (desk.work / "file").write_text("x")
    (desk.work / "link").symlink_to("file")
    for name in ("box/deep/a", "box/deep", "box/link", "box", "file", "link"):
        os.utime(desk.work / name, (1e9, 1e9), follow_symlinks=False)
    for name in ("box", "file", "link"):
        desk.move(desk.work / name, elsewhere / name)
    assert {path.lstat().st_mtime for path in elsewhere.rglob("*")} == {1e9}


def test_a_private_file_stays_private_on_another_file_system(desk: Desk, elsewhere: Path) -> None:
    for name, mode in (("key", 0o600), ("tool", 0o755)):
        (desk.work / name).write_text(SECRET)
        (desk.work / name).chmod(mode)
        (elsewhere / name).write_text("public")
        (elsewhere / name).chmod(0o644)
        desk.move(desk.work / name, elsewhere / name)
        assert stat.S_IMODE((elsewhere / name).stat().st_mode) == mode


def test_what_a_person_attached_to_a_file_goes_with_it_to_another_file_system(
    desk: Desk, elsewhere: Path
) -> None:
    (desk.work / "box").mkdir()
    for path in (desk.work / "box" / "in", desk.work / "new", desk.work / "over", elsewhere / "over"):
        path.write_text("x")
    try:
        for path in (desk.work / "box" / "in", desk.work / "box", desk.work / "new", desk.work / "over"):
            os.setxattr(path, "user.of", b"mine")
        os.setxattr(elsewhere / "over", "user.other", b"theirs")
        os.setxattr(elsewhere / "over", "user.of", b"theirs")
    except OSError:
        pytest.skip("these file systems have no attributes")
    for name in ("box", "new", "over"):
        desk.move(desk.work / name, elsewhere / name)
    for name in ("box", "box/in", "new", "over"):
        assert os.listxattr(elsewhere / name) == ["user.of"]
        assert os.getxattr(elsewhere / name, "user.of") == b"mine"


def test_a_directory_takes_the_place_of_an_empty_one_on_another_file_system(
    desk: Desk, elsewhere: Path
) -> None:
    (desk.work / "box").mkdir()
    (desk.work / "box" / "a").write_text("a")
    (elsewhere / "empty").mkdir()
    (elsewhere / "full" / "in").mkdir(parents=True)
    (elsewhere / "file").write_text("f")
    before = contents(elsewhere)
    for name in ("full", "file"):
        with refused(EXISTS):
            desk.move(desk.work / "box", elsewhere / name)
    with refused(EXISTS):
        desk.move(desk.work / "box", elsewhere / "empty", fail_if_exists=True)
    assert contents(elsewhere) == before
    desk.move(desk.work / "box", elsewhere / "empty")
    assert (elsewhere / "empty" / "a").read_text() == "a"
    assert contents(desk.work) == {}


def when(call: str, module: Any, do: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    """Another program does something right after a part of the move is done."""
    real = getattr(module, call)

    def and_then(*args: Any, **kwargs: Any) -> Any:
        result = real(*args, **kwargs)
        do()
        return result

    monkeypatch.setattr(module, call, and_then)


def replace_directory(box: Path) -> None:
    (box / "deep").rename(box.parent / "away")
    (box / "deep").mkdir()
    (box / "deep" / "a").write_text("another")


CHANGES: dict[str, Callable[[Path], object]] = {
    "a new file": lambda box: (box / "deep" / "new").write_text("new"),
    "a new directory": lambda box: (box / "deep" / "new").mkdir(),
    "an edit": lambda box: (box / "deep" / "a").write_text("edited"),
    "a file that is gone": lambda box: (box / "deep" / "a").unlink(),
    "another name": lambda box: (box / "deep" / "a").rename(box / "deep" / "b"),
    "another directory": replace_directory,
    "another link": lambda box: ((box / "link").unlink(), (box / "link").symlink_to("b")),
}


def box_in(folder: Path) -> Path:
    box = folder / "box"
    (box / "deep").mkdir(parents=True)
    (box / "deep" / "a").write_text("a")
    (box / "file").write_text("x")
    (box / "link").symlink_to("a")
    for path in box.rglob("*"):  # what comes later is told by its time, which may not be fine
        os.utime(path, (1e9, 1e9), follow_symlinks=False)
    return box


@pytest.mark.parametrize("change", CHANGES)
def test_a_directory_that_is_changed_while_it_is_copied_is_not_moved(
    desk: Desk, elsewhere: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = box_in(desk.work)
    when("copy_tree", copying, lambda: CHANGES[change](box), monkeypatch)
    with refused(CONFLICT):
        desk.move(box, elsewhere / "box")
    assert contents(elsewhere) == {}
    reference = box_in(desk.library)
    CHANGES[change](reference)
    assert contents(box) == contents(reference)


@pytest.mark.parametrize("change", [change for change in CHANGES if change != "a file that is gone"])
def test_what_is_changed_while_the_original_is_removed_stays(
    desk: Desk, elsewhere: Path, change: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = box_in(desk.work)
    before = contents(box)
    when("duplicate", moving, lambda: CHANGES[change](box), monkeypatch)
    with refused(CONFLICT):
        desk.move(box, elsewhere / "box")
    assert contents(elsewhere / "box") == before, "a copy is there"
    reference = box_in(desk.library)
    CHANGES[change](reference)
    after = contents(reference)
    for name in {name for name in after if after[name] != before.get(name)}:
        assert contents(box)[name] == after[name], "what is not in the copy is where it was"


def test_a_file_that_is_changed_while_it_is_copied_stays(
    desk: Desk, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk.work / "a").write_text("a")
    os.utime(desk.work / "a", (1e9, 1e9))
    when("duplicate", moving, lambda: (desk.work / "a").write_text("b"), monkeypatch)
    with refused(CONFLICT):
        desk.move(desk.work / "a", elsewhere / "a")
    assert ((desk.work / "a").read_text(), (elsewhere / "a").read_text()) == ("b", "a")


def test_what_goes_while_a_directory_is_copied_is_a_conflict_of_the_source(
    desk: Desk, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = box_in(desk.work)
    names_in = trees.names_in

    def names_and_one_more(directory: int) -> list[str]:
        return [*names_in(directory), "was here a moment ago"]

    monkeypatch.setattr(trees, "names_in", names_and_one_more)
    with refused(CONFLICT, match=re.escape(box.as_uri())):
        desk.move(box, elsewhere / "box")
    assert contents(elsewhere) == {}


def test_that_the_original_could_not_be_removed_is_said_with_where_the_copy_is(
    desk: Desk, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = box_in(desk.work)
    before = contents(box)

    def fail(*_args: Any) -> bool:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(moving, "remove_original", fail)
    with refused(CONFLICT, match=r"could not be removed \(Permission denied\); there is a copy now"):
        desk.move(box, elsewhere / "box")
    assert contents(box) == contents(elsewhere / "box") == before


@pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may do everything")
@pytest.mark.parametrize("fixed", [".", "box", "box/deep"])
def test_what_cannot_be_removed_is_not_copied(desk: Desk, elsewhere: Path, fixed: str) -> None:
    (desk.work / "box/deep").mkdir(parents=True)
    (desk.work / "box/deep/a").write_text("a")
    before = contents(desk.work)
    (desk.work / fixed).chmod(0o555)
    try:
        with refused(DENIED, match="may not be written"):
            desk.move(desk.work / "box", elsewhere / "box")
        assert contents(elsewhere) == {}
    finally:
        (desk.work / fixed).chmod(0o755)
    assert contents(desk.work) == before


def test_a_directory_keeps_its_bits_on_another_file_system(desk: Desk, elsewhere: Path) -> None:
    box = box_in(desk.work)
    box.chmod(0o1777)
    (box / "deep").chmod(0o2750)
    desk.move(box, elsewhere / "box")
    modes = [stat.S_IMODE((elsewhere / name).stat().st_mode) for name in ("box", "box/deep")]
    assert [oct(mode) for mode in modes] == ["0o1777", "0o2750"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can give files away")
def test_all_of_a_directory_keeps_its_owner_on_another_file_system(desk: Desk, elsewhere: Path) -> None:
    (desk.work / "box/deep").mkdir(parents=True)
    (desk.work / "box/deep/a").write_text("a")
    (desk.work / "box/link").symlink_to("deep")
    for path in (desk.work / "box", *(desk.work / "box").rglob("*")):
        os.chown(path, 1234, 5678, follow_symlinks=False)
    desk.move(desk.work / "box", elsewhere / "box")
    moved = [elsewhere / "box", *(elsewhere / "box").rglob("*")]
    assert {(path.lstat().st_uid, path.lstat().st_gid) for path in moved} == {(1234, 5678)}
    assert len(moved) == 4


def test_the_copy_of_a_directory_is_on_the_disk_before_the_original_goes(
    desk: Desk, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    box = box_in(desk.work)

    def fail(_descriptor: int) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(copying, "sync_file_system", fail)
    before = contents(box)
    with pytest.raises(ProtocolError, match="Input/output"):
        desk.move(box, elsewhere / "box")
    assert contents(box) == before
    assert contents(elsewhere) == {}


def test_what_is_mounted_in_a_directory_does_not_go_with_it(desk: Desk, elsewhere: Path) -> None:
    box = box_in(desk.work)
    (elsewhere / "copy").mkdir()
    source, copy = (os.open(path, os.O_RDONLY) for path in (box, elsewhere / "copy"))
    try:
        with refused(DENIED) as caught:  # as if all in it were mounted: the directory itself is elsewhere
            trees.copy_tree(source, copy, "file:///box", Original((0, 0)))
    finally:
        os.close(source)
        os.close(copy)
    assert "something is mounted there, at 'deep'" in str(caught.value)


def test_it_also_works_where_the_system_can_only_sync_all(
    desk: Desk, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[bool] = []
    monkeypatch.setattr(kernel, "_syncfs", None)
    monkeypatch.setattr(os, "sync", lambda: synced.append(True))
    desk.move(box_in(desk.work), elsewhere / "box")
    assert synced == [True]
