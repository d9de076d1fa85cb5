"""What several changes of one resource come to."""

from __future__ import annotations

from itertools import islice

from serai.ahp.types import ResourceChange, ResourceChangeType

__all__ = ["BATCH_LIMIT", "PENDING_LIMIT", "Pending"]

BATCH_LIMIT = 1_000
"""Most changes in one action."""
PENDING_LIMIT = 100_000
"""Most resources that wait. Beyond, only the root is told, as `updated`: look at all of it again."""

_ADDED, _UPDATED, _DELETED = ResourceChangeType.ADDED, ResourceChangeType.UPDATED, ResourceChangeType.DELETED

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
"""What was told first, what came then, and what it comes to. `None`: nobody needs to hear of it."""


class Pending:
    """Changes that wait to be taken, in the order of their first mention, at most one for each resource.

    A folder that was moved away takes along what waits below it. When its name is used again it is told
    twice, as `deleted` and then as `added`: what was in it was never told one by one.

    Args:
        root: The URI that stands for all when too many wait.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._kinds: dict[str, ResourceChangeType] = {}
        self._swept: set[str] = set()
        """Folders that were moved away: `deleted` is told of them first."""

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def add(self, uri: str, kind: ResourceChangeType, *, whole: bool = False) -> None:
        """Take a change of a resource; with `whole`, of a folder that was moved away with all in it."""
        if whole and uri != self._root:  # without its root a watch is over
            for below in [each for each in self._kinds if each.startswith(f"{uri}/")]:
                self._forget(below)
        before = self._kinds.get(uri)
        together = kind if before is None else _TOGETHER[before, kind]
        if uri in self._swept:
            together = _DELETED if kind is _DELETED else _ADDED
        elif whole and together is _DELETED:
            self._swept.add(uri)
        if together is None:
            self._forget(uri)
            return
        self._kinds[uri] = together
        if len(self._kinds) > PENDING_LIMIT:
            self._swept.clear()
            self._kinds = {self._root: _UPDATED}

    def take(self) -> list[ResourceChange]:
        """The oldest changes, as many as go into one action. They wait no longer."""
        taken: list[ResourceChange] = []
        for uri in list(islice(self._kinds, BATCH_LIMIT)):
            kind = self._kinds[uri]
            kinds = [_DELETED, kind] if uri in self._swept and kind is not _DELETED else [kind]
            if len(taken) + len(kinds) > BATCH_LIMIT:
                break
            taken += (ResourceChange(uri=uri, type=each) for each in kinds)
            self._forget(uri)
        return taken

    def _forget(self, uri: str) -> None:
        self._kinds.pop(uri, None)
        self._swept.discard(uri)
