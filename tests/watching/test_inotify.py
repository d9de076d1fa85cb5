"""What Linux tells, without a thread between."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError

if sys.platform != "linux":
    pytest.skip("about inotify", allow_module_level=True)

from serai.watching.inotify import Inotify

ADDED, UPDATED, DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED


@pytest.fixture
def source(tmp_path: Path) -> Iterator[Inotify]:
    source = Inotify(str(tmp_path), recursive=True, prunes=lambda path: path == "pruned")
    yield source
    source.close()


def test_events_that_the_system_dropped_are_told_as_a_change_of_all(source: Inotify, tmp_path: Path) -> None:
    source.open()
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip("NOT CHECKED: the system's queue is too long to fill")
    file = tmp_path / "a"
    for _ in range(most // 2 + 1):
        os.close(os.open(file, os.O_CREAT))
        file.unlink()
    (tmp_path / "new").mkdir()
    seen: list[tuple[ResourceChangeType, str]] = []
    while (UPDATED, str(tmp_path)) not in seen:
        seen += source.read()
    (tmp_path / "new" / "b").write_text("1")
    while (ADDED, str(tmp_path / "new" / "b")) not in seen:
        seen += source.read()


def test_a_pruned_folder_is_told_and_not_looked_into(source: Inotify, tmp_path: Path) -> None:
    source.open()
    (tmp_path / "pruned").mkdir()
    (tmp_path / "pruned" / "a").write_text("1")
    (tmp_path / "z").mkdir()
    seen: list[tuple[ResourceChangeType, str]] = []
    while (ADDED, str(tmp_path / "z")) not in seen:
        seen += source.read()
    assert seen == [(ADDED, str(tmp_path / "pruned")), (ADDED, str(tmp_path / "z"))]


def test_things_are_told_in_the_order_in_which_they_happened(source: Inotify, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("1")
    source.open()
    (tmp_path / "a").unlink()
    (tmp_path / "a").mkdir()
    (tmp_path / "a").rmdir()
    seen: list[tuple[ResourceChangeType, str]] = []
    while len(seen) < 3:
        seen += source.read()
    assert [kind for kind, _ in seen] == [DELETED, ADDED, DELETED]


def test_it_stops_while_it_waits_and_before(source: Inotify) -> None:
    source.open()
    source.stop()
    assert source.read() == []


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1")
    source = Inotify(str(tmp_path / "file"), recursive=True, prunes=lambda _: False)
    with pytest.raises(ProtocolError):
        source.open()
    source.close()


def test_a_folder_that_has_become_a_link_is_passed_over(source: Inotify, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")
    source.open()
    assert source._watch(str(tmp_path / "folder")) is not None
    assert source._watch(str(tmp_path / "link")) is None
