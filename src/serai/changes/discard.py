"""Brings files back to what they were. All files in the way are moved into the trash first.

1. The record of the discard is written, with all paths that are to be emptied.
2. The files at those paths are moved into the trash.
3. Git checks the wanted files out, and overwrites nothing.

A failure, a cancellation or a kill at any moment leaves a record with which everything can be given back.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from serai.changes.diff import Change, Side
from serai.changes.recorder import FolderRecorder
from serai.changes.undo import Discard, DiscardStep, Trash, checkpoint, is_there
from serai.machine.processes.child import to_its_end
from serai.machine.safe_paths import open_below


@dataclass(slots=True)
class _Plan:
    steps: list[DiscardStep]
    wanted: dict[str, Side]
    refused: dict[str, str]
    """Reason why nothing is done, by path."""


async def discard(
    recorder: FolderRecorder,
    trash: Trash,
    changes: Sequence[Change],
    *,
    session: str,
    directory: str,
    converted: bool,
) -> dict[str, str]:
    """Bring files back to what they were before some changes.

    When cancelled, this gives everything back before it returns.

    Args:
        recorder: Has the content.
        trash: Receives the files that are in the way.
        changes: The changes to undo.
        session: The session, for the record.
        directory: The folder, without any link.
        converted: Give files the line ends that the person's git gives them.

    Returns:
        The reasons why some files were not brought back, by path.
    """
    plan = await asyncio.to_thread(_planned, directory, changes, str(trash.home))
    if plan.steps:
        what = f"{len(changes)} {'file' if len(changes) == 1 else 'files'}"
        record = await to_its_end(asyncio.to_thread(trash.new, session, directory, what, plan.steps))
        try:
            with record.locked():
                await to_its_end(asyncio.to_thread(_take_out, record, plan))
                if plan.wanted:
                    await recorder.check_out(plan.wanted.values(), converted=converted)
                await to_its_end(asyncio.to_thread(_settle, record, plan))
        except BaseException:
            await to_its_end(asyncio.to_thread(trash.undo, record))
            raise
    return plan.refused


def _planned(directory: str, changes: Iterable[Change], home: str) -> _Plan:
    plan = _Plan([], {change.before.path: change.before for change in changes if change.before}, {})
    emptied: dict[str, bool] = {}
    for path in sorted({path for change in changes for path in change.paths}, key=lambda one: one.split("/")):
        full = f"{directory}/{path}"
        if f"{full}/".startswith(f"{home}/") or home.startswith(f"{full}/"):
            plan.refused[path] = "it belongs to the host itself"
            continue
        is_wanted = path in plan.wanted
        obstacle, is_nested = _on_the_way(directory, path)
        if is_nested:
            plan.refused[path] = "it is in a repository of its own"
        elif obstacle is not None and is_wanted:
            emptied[obstacle] = True
            emptied.setdefault(path, False)
        elif obstacle is None and not is_wanted and _is_folder(full):
            plan.refused[path] = "a folder is there by now"
        elif is_wanted or obstacle is None:
            emptied.setdefault(path, is_there(directory, path))
    for path in plan.refused:
        plan.wanted.pop(path, None)
    order = sorted(emptied, key=lambda one: one.split("/"))
    plan.steps = [DiscardStep(path, emptied[path]) for path in order]
    return plan


def _on_the_way(directory: str, path: str) -> tuple[str | None, bool]:
    """Return the file or link on the way to a path, if any; and whether a repository begins on the way."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        above = "/".join(parts[:count])
        full = f"{directory}/{above}"
        if not os.path.lexists(full):
            break
        if not _is_folder(full):
            return above, False
        if os.path.lexists(f"{full}/.git"):
            return None, True
    return None, False


def _is_folder(path: str) -> bool:
    """Tell whether a path is a folder, and no link to one."""
    try:
        return stat.S_ISDIR(os.lstat(path).st_mode)
    except OSError:
        return False


def _take_out(record: Discard, plan: _Plan) -> None:
    for number, step in enumerate(record.steps):
        try:
            record.take(number)
        except OSError as error:
            _refuse(plan, step.path, error.strerror or str(error))


def _refuse(plan: _Plan, path: str, why: str) -> None:
    """Leave out a path, and all wanted files below it."""
    plan.refused[path] = why
    for other in [one for one in plan.wanted if one == path or one.startswith(f"{path}/")]:
        plan.refused[other] = why
        del plan.wanted[other]


def _settle(record: Discard, plan: _Plan) -> None:
    """Check that all files are there; give back what was in the place of one that is missing."""
    checkpoint()
    for number, step in enumerate(record.steps):
        if step.path not in plan.wanted:
            continue
        if not is_there(record.directory, step.path):
            plan.refused[step.path] = "git could not write it"
            if record.has_item(number):
                record.give_back(number)
        elif record.has_item(number):
            _keep_private(record, number)
    record.remove_empty_folders()
    record.finish()


def _keep_private(record: Discard, number: int) -> None:
    """Give a file the permissions of the one in its place; only its executable bits come from git."""
    info = os.lstat(record.place / "items" / str(number))
    if not stat.S_ISREG(info.st_mode):
        return
    with contextlib.suppress(OSError):
        handle = open_below(record.directory, record.steps[number].path, links=False)
        try:
            mode = stat.S_IMODE(info.st_mode) & 0o666
            if os.fstat(handle).st_mode & stat.S_IXUSR:
                mode |= (mode & 0o444) >> 2
            os.fchmod(handle, mode)
        finally:
            os.close(handle)
