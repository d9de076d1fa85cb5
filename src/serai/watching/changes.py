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
    """Changes that wait to be taken, at most one for each resource, in the order of their first mention.

    Args:
        root: The URI that stands for all when too many wait.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._kinds: dict[str, ResourceChangeType] = {}

    def __bool__(self) -> bool:
        return bool(self._kinds)

    def add(self, uri: str, kind: ResourceChangeType) -> None:
        """A resource has changed."""
        before = self._kinds.get(uri)
        if before is None:
            self._kinds[uri] = kind
            if len(self._kinds) > PENDING_LIMIT:
                self._kinds = {self._root: _UPDATED}
        elif (together := _TOGETHER[before, kind]) is None:
            del self._kinds[uri]
        else:
            self._kinds[uri] = together

    def take(self) -> list[ResourceChange]:
        """The oldest changes, as many as go into one action. They wait no longer."""
        uris = list(islice(self._kinds, BATCH_LIMIT))
        return [ResourceChange(uri=uri, type=self._kinds.pop(uri)) for uri in uris]
