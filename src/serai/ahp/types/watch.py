"""The resource-watch channel: files that are being watched."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from serai.ahp.types.common import URI
from serai.ahp.wire import State, Value

__all__ = ["Globs", "ResourceChange", "ResourceChangeType", "ResourceChanges", "ResourceWatchState"]


class Globs(Value):
    """Patterns of paths."""

    items: list[str]


class ResourceChangeType(StrEnum):
    """What happened to a resource."""

    ADDED = "added"
    UPDATED = "updated"
    DELETED = "deleted"


class ResourceChange(Value):
    """One resource, and what happened to it."""

    uri: URI
    type: Annotated[str, ResourceChangeType]


class ResourceChanges(Value):
    """A batch of changes; never empty on the wire."""

    items: list[ResourceChange]


class ResourceWatchState(State):
    """What is being watched. Changes pass through; they are not part of the state."""

    root: URI
    recursive: bool
    excludes: Globs | None = None
    includes: Globs | None = None
