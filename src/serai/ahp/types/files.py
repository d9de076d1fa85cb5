"""The types of the channels about files: changesets and resource watches."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

from msgspec import field

from serai.ahp.types.common import URI, ErrorInfo, FileEdit, FreeForm, Number, StringOrMarkdown
from serai.ahp.wire import State, Value


class ChangesetSummary(Value):
    """A changeset that can be subscribed to, once its URI template is expanded."""

    label: str
    uri_template: str
    description: str | None = None
    additions: Number | None = None
    deletions: Number | None = None
    files: Number | None = None


class ChangesetStatus(StrEnum):
    """How far the host is with a changeset."""

    COMPUTING = "computing"
    READY = "ready"
    ERROR = "error"


class ChangesetFile(Value):
    """One file that changed."""

    id: str
    edit: FileEdit
    meta: FreeForm | None = field(default=None, name="_meta")


class ChangesetOperationScope(StrEnum):
    """What an operation works on."""

    CHANGESET = "changeset"
    RESOURCE = "resource"
    RANGE = "range"


class ChangesetOperation(Value):
    """Something that can be done with a changeset, such as staging it."""

    id: str
    label: str
    scopes: list[Annotated[str, ChangesetOperationScope]]
    description: str | None = None
    confirmation: StringOrMarkdown | None = None
    icon: str | None = None


class ChangesetState(State):
    """The whole state of one changeset."""

    status: Annotated[str, ChangesetStatus]
    files: list[ChangesetFile]
    error: ErrorInfo | None = None
    operations: list[ChangesetOperation] | None = None


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
