"""A folder that is watched with what is in it: which folders have watches of the system, and what is told.

All of it belongs to the hub's thread.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

from serai.ahp.types import ResourceChangeType
from serai.machine.watch.folders import Folders, Identity, identity_of
from serai.machine.watch.inotify import Told
from serai.machine.watch.source import Event, Sink

__all__ = ["Folder", "Tree", "Warden"]

_ADDED, _UPDATED, _DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED


class Folder:
    """A folder that has a watch, and those in it that have."""

    __slots__ = ("inner", "name", "outer", "path", "tree", "watch")

    def __init__(self, tree: Tree, watch: int, path: str, name: str, outer: Folder | None) -> None:
        self.tree = tree
        self.watch = watch
        self.path = path
        self.name = name
        self.outer = outer
        self.inner: dict[str, Folder] = {}


class Warden(Protocol):
    """Who has the watches of the system."""

    def add(self, path: str, handle: int) -> int | None:
        """Watch a folder; see `Inotify.add`."""
        ...

    def take(self, folder: Folder) -> None:
        """A tree wants to hear what is told of a watch."""
        ...

    def leave(self, folder: Folder) -> None:
        """A tree wants that no longer. A watch that nobody wants is given back."""
        ...


class Tree:
    """A root with the folders in it.

    Args:
        root: The folder, without links in its path.
        recursive: Whether what is in its folders is meant too.
        prunes: Which folders below, relative to the root, are left out with all that is in them.
        sink: Who is told.
    """

    def __init__(self, root: str, *, recursive: bool, prunes: Callable[[str], bool], sink: Sink) -> None:
        self.root = root
        self.sink = sink
        self.events: list[Event] = []
        """What has happened and was not told yet."""
        self.walks: deque[Iterator[None]] = deque()
        """Folders that are being entered, a few at a time."""
        self.folders: dict[int, Folder] = {}
        self.identity: Identity | None = None
        """What the root is, once it is watched."""
        self._recursive = recursive
        self._prunes = prunes
        self._start = len(root.rstrip("/")) + 1

    @property
    def is_rooted(self) -> bool:
        """Whether its root is watched."""
        return any(folder.outer is None for folder in self.folders.values())

    def enter(
        self, warden: Warden, path: str, name: str = "", outer: Folder | None = None, *, tells: bool = False
    ) -> Iterator[None]:
        """Watch a folder and, where that is wanted, those in it: one more at each step.

        A folder is listed after its watch is set, so nothing falls between the two; some things are told
        twice. No link is followed, also not one that is put on the way meanwhile.

        Args:
            warden: Who has the watches.
            path: The folder.
            name: Its name in the folder that it is in.
            outer: That folder; none for the root.
            tells: Whether what is found there is new.

        Raises:
            ProtocolError: The system watches no more.
        """
        todo = [(path, name, outer)]
        handles = Folders()
        try:
            while todo:
                path, name, outer = todo.pop()
                if outer is not None and self.folders.get(outer.watch) is not outer:
                    continue  # it was moved away or deleted meanwhile; what has its name now is told apart
                handle = handles.open(path)
                if handle is None:
                    continue
                try:
                    folder = self._watched(warden, handle, path, name, outer)
                    if folder is not None and self._recursive:
                        found = self._listed(handle, path, tells=tells)
                        todo += ((below, name, folder) for below, name in found)
                finally:
                    os.close(handle)
                if folder is not None:
                    yield
        finally:
            handles.close()

    def _watched(
        self, warden: Warden, handle: int, path: str, name: str, outer: Folder | None
    ) -> Folder | None:
        """Watch one folder; `None` when it cannot be, or is already."""
        watch = warden.add(path, handle)
        if watch is None or watch in self.folders:
            return None
        folder = self.folders[watch] = Folder(self, watch, path, name, outer)
        warden.take(folder)
        if outer is not None:
            outer.inner[name] = folder
        else:
            self.identity = identity_of(handle)
        return folder

    def _listed(self, handle: int, path: str, *, tells: bool) -> list[tuple[str, str]]:
        """The folders in a folder that are meant."""
        prefix = path.rstrip("/")
        found: list[tuple[str, str]] = []
        try:
            with os.scandir(handle) as entries:
                for entry in entries:
                    below = f"{prefix}/{entry.name}"
                    if tells:
                        self.events.append(Event(_ADDED, below))
                    if entry.is_dir(follow_symlinks=False) and not self._prunes(below[self._start :]):
                        found.append((below, entry.name))
        except OSError:  # it is gone already, or may not be listed
            return []
        return found

    def leave(self, warden: Warden, folder: Folder) -> None:
        """A folder was moved away: what happens in it is no longer meant."""
        todo = [folder]
        while todo:
            folder = todo.pop()
            todo += folder.inner.values()
            self.forget(folder)
            warden.leave(folder)

    def forget(self, folder: Folder) -> None:
        """A folder has no watch any more."""
        self.folders.pop(folder.watch, None)
        if folder.outer is not None and folder.outer.inner.get(folder.name) is folder:
            del folder.outer.inner[folder.name]

    def understand(self, warden: Warden, folder: Folder, told: Told) -> None:
        """Something was told of one of its folders."""
        if not told.name:
            if folder.outer is None and told.is_gone:
                self.events.append(Event(_DELETED, self.root))
            elif folder.outer is None:
                self.events.append(Event(_UPDATED, self.root))
            return
        path = f"{folder.path.rstrip('/')}/{told.name}"
        if told.is_new:
            self.events.append(Event(_ADDED, path))
            if told.is_folder and self._recursive and not self._prunes(path[self._start :]):
                self.walks.append(self.enter(warden, path, told.name, folder, tells=True))
        elif told.is_gone:
            self.events.append(Event(_DELETED, path, whole=told.is_folder and told.is_moved_away))
            if told.is_moved_away and (moved := folder.inner.get(told.name)) is not None:
                self.leave(warden, moved)
        else:
            self.events.append(Event(_UPDATED, path))
