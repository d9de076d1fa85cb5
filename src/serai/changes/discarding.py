"""Undoing changes: in the person's index, if it is asked for, and in the work tree.

All that is needed is read first. Then the index goes back, and the files after it. So nothing has happened
when something cannot be read, or the index not be written; and when the host is killed in between, the
changes are still there, though no longer staged.

What was looked at is known by its bytes before anything is touched (`seeing`). A file that has others when
its turn comes was written meanwhile, and stays.

Once it writes it is not cut off: when it is cancelled, the file that is under way is put in its place, and
all others stay as they are, staged as they were.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from serai.changes.mirror import Mirror
from serai.changes.quiet import Quiet
from serai.changes.reaching import FolderPermissions, as_usual
from serai.changes.records import Change, Side
from serai.changes.restoring import put_back, unpacked
from serai.changes.seeing import seen
from serai.changes.staging import Staged, entry_of, not_checked_out, put_entries, staged_since
from serai.errors import GitFailed
from serai.machine.processes.uninterrupted import to_its_end

__all__ = ["discard"]

T = TypeVar("T")


async def discard(
    mirror: Mirror,
    changes: Sequence[Change],
    tree: str,
    *,
    quiet: Quiet,
    unstages: bool = False,
    also: Callable[[str], bool] = lambda _path: False,
    plain: Mapping[str, Side] | None = None,
    keeps: Callable[[str], bool] = lambda _folder: False,
    folders: FolderPermissions = as_usual,
) -> tuple[list[Change], dict[str, str]]:
    """Undo changes. No other file is touched. When it is cancelled, each file is undone or as it was.

    Args:
        mirror: The private side.
        changes: What changed.
        tree: What it changed from.
        quiet: So that nobody looks while files are away from their paths.
        unstages: Whether the person's index goes back as well.
        also: Says of a path from the root of the work tree, which is staged and not among the changes,
            whether the index goes back there too.
        plain: The files whose earlier bytes are known, by such paths.
        keeps: Says of a folder, by such a path, whether it stays though it is empty.
        folders: Says who may enter and read the folders that are made at most, by such paths.

    Returns:
        The changes that were undone, and the paths of those that were not, with the reason. What was only
        staged is among the former.

    Raises:
        GitFailed: Earlier content could not be read, or the index not be written; nothing was done.
    """
    staged = await staged_since(mirror, tree) if unstages else Staged()
    absent = await not_checked_out(mirror, changes)
    known, changed = await seen(mirror, changes)
    unchanged = [change for change in changes if change.path not in changed]
    async with unpacked(mirror, unchanged, tree, plain) as earlier:
        possible = [change for change in unchanged if change.path not in earlier.refused]
        ours = _full(mirror, changes)
        only_staged = [path for path in staged.files if path not in ours and also(path)]
        back = [*(path for path in _full(mirror, possible) if path in staged.then), *only_staged]
        stop = threading.Event()

        async def write() -> tuple[list[Change], dict[str, str]]:
            async with quiet.undoing():
                await put_entries(mirror, [staged.then[path] for path in back])
                done, refused = await asyncio.to_thread(
                    *(put_back, mirror, possible, earlier.files, known, keeps),
                    folders=folders,
                    absent=absent,
                    stop=stop.is_set,
                )
            if unstages:
                await _have_looked_at(mirror, [one for one in done if one.path not in absent])
            return done, await _stage_again(mirror, staged, possible, refused)

        done, refused = await _unless_stopped(write(), stop)
    return done + [staged.files[path] for path in only_staged], changed | earlier.refused | refused


async def _unless_stopped(work: Coroutine[Any, Any, T], stop: threading.Event) -> T:
    """What the work returns. When this is cancelled, the work is asked to stop, and has ended then."""
    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        stop.set()
        await to_its_end(asyncio.wait([task]))
        if not task.cancelled():
            task.exception()  # it is known now: nobody else is told
        raise


async def _stage_again(
    mirror: Mirror, staged: Staged, changes: Sequence[Change], refused: dict[str, str]
) -> dict[str, str]:
    """Stage what was not undone as it was. Returns the reasons, with what is wrong now."""
    left = [change for change in changes if change.path in refused]
    try:
        await put_entries(mirror, [staged.now[path] for path in _full(mirror, left) if path in staged.now])
    except GitFailed as error:
        return {path: f"{why} (and it is no longer staged: {error.message})" for path, why in refused.items()}
    return refused


async def _have_looked_at(mirror: Mirror, changes: Sequence[Change]) -> None:
    """Have git look at files anew: it takes one that has another size than before for a changed one."""
    entries = [entry_of(mirror, change.before) for change in changes if change.before is not None]
    with suppress(GitFailed):  # all is done; it only shows as changed until someone adds it
        await put_entries(mirror, entries)


def _full(mirror: Mirror, changes: Sequence[Change]) -> dict[str, None]:
    return dict.fromkeys(mirror.repository.full(path) for change in changes for path in change.paths)
