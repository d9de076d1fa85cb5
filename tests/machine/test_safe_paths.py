"""The opener: a path below a root is opened there or not at all, whatever others do to it meanwhile."""

from __future__ import annotations

import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from serai.machine.safe_paths import (
    MAX_DEPTH,
    PathRefused,
    Walk,
    identity,
    open_below,
    parent_below,
    remove_tree,
)


@pytest.fixture
def root(tmp_path: Path) -> Iterator[Path]:
    (tmp_path / "secret").write_text("secret")
    folder = tmp_path / "root"
    (folder / "a" / "b").mkdir(parents=True)
    (folder / "a" / "b" / "file").write_text("inside")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else 0  # noqa: PTH208
    yield folder
    if before:
        assert len(os.listdir("/proc/self/fd")) == before, "a handle was left open"  # noqa: PTH208
    assert (tmp_path / "secret").read_text() == "secret"


def read(root: Path, path: str, *, links: bool = True) -> str:
    with os.fdopen(open_below(root, path, links=links)) as stream:
        return stream.read()


def test_a_path_is_opened_below_a_root(root: Path) -> None:
    assert read(root, "a/b/file") == read(root, "/a//b/./../b/file") == "inside"


@pytest.mark.parametrize("target", ["b/file", "../a/b/file", "{root}/a/b/file", "{root}/a/../a/b/file"])
def test_a_link_that_stays_inside_is_followed_or_refused_as_asked(root: Path, target: str) -> None:
    (root / "a" / "link").symlink_to(target.format(root=root))
    assert read(root, "a/link") == "inside"
    with pytest.raises(PathRefused):
        read(root, "a/link", links=False)


@pytest.mark.parametrize("target", ["../secret", "{root}/../secret", "/etc", "a/../../secret", "link"])
def test_a_path_that_leads_out_or_in_a_circle_is_refused(root: Path, target: str) -> None:
    (root / "link").symlink_to(target.format(root=root))
    with pytest.raises(PathRefused):
        read(root, "link")
    with pytest.raises(PathRefused), parent_below(root, "link/x"):
        pass
    with pytest.raises(PathRefused):
        read(root, "../secret")


def test_devices_pipes_sockets_and_views_of_the_kernel_are_refused(root: Path) -> None:
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(root / "socket"))
        for path in ("pipe", "socket"):
            with pytest.raises(PathRefused, match="device, a pipe or a socket"):
                read(root, path)
    with pytest.raises(PathRefused):
        open_below("/", "dev/null")
    if Path("/proc/self/status").exists():
        with pytest.raises(PathRefused, match="view of the system"):
            open_below("/", "proc/self/status")


def test_a_directory_to_avoid_is_neither_entered_nor_given(root: Path) -> None:
    own = {identity((root / "a" / "b").stat())}
    for path in ("a/b", "a/b/file"):
        with pytest.raises(PathRefused, match="host itself"), Walk(root, path, avoid=own) as walk:
            walk.go(follow=False)


def test_who_writes_gets_the_directory_and_the_name_in_it(root: Path) -> None:
    with pytest.raises(FileNotFoundError), parent_below(root, "new/folder/file"):
        pass
    with parent_below(root, "a/b/new") as (directory, name):
        os.close(os.open(name, os.O_CREAT | os.O_WRONLY, dir_fd=directory))
    assert (root / "a" / "b" / "new").is_file()
    with pytest.raises(NotADirectoryError), parent_below(root, "a/b/file/x"):
        pass


def test_a_tree_goes_with_its_links_and_nothing_behind_them(root: Path) -> None:
    (root / "a" / "out").symlink_to(root.parent)
    (root / "a" / "b" / "closed").mkdir(mode=stat.S_IRWXU)
    handle = open_below(root.parent, "root/a/..")
    try:
        remove_tree(handle, "a")
        assert not (root / "a").exists()
        deep = root / "deep"
        deep.joinpath(*["d"] * (MAX_DEPTH + 1)).mkdir(parents=True)
        with pytest.raises(PathRefused, match="deep"):
            remove_tree(handle, "deep")
    finally:
        os.close(handle)
