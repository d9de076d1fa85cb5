"""What several changes of one resource come to."""

from __future__ import annotations

from itertools import islice

from serai.ahp.types import ResourceChange, ResourceChangeType

__all__ = ["BATCH_LIMIT", "PENDING_LIMIT", "Pending"]

BATCH_LIMIT = 1_000
"""So many changes go into one action."""
PENDING_LIMIT = 100_000
"""So many resources may wait; beyond, only the root is told, as `updated`: look at all of it again."""

_ADDED, _UPDATED, _DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED

# What was told first, what came then: what it comes to. `None`: nobody needs to hear of it.
_TOGETHER: dict[tuple[ResourceChangeType, ResourceChangeType], ResourceChangeType | None] = {
    (_ADDED, _ADDED): _ADDED,
    (_ADDED, _UPDATED): _ADDED,
    (_ADDED, _DELETED): None,
    (_UPDATED, _ADDED): _UPDATED,
    (_UPDATED, _UPDATED): _UPDATED,
    (_UPDATED, _DELETED): _DELETED,
    (_DELETED, _ADDED): _UPDATED,
    (_DELETED, _UPDATED): _UPDATED,
    (_DELETED, _DELETED): _DELETED,
}


class Pending:
    """Changes that wait to be taken, in the order of their first mention, at most one for each resource.

    Nothing is told as there that is not: what waits below a folder that goes is dropped. A folder that was
    moved away and whose name is used again is told twice, as `deleted` and then as `added`: what was in it
    was never told one by one.

    Args:
        root: The URI that stands for all when too many wait.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._kinds: dict[str, ResourceChangeType] = {}
        self._inside: dict[str, set[str]] = {}
        """For each folder, what in it waits, or has something in it that waits."""
        self._swept: set[str] = set()
        """Those of which `deleted` is to be told first, since it stands for what was in them."""

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def add(self, uri: str, kind: ResourceChangeType, *, whole: bool = False) -> None:
        """A resource has changed.

        Args:
            uri: The resource.
            kind: How.
            whole: It is a folder that was moved away with all that was in it.
        """
        if kind is _DELETED and uri in self._inside and uri != self._root:  # with that the watch is over
            self._drop_below(uri, whole=whole)
        before = self._kinds.get(uri)
        if uri in self._swept:
            together = _DELETED if kind is _DELETED else _ADDED
        else:
            together = kind if before is None else _TOGETHER[before, kind]
            if whole and together is _DELETED:
                self._swept.add(uri)
        if together is None:
            self._forget(uri)
            return
        self._kinds[uri] = together
        if before is None:
            self._note(uri)
            if len(self._kinds) > PENDING_LIMIT:
                self._inside.clear()
                self._swept.clear()
                self._kinds = {self._root: _UPDATED}

    def take(self) -> list[ResourceChange]:
        """The oldest changes, as many as go into one action. They wait no longer."""
        taken: list[ResourceChange] = []
        for uri in list(islice(self._kinds, BATCH_LIMIT)):
            kinds = [self._kinds[uri]]
            if uri in self._swept and kinds != [_DELETED]:
                kinds.insert(0, _DELETED)
            if len(taken) + len(kinds) > BATCH_LIMIT:
                break
            taken += (ResourceChange(uri=uri, type=kind) for kind in kinds)
            self._forget(uri)
        return taken

    def _note(self, uri: str) -> None:
        """Something waits: the folders that it is in know it, up to the first that knows already."""
        while folder := uri.rpartition("/")[0]:
            inside = self._inside.setdefault(folder, set())
            if uri in inside:
                return
            inside.add(uri)
            uri = folder

    def _forget(self, uri: str) -> None:
        """Something waits no longer."""
        self._kinds.pop(uri, None)
        self._swept.discard(uri)
        while uri not in self._kinds and uri not in self._inside:
            folder = uri.rpartition("/")[0]
            inside = self._inside.get(folder)
            if inside is None:
                return
            inside.discard(uri)
            if inside:
                return
            del self._inside[folder]
            uri = folder

    def _drop_below(self, folder: str, *, whole: bool) -> None:
        """A folder goes: of what is in it only deletions may still be told, and if `whole` it tells those."""
        below: list[str] = []
        todo = [folder]
        while todo:
            inside = self._inside.get(todo.pop(), ())
            below += inside
            todo += inside
        for uri in below:
            if whole or self._kinds.get(uri) is not _DELETED:
                self._forget(uri)
