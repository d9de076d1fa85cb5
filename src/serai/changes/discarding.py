"""Undoing changes: in the person's index, if it is asked for, and in the work tree.

All that is needed is read first. Then the index goes back, and the files after it. So nothing has happened
when something cannot be read, or the index not be written; and when the host is killed in between, the
changes are still there, though no longer staged.

What was looked at is known by its bytes before anything is touched (`seeing`). A file that has others when
its turn comes was written meanwhile, and stays.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from serai.changes.mirror import Mirror
from serai.changes.records import Change, Side
from serai.changes.restoring import put_back, unpacked
from serai.changes.seeing import seen
from serai.changes.staging import Staged, entry_of, put_entries, staged_since
from serai.errors import GitFailed

__all__ = ["discard"]


async def discard(
    mirror: Mirror,
    changes: Sequence[Change],
    tree: str,
    *,
    unstages: bool = False,
    also: Callable[[str], bool] = lambda _path: False,
    plain: Mapping[str, Side] | None = None,
    keeps: Callable[[str], bool] = lambda _folder: False,
) -> tuple[list[Change], dict[str, str]]:
    """Undo changes. No other file is touched.

    Args:
        mirror: The private side.
        changes: What changed.
        tree: What it changed from.
        unstages: Whether the person's index goes back as well.
        also: Says of a path from the root of the work tree, which is staged and not among the changes,
            whether the index goes back there too.
        plain: The files whose earlier bytes are known, by such paths.
        keeps: Says of a folder, by such a path, whether it stays though it is empty.

    Returns:
        The changes that were undone, and the paths of those that were not, with the reason. What was only
        staged is among the former.

    Raises:
        GitFailed: Earlier content could not be read, or the index not be written; nothing was done.
    """
    staged = await staged_since(mirror, tree) if unstages else Staged()
    known, changed = await seen(mirror, changes)
    unchanged = [change for change in changes if change.path not in changed]
    async with unpacked(mirror, unchanged, tree, plain) as earlier:
        possible = [change for change in unchanged if change.path not in earlier.refused]
        ours = _full(mirror, changes)
        only_staged = [path for path in staged.files if path not in ours and also(path)]
        back = [*(path for path in _full(mirror, possible) if path in staged.then), *only_staged]
        await put_entries(mirror, [staged.then[path] for path in back])
        done, refused = await asyncio.to_thread(put_back, mirror, possible, earlier.files, known, keeps)
    if unstages:
        await _have_looked_at(mirror, done)
    left = [change for change in possible if change.path in refused]
    try:
        await put_entries(mirror, [staged.now[path] for path in _full(mirror, left) if path in staged.now])
    except GitFailed as error:
        refused = {
            path: f"{why} (and it is no longer staged: {error.message})" for path, why in refused.items()
        }
    return done + [staged.files[path] for path in only_staged], changed | earlier.refused | refused


async def _have_looked_at(mirror: Mirror, changes: Sequence[Change]) -> None:
    """Have git look at files anew: it takes one that has another size than before for a changed one."""
    entries = [entry_of(mirror, change.before) for change in changes if change.before is not None]
    with suppress(GitFailed):  # all is done; it only shows as changed until someone adds it
        await put_entries(mirror, entries)


def _full(mirror: Mirror, changes: Sequence[Change]) -> dict[str, None]:
    return dict.fromkeys(mirror.repository.full(path) for change in changes for path in change.paths)
