"""What can be done with a changeset: stage, discard, open."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from serai.ahp.commands import (
    ChangesetOperationFollowUp,
    ChangesetOperationTarget,
    ChangesetResourceTarget,
    InvokeChangesetOperationResult,
)
from serai.ahp.errors import AhpErrorCode
from serai.ahp.types import ChangesetOperation, ChangesetOperationScope, ContentRef
from serai.changes.catalogue import ChangesetKind, Which
from serai.changes.opening import SessionChanges
from serai.changes.records import Change, Changes, shown, told
from serai.changes.showing import path_below, show
from serai.errors import GitFailed, GitUnavailable, InvalidParams, ProtocolError

__all__ = ["DISCARD", "OPEN", "STAGE", "invoke", "operations_for"]

STAGE = "stage"
DISCARD = "discard"
OPEN = "open"

_BOTH: tuple[str, ...] = (ChangesetOperationScope.CHANGESET, ChangesetOperationScope.RESOURCE)

_BEFORE = {
    ChangesetKind.UNCOMMITTED: "the last commit",
    ChangesetKind.SESSION: "what there was when the session began",
    ChangesetKind.TURN: "what there was before this turn",
}

_ELSEWHERE = "this turn was in another place, or in another repository: it can only be looked at from here"


def operations_for(
    kind: ChangesetKind, *, has_git: bool, has_commit: bool = True
) -> list[ChangesetOperation]:
    """What a changeset offers. Pure.

    Args:
        kind: What the changeset shows.
        has_git: Whether the working directory is in a repository,
        has_commit: and whether anything is committed there.
    """
    operations: list[ChangesetOperation] = []
    if has_git:
        operations.append(
            ChangesetOperation(
                id=STAGE,
                label="Stage",
                description="Put into git's index for the next commit",
                scopes=[*_BOTH],
            )
        )
    confirmation = (
        f"This brings the files back to {_BEFORE[kind]}, and deletes those that are new since. "
        "The changes are lost. Discard them?"
    )
    if kind is ChangesetKind.UNCOMMITTED and not has_commit:
        confirmation = (
            "Nothing is committed yet: this deletes all files here, except those that git ignores. "
            "They are lost. Delete them?"
        )
    operations.append(
        ChangesetOperation(
            id=DISCARD,
            label="Discard",
            description=f"Go back to {_BEFORE[kind]}",
            scopes=[*_BOTH],
            confirmation=confirmation,
        )
    )
    operations.append(ChangesetOperation(id=OPEN, label="Open", scopes=[ChangesetOperationScope.RESOURCE]))
    return operations


async def invoke(
    changes: SessionChanges, which: Which, operation_id: str, target: ChangesetOperationTarget | None
) -> InvokeChangesetOperationResult:
    """Do something with a changeset, or with one of its files.

    Raises:
        InvalidParams: There is no such operation, or it does not work on such a target.
        ProtocolError: The file has no changes here, or the operation was not possible; nothing was done.
    """
    offered = {one.id: one for one in operations_for(which.kind, has_git=changes.has_git)}
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
    try:
        found = await changes.compute(which)
        if found.is_elsewhere and operation_id != OPEN:
            raise ProtocolError(_ELSEWHERE, number=AhpErrorCode.CONFLICT)
        chosen = found.changes if resource is None else (_find(changes.directory, found.changes, resource),)
        notes = (found.lacks if which.turn_id is not None else None, told(found.left_out))
        match operation_id:
            case "stage":
                refused = await changes.stage(chosen)
                done = [change for change in chosen if change.path not in refused]
                return _told("Staged", done, refused, resource, notes)
            case "discard":
                paths = None if resource is None else {change.path for change in chosen}
                done, refused = await changes.discard(which, paths)
                return _told("Discarded the changes to", done, refused, resource, notes)
            case _:
                return _opened(changes, which, found, chosen[0], resource)
    except (GitFailed, GitUnavailable) as error:
        raise ProtocolError(str(error), data=error.to_wire(), number=AhpErrorCode.CONFLICT) from None


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
    notes: Iterable[str | None],
) -> InvokeChangesetOperationResult:
    reasons = "; ".join(f"{shown(path)}: {why}" for path, why in list(refused.items())[:3])
    if refused and not done:
        raise ProtocolError(f"nothing was done: {reasons}", number=AhpErrorCode.CONFLICT)
    if resource is not None and done:
        return InvokeChangesetOperationResult(message=f"{what} {shown(done[0].path)}")
    message = f"{what} {len(done)} {'file' if len(done) == 1 else 'files'}"
    if refused:
        more = f", and {len(refused) - 3} more" if len(refused) > 3 else ""
        message += f"; not {len(refused)}: {reasons}{more}"
    message += "".join(f". {note[0].upper()}{note[1:]}" for note in notes if note)
    return InvokeChangesetOperationResult(message=message)


def _opened(
    changes: SessionChanges,
    which: Which,
    found: Changes,
    change: Change,
    target: ChangesetResourceTarget | None,
) -> InvokeChangesetOperationResult:
    live = changes.is_live(which)
    edit = show(
        change, changes.directory, changes.session_id, live=live, start=found.start, end=found.end
    ).edit
    sides = [edit.before, edit.after] if target and target.side == "before" else [edit.after, edit.before]
    side = next(side for side in sides if side is not None)
    return InvokeChangesetOperationResult(
        follow_up=ChangesetOperationFollowUp(content=ContentRef(uri=side.content.uri))
    )
