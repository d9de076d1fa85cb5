"""The actions of the channels about files: changesets and resource watches."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from serai.ahp.actions.root import Action
from serai.ahp.types import ChangesetFile, ChangesetOperation, ChangesetStatus, ErrorInfo, ResourceChanges


class ChangesetStatusChangedAction(Action, tag="changeset/statusChanged"):
    """The host began to compute, is done, or failed."""

    status: Annotated[str, ChangesetStatus]
    error: ErrorInfo | None = None


class ChangesetFileSetAction(Action, tag="changeset/fileSet"):
    """A file is new in the set, or has changed again."""

    file: ChangesetFile


class ChangesetFileRemovedAction(Action, tag="changeset/fileRemoved"):
    """A file is no longer changed."""

    file_id: str


class ChangesetOperationsChangedAction(Action, tag="changeset/operationsChanged"):
    """Other operations are possible; none when absent."""

    operations: list[ChangesetOperation] | None = None


class ChangesetClearedAction(Action, tag="changeset/cleared"):
    """Nothing is changed any more."""


ChangesetAction: TypeAlias = (
    ChangesetStatusChangedAction
    | ChangesetFileSetAction
    | ChangesetFileRemovedAction
    | ChangesetOperationsChangedAction
    | ChangesetClearedAction
)


class ResourceWatchChangedAction(Action, tag="resourceWatch/changed"):
    """Resources have changed. It passes through: a watch's state is what it watches."""

    changes: ResourceChanges


ResourceWatchAction: TypeAlias = ResourceWatchChangedAction
