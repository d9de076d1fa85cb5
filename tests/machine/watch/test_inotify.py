"""An inotify instance."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

if sys.platform != "linux":
    pytest.skip("about inotify", allow_module_level=True)

from serai.machine.watch.inotify import Inotify


@pytest.fixture
def inotify(tmp_path: Path) -> Iterator[Inotify]:
    inotify = Inotify(str(tmp_path))
    yield inotify
    inotify.close()


@pytest.fixture
def wake() -> Iterator[int]:
    descriptor = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
    yield descriptor
    os.close(descriptor)


def test_a_folder_is_watched_by_its_handle(inotify: Inotify, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1")
    folder = os.open(tmp_path, os.O_RDONLY)
    again = os.open(tmp_path, os.O_RDONLY)
    file = os.open(tmp_path / "file", os.O_RDONLY)
    try:
        watch = inotify.add(str(tmp_path), folder)
        assert watch is not None
        assert inotify.add(str(tmp_path), again) == watch
        assert inotify.add(str(tmp_path / "file"), file) is None
    finally:
        for handle in (folder, again, file):
            os.close(handle)


def test_what_happens_is_told_with_its_name(inotify: Inotify, wake: int, tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    watch = inotify.add(str(tmp_path), folder)
    os.close(folder)
    assert watch is not None
    assert not inotify.wait(wake, 0.0)
    assert inotify.read() == []
    (tmp_path / "a").mkdir()
    (tmp_path / "a").rename(tmp_path / "b")
    assert inotify.wait(wake, 5.0)
    made, left, came = inotify.read()
    assert (made.watch, made.name, made.is_new, made.is_folder) == (watch, "a", True, True)
    assert (left.name, left.is_gone, left.is_moved_away, left.is_new) == ("a", True, True, False)
    assert (came.name, came.is_new, came.is_gone) == ("b", True, False)
    inotify.remove(watch)
    assert [told.is_last for told in inotify.read()] == [True]


def test_waiting_ends_when_another_descriptor_has_something(inotify: Inotify, wake: int) -> None:
    os.eventfd_write(wake, 1)
    assert not inotify.wait(wake, None)
