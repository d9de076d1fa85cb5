"""Operations on a changeset: stage, discard, undo, open."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

from serai.ahp.commands import (
    AhpErrorCode,
    ChangesetOperationFollowUp,
    ChangesetOperationTarget,
    ChangesetResourceTarget,
    InvokeChangesetOperationResult,
)
from serai.ahp.types import ChangesetOperation, ChangesetOperationScope, ContentRef
from serai.changes.diff import Change, Changes, left_out_note, printable
from serai.changes.folder import FolderChanges
from serai.changes.view import ChangesetKind, Which, path_below, show
from serai.errors import InvalidParams, ProtocolError

STAGE = "stage"
DISCARD = "discard"
UNDO = "undo"
OPEN = "open"

_BOTH: tuple[str, ...] = (ChangesetOperationScope.CHANGESET, ChangesetOperationScope.RESOURCE)

_BEFORE = {
    ChangesetKind.UNCOMMITTED: "the last commit",
    ChangesetKind.SESSION: "what there was when the session began, whoever has changed it since",
    ChangesetKind.TURN: "what there was before this turn",
}


def operations_for(
    kind: ChangesetKind, *, has_git: bool, has_commit: bool = True, can_undo: bool = False
) -> list[ChangesetOperation]:
    """Return the operations that a changeset offers. Pure.

    Args:
        kind: The kind of the changeset.
        has_git: The working directory is in a repository.
        has_commit: Something is committed there.
        can_undo: There is a discard of the session that can be undone.
    """
    confirmation = f"This returns the files to {_BEFORE[kind]}, and takes away those that are new since."
    if kind is ChangesetKind.UNCOMMITTED and not has_commit:
        confirmation = "Nothing is committed yet: this takes away all files here that git does not ignore."
    stage = ChangesetOperation(
        id=STAGE, label="Stage", description="Put into git's index for the next commit", scopes=[*_BOTH]
    )
    discard = ChangesetOperation(
        id=DISCARD,
        label="Discard",
        description=f"Go back to {_BEFORE[kind]}",
        scopes=[*_BOTH],
        confirmation=f"{confirmation} It can be undone for a week. Discard the changes?",
    )
    undo = ChangesetOperation(
        id=UNDO,
        label="Undo discard",
        description="Give back what the last discard took away",
        scopes=[ChangesetOperationScope.CHANGESET],
    )
    open_one = ChangesetOperation(id=OPEN, label="Open", scopes=[ChangesetOperationScope.RESOURCE])
    return [*([stage] if has_git else []), discard, *([undo] if can_undo else []), open_one]


async def invoke(
    changes: FolderChanges, which: Which, operation_id: str, target: ChangesetOperationTarget | None
) -> InvokeChangesetOperationResult:
    """Invoke an operation on a changeset, or on one of its files.

    Raises:
        InvalidParams: There is no such operation, or it does not work on such a target.
        ProtocolError: The file has no changes here, or nothing could be done.
        SeraiError: The operation was not possible; nothing was done.
    """
    offered = {one.id: one for one in operations_for(which.kind, has_git=changes.has_git, can_undo=True)}
    operation = offered.get(operation_id)
    if operation is None:
        raise InvalidParams(f"there is no operation {operation_id!r} here", field="params.operationId")
    if not isinstance(target, ChangesetResourceTarget | None):
        raise InvalidParams(f"{operation.label} works on whole files only", field="params.target")
    if target is None and ChangesetOperationScope.CHANGESET not in operation.scopes:
        raise InvalidParams(f"{operation.label} needs a file to work on", field="params.target")
    if operation_id == UNDO:
        return await _undo(changes)
    found = await changes.compute(which)
    chosen = found.changes if target is None else (_find(changes.directory, found.changes, target),)
    if operation_id == OPEN:
        return _opened(changes, found, chosen[0], target)
    if operation_id == STAGE:
        refused, what = await changes.stage(chosen), "Staged"
    else:
        refused, what = await changes.discard(which, chosen), "Discarded the changes to"
    done = [change for change in chosen if not refused.keys() & set(change.paths)]
    return _result(what, done, refused, target, left_out_note(found.left_out))


async def _undo(changes: FolderChanges) -> InvokeChangesetOperationResult:
    last = await asyncio.to_thread(changes.last_discard)
    if last is None:
        raise ProtocolError("there is no discard to undo", number=AhpErrorCode.NOT_FOUND)
    await asyncio.to_thread(changes.trash.undo, last)
    return InvokeChangesetOperationResult(message=f"Gave back {last.what}")


def _find(directory: str, changes: Sequence[Change], target: ChangesetResourceTarget) -> Change:
    path = path_below(directory, target.resource)  # a URI can be written in several ways
    for change in changes:
        sides = [change.before] if target.side == "before" else [change.after, change.before]
        if any(side is not None and side.path == path for side in sides):
            return change
    raise ProtocolError("this file has no changes in this changeset", number=AhpErrorCode.NOT_FOUND)


def _result(
    what: str,
    done: Sequence[Change],
    refused: Mapping[str, str],
    resource: ChangesetResourceTarget | None,
    note: str | None,
) -> InvokeChangesetOperationResult:
    reasons = "; ".join(f"{printable(path)}: {why}" for path, why in list(refused.items())[:3])
    if refused and not done:
        raise ProtocolError(f"nothing was done: {reasons}", number=AhpErrorCode.CONFLICT)
    if resource is not None and done:
        return InvokeChangesetOperationResult(message=f"{what} {printable(done[0].path)}")
    message = f"{what} {len(done)} {'file' if len(done) == 1 else 'files'}"
    if refused:
        more = f", and {len(refused) - 3} more" if len(refused) > 3 else ""
        message += f"; not {len(refused)}: {reasons}{more}"
    return InvokeChangesetOperationResult(message=f"{message}. {note}" if note else message)


def _opened(
    changes: FolderChanges, found: Changes, change: Change, target: ChangesetResourceTarget | None
) -> InvokeChangesetOperationResult:
    edit = show(change, changes.directory, changes.session_id, live=not found.settled).edit
    sides = [edit.before, edit.after] if target and target.side == "before" else [edit.after, edit.before]
    side = next(side for side in sides if side is not None)
    return InvokeChangesetOperationResult(
        follow_up=ChangesetOperationFollowUp(content=ContentRef(uri=side.content.uri))
    )
