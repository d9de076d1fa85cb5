"""What can be done with a changeset: stage, discard, undo, open."""

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
from serai.changes.diff import Change, Changes, printable, told
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
    """What a changeset offers. Pure.

    Args:
        kind: What the changeset shows.
        has_git: Whether the working directory is in a repository,
        has_commit: Whether anything is committed there.
        can_undo: Whether there is a discard of the session that can be undone.
    """
    confirmation = f"This brings the files back to {_BEFORE[kind]}, and takes away those that are new since."
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
    """Do something with a changeset, or with one of its files.

    Raises:
        InvalidParams: There is no such operation, or it does not work on such a target.
        ProtocolError: The file has no changes here, or nothing could be done.
        SeraiError: The operation was not possible; nothing was done.
    """
    offered = {one.id: one for one in operations_for(which.kind, has_git=changes.has_git, can_undo=True)}
    operation = offered.get(operation_id)
    if operation is None:
        raise InvalidParams(f"there is no operation {operation_id!r} here", field="params.operationId")
    match target:
        case None:
            resource = None
        case ChangesetResourceTarget():
            resource = target
        case _:
            raise InvalidParams(f"{operation.label} works on whole files only", field="params.target")
    if resource is None and ChangesetOperationScope.CHANGESET not in operation.scopes:
        raise InvalidParams(f"{operation.label} needs a file to work on", field="params.target")
    if operation_id == UNDO:
        return await _undo(changes)
    found = await changes.compute(which)
    chosen = found.changes if resource is None else (_find(changes.directory, found.changes, resource),)
    if operation_id == OPEN:
        return _opened(changes, found, chosen[0], resource)
    if operation_id == STAGE:
        refused = await changes.stage(chosen)
        done = [change for change in chosen if change.path not in refused]
        what = "Staged"
    else:
        done, refused = await changes.discard(which, chosen)
        what = "Discarded the changes to"
    return _told(what, done, refused, resource, told(found.left_out))


async def _undo(changes: FolderChanges) -> InvokeChangesetOperationResult:
    last = await asyncio.to_thread(changes.last_discard)
    if last is None:
        raise ProtocolError("there is no discard to undo", number=AhpErrorCode.NOT_FOUND)
    await asyncio.to_thread(changes.trash.undo, last)
    return InvokeChangesetOperationResult(message=f"Gave back {last.what}")


def _find(directory: str, changes: Sequence[Change], target: ChangesetResourceTarget) -> Change:
    path = path_below(directory, target.resource)  # a URI may be spelled in several ways
    for change in changes:
        sides = [change.before] if target.side == "before" else [change.after, change.before]
        if any(side is not None and side.path == path for side in sides):
            return change
    raise ProtocolError("this file has no changes here, or no longer", number=AhpErrorCode.NOT_FOUND)


def _told(
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
