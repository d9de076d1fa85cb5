"""One inotify instance for many folders."""

from __future__ import annotations

import os
import queue
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError
from serai.machine.watch.events import WatchEvent

if sys.platform != "linux":
    pytest.skip("about inotify", allow_module_level=True)

from serai.machine.watch.inotify import Inotify, _Hub, watch_folder

ADDED, UPDATED, DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED
WITHIN = 30.0


class Listening:
    """A source, and what it has told."""

    def __init__(self, root: Path, prunes: Callable[[str], bool] = lambda _: False) -> None:
        self.root = root
        self.told_: queue.SimpleQueue[WatchEvent] = queue.SimpleQueue()
        self.open_: queue.SimpleQueue[None] = queue.SimpleQueue()
        self.over_: queue.SimpleQueue[ProtocolError | None] = queue.SimpleQueue()
        self.prunes = prunes
        self.stop: Callable[[], None] = lambda: None

    def opened(self) -> None:
        self.open_.put(None)

    def changed(self, events: Sequence[WatchEvent]) -> None:
        for event in events:
            self.told_.put(event)

    def ended(self, error: ProtocolError | None) -> None:
        self.over_.put(error)

    def start(self) -> None:
        self.stop = watch_folder(str(self.root), recursive=True, prunes=self.prunes, sink=self)

    def begin(self) -> Listening:
        self.start()
        self.open_.get(timeout=WITHIN)
        return self

    def end(self) -> ProtocolError | None:
        self.stop()
        return self.over_.get(timeout=WITHIN)

    def until(self, kind: ResourceChangeType, name: str) -> list[tuple[ResourceChangeType, str]]:
        """All that was told up to this, by names below the root."""
        seen: list[tuple[ResourceChangeType, str]] = []
        while not seen or seen[-1] != (kind, name):
            event = self.told_.get(timeout=WITHIN)
            seen.append((event.kind, event.path.removeprefix(str(self.root)).removeprefix("/")))
        return seen


@pytest.fixture
def listening(tmp_path: Path) -> Iterator[Listening]:
    (tmp_path / "root").mkdir()
    listening = Listening(tmp_path / "root", lambda path: path == "pruned")
    yield listening
    listening.stop()


def overflow(folder: Path) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    if most > 100_000:
        pytest.skip("NOT CHECKED: the system's queue is too long to fill")
    file = folder / "a"
    for _ in range(most):  # so that it is full, however much is read meanwhile
        os.close(os.open(file, os.O_CREAT))
        file.unlink()


def test_events_that_the_system_dropped_are_told_as_a_change_of_all(
    listening: Listening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "other").mkdir()
    root, other = listening.begin().root, Listening(tmp_path / "other").begin()
    look = _Hub._read_events
    held: queue.SimpleQueue[None] = queue.SimpleQueue()

    def look_when_full(self: _Hub) -> None:
        if not listening.told_.qsize():
            held.get(timeout=WITHIN * 4)
            held.put(None)
        look(self)

    monkeypatch.setattr(_Hub, "_read_events", look_when_full)
    overflow(root)
    (root / "new").mkdir()
    held.put(None)
    listening.until(UPDATED, "")
    other.until(UPDATED, "")
    (root / "new/b").write_text("1")
    listening.until(ADDED, "new/b")
    (other.root / "c").write_text("1")
    other.until(ADDED, "c")
    assert other.end() is None


def test_two_that_look_at_the_same_folder_are_both_told_and_one_may_go(listening: Listening) -> None:
    (listening.root / "in/deep").mkdir(parents=True)
    root = listening.begin().root
    inner = Listening(root / "in").begin()
    (root / "in/deep/a").write_text("1")
    listening.until(ADDED, "in/deep/a")
    inner.until(ADDED, "deep/a")
    assert inner.end() is None
    (root / "in/deep/b").write_text("1")
    listening.until(ADDED, "in/deep/b")


def test_a_folder_that_is_replaced_by_a_link_while_it_is_entered_leads_nowhere_else(
    listening: Listening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, outside = listening.root, tmp_path / "outside"
    (root / "a/b/c").mkdir(parents=True)
    (outside / "b/c").mkdir(parents=True)
    add = Inotify.add

    def swap(self: Inotify, path: str, handle: int) -> int | None:
        if path == str(root / "a/b"):
            (root / "a").rename(root / "other")
            (root / "a").symlink_to(outside)
        return add(self, path, handle)

    monkeypatch.setattr(Inotify, "add", swap)
    listening.begin()
    (outside / "b/secret").write_text("1")
    (outside / "b/c/secret").write_text("1")
    (root / "other/b/c/d").write_text("1")
    seen = listening.until(ADDED, "other/b/c/d")
    (root / "z").mkdir()
    seen += listening.until(ADDED, "z")
    assert not [name for _, name in seen if "secret" in name]
