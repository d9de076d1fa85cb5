"""One inotify instance, and one thread, for all that is watched in this process.

The system gives a person few instances (128 by default) and many watches, so all folders share one. It is
there while anything is watched. A folder that is watched for several has one watch all the same.

Large trees are entered a few folders at a time, and what the others are to be told is not kept waiting.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator

from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import ResourceChangeType
from serai.errors import ProtocolError
from serai.machine.watch.failures import not_found, watch_failed
from serai.machine.watch.folders import Identity
from serai.machine.watch.inotify import Inotify, Told
from serai.machine.watch.source import LONGEST, QUIET, Event, Sink
from serai.machine.watch.tree import Folder, Tree

__all__ = ["Hub", "HubSource"]

_UPDATED, _DELETED = ResourceChangeType.UPDATED, ResourceChangeType.DELETED

_SLICE = 0.005
"""So long folders are entered before the events are looked at again, in seconds."""


class HubSource:
    """A `Source` on Linux.

    Args:
        root: The folder, without links in its path.
        recursive: Whether what is in its folders is meant too.
        prunes: Which folders below, relative to the root, are left out with all that is in them.
    """

    def __init__(self, root: str, *, recursive: bool, prunes: Callable[[str], bool]) -> None:
        self._root = root
        self._recursive = recursive
        self._prunes = prunes
        self._lock = threading.Lock()
        self._stopped = False
        self._tree: Tree | None = None
        self._hub: Hub | None = None

    def start(self, sink: Sink) -> None:
        """See `Source`."""
        with self._lock:
            if not self._stopped:
                self._tree = Tree(self._root, recursive=self._recursive, prunes=self._prunes, sink=sink)
                self._hub = Hub.with_tree(self._tree)
                return
        sink.over(None)

    def stop(self) -> None:
        """See `Source`."""
        with self._lock:
            was_stopped, self._stopped = self._stopped, True
            if self._hub is not None and self._tree is not None and not was_stopped:
                self._hub.drop(self._tree)

    def join(self) -> None:
        """See `Source`."""
        if self._hub is not None:
            self._hub.join()


class Hub:
    """The instance, the thread, and the trees that they are for. Made by `Hub.with_tree`."""

    _current: Hub | None = None
    _guard = threading.Lock()

    def __init__(self) -> None:
        self._inotify: Inotify | None = None
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)
        self._asked: deque[tuple[Tree, bool]] = deque()
        """Trees that come, and trees that go. This, and whether it is over, `_guard` guards."""
        self._is_over = False
        self._trees: dict[Tree, bool] = {}
        """All of them, and whether they were entered once."""
        self._gone: list[tuple[Tree, ProtocolError | None]] = []
        """Those whose sinks are to be told that it is over, and why."""
        self._folders: dict[int, list[Folder]] = {}
        """Who wants to hear of which watch."""
        self._first_at = self._last_at = 0.0
        """When the first and the last thing has happened that is not told yet; the first is 0 without any."""
        self._thread = threading.Thread(target=self._run, name="watch folders", daemon=True)
        self._thread.start()

    @classmethod
    def with_tree(cls, tree: Tree) -> Hub:
        """Watch a tree: with the hub that there is, or a new one."""
        with cls._guard:
            hub = cls._current
            if hub is None or not hub.is_alive:
                hub = cls._current = cls()
            hub.ask(tree, comes=True)
            return hub

    @property
    def is_alive(self) -> bool:
        """Whether it takes more trees. After a fork it does not: its thread was left behind."""
        return not self._is_over and self._thread.is_alive()

    def drop(self, tree: Tree) -> None:
        """Watch a tree no more. Its sink is told when that is so. Any thread may call it."""
        with self._guard:
            if not self._is_over:
                self.ask(tree, comes=False)

    def join(self) -> None:
        """Wait for the thread, if it is about to end."""
        if self._is_over and threading.current_thread() is not self._thread:
            self._thread.join()

    def ask(self, tree: Tree, *, comes: bool) -> None:
        """Have the thread take a tree in, or drop it. For who holds `_guard`."""
        self._asked.append((tree, comes))
        os.eventfd_write(self._wake, 1)

    # -- the thread ----------------------------------------------------------------------------------------

    def _run(self) -> None:
        try:
            while not self._ends():
                self._say_over()
                self._enter_some()
                if self._inotify is not None:
                    if self._inotify.wait(self._wake, self._patience()):
                        self._look(self._inotify)
                    self._tell_if_due()
        except Exception as error:  # noqa: BLE001 - whatever it is, those who wait must hear of it
            self._give_up(repr(error))
        os.close(self._wake)
        self._say_over()

    def _ends(self) -> bool:
        """Take up what was asked. Says whether there is nothing left to do."""
        with self._guard:
            asked = list(self._asked)
            self._asked.clear()
            if asked:
                os.eventfd_read(self._wake)
        for tree, comes in asked:
            if comes:
                self._take_in(tree)
            elif tree in self._trees:
                self._drop(tree, None)
        with self._guard:
            self._is_over = not self._trees and not self._asked
            return self._is_over

    def _take_in(self, tree: Tree) -> None:
        try:
            self._inotify = self._inotify or Inotify(tree.root)
        except ProtocolError as error:
            self._gone.append((tree, error))
        else:
            self._trees[tree] = False
            tree.walks.append(tree.enter(self, tree.root))

    def _give_up(self, reason: str) -> None:
        with self._guard:
            self._is_over = True
            coming = [tree for tree, comes in self._asked if comes]
        for tree in list(self._trees):
            self._drop(tree, watch_failed(tree.root, reason))
        self._gone += ((tree, watch_failed(tree.root, reason)) for tree in coming)

    def _say_over(self) -> None:
        gone, self._gone = self._gone, []
        for tree, error in gone:
            tree.sink.over(error)

    def _drop(self, tree: Tree, error: ProtocolError | None) -> None:
        """Watch a tree no more; its sink is told soon."""
        del self._trees[tree]
        self._gone.append((tree, error))
        tree.walks.clear()
        if self._trees:
            for folder in list(tree.folders.values()):
                self.leave(folder)
        elif self._inotify is not None:  # all watches are given back at once
            self._inotify.close()
            self._inotify = None
            self._folders.clear()
        tree.folders.clear()

    def _fail(self, tree: Tree, error: ProtocolError) -> None:
        """A tree cannot be watched any further. What has happened until now is told first."""
        events, tree.events = tree.events, []
        self._drop(tree, error)
        if events:
            with contextlib.suppress(Exception):  # it is about to end anyway
                tree.sink.told(events)

    # -- watches -------------------------------------------------------------------------------------------

    def add(self, path: str, handle: int) -> int | None:
        """See `Warden`."""
        return self._inotify.add(path, handle) if self._inotify is not None else None

    def take(self, folder: Folder) -> None:
        """See `Warden`."""
        self._folders.setdefault(folder.watch, []).append(folder)

    def leave(self, folder: Folder) -> None:
        """See `Warden`."""
        others = self._folders.get(folder.watch)
        if others is None or folder not in others:
            return
        others.remove(folder)
        if not others:
            del self._folders[folder.watch]
            if self._inotify is not None:
                self._inotify.remove(folder.watch)

    # -- entering ------------------------------------------------------------------------------------------

    def _enter_some(self) -> None:
        """Enter folders for a moment, of every tree that is being entered."""
        end = time.monotonic() + _SLICE
        waiting = deque(tree for tree in self._trees if tree.walks)
        while waiting:
            tree = waiting.popleft()
            try:
                if self._is_entered(tree):
                    continue
            except ProtocolError as error:
                self._fail(tree, error)
                continue
            except Exception as error:  # noqa: BLE001 - whatever it is, the others must not suffer from it
                self._fail(tree, watch_failed(tree.root, repr(error)))
                continue
            waiting.append(tree)
            if time.monotonic() > end:
                return

    def _is_entered(self, tree: Tree) -> bool:
        """Go one step further. Says whether that was the last."""
        for _ in tree.walks[0]:
            break
        else:
            tree.walks.popleft()
        if tree.events:
            self._has_happened()
        if tree.walks:
            return False
        if not self._trees[tree]:
            identity = self._root_of(tree)
            self._trees[tree] = True
            tree.sink.opened(identity)
        return True

    @staticmethod
    def _root_of(tree: Tree) -> Identity:
        """What is watched as the root of a tree."""
        if not tree.is_rooted or tree.identity is None:
            # Paths are plain strings here, for names of any bytes.
            exists = os.path.isdir(tree.root) and os.path.realpath(tree.root) == tree.root  # noqa: PTH112
            raise watch_failed(tree.root, "it may not be read") if exists else not_found(tree.root)
        return tree.identity

    # -- events --------------------------------------------------------------------------------------------

    def _look(self, inotify: Inotify) -> None:
        for told in inotify.read():
            if told.is_overflow:
                self._begin_again(inotify)
                return
            self._dispatch(told)

    def _dispatch(self, told: Told) -> None:
        if told.is_last:
            for folder in self._folders.pop(told.watch, ()):
                folder.tree.forget(folder)
            return
        for folder in tuple(self._folders.get(told.watch, ())):
            try:
                folder.tree.understand(self, folder, told)
            except Exception as error:  # noqa: BLE001 - the same
                self._fail(folder.tree, watch_failed(folder.tree.root, repr(error)))
                continue
            if folder.tree.events:
                self._has_happened()

    def _begin_again(self, inotify: Inotify) -> None:
        """The system has dropped events: watch from scratch, and tell that all may have changed."""
        inotify.close()
        self._inotify = None
        self._folders.clear()
        for tree in self._trees:
            tree.folders.clear()
            tree.walks.clear()
        for tree in list(self._trees):
            try:
                self._inotify = self._inotify or Inotify(tree.root)
            except ProtocolError as error:
                self._fail(tree, error)
                continue
            tree.walks.append(tree.enter(self, tree.root))
            if self._trees[tree]:
                tree.walks.append(self._entered_again(tree, tree.identity))

    def _entered_again(self, tree: Tree, before: Identity | None) -> Iterator[None]:
        try:
            identity = self._root_of(tree)
        except ProtocolError as error:
            if error.number != AhpErrorCode.NOT_FOUND:
                raise
            tree.events.append(Event(_DELETED, tree.root))
        else:
            tree.events.append(Event(_UPDATED if identity == before else _DELETED, tree.root))
        yield

    def _has_happened(self) -> None:
        self._last_at = time.monotonic()
        self._first_at = self._first_at or self._last_at

    def _patience(self) -> float | None:
        """How long may be waited for the next event."""
        if self._gone or any(tree.walks for tree in self._trees):
            return 0.0
        if not self._first_at:
            return None
        return max(0.0, self._due() - time.monotonic())

    def _due(self) -> float:
        return min(self._first_at + LONGEST, self._last_at + QUIET)

    def _tell_if_due(self) -> None:
        if not self._first_at or time.monotonic() < self._due():
            return
        self._first_at = 0.0
        for tree in list(self._trees):
            events, tree.events = tree.events, []
            if not events:
                continue
            try:
                tree.sink.told(events)
            except Exception as error:  # noqa: BLE001 - the same
                self._fail(tree, watch_failed(tree.root, repr(error)))
