"""The person's own index: what operations that a person asked for write into it.

Only exact paths are named, never patterns. Hooks do not run. A filter runs only in a trusted folder;
elsewhere `restoring.filtered` keeps such files away, and the filters are silenced besides.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence

from serai.changes.mirror import Mirror, in_variables
from serai.changes.records import Change, Limits
from serai.changes.scanning import is_beyond_a_link, judge_file, removal

__all__ = ["of_the_host", "stage", "unstage"]


async def of_the_host(mirror: Mirror, changes: Sequence[Change]) -> dict[str, str]:
    """The files, with a reason, that are in the host's own folder: they are staged by nobody here."""

    def find() -> dict[str, str]:
        full = {change.path: [mirror.repository.full(path) for path in change.paths] for change in changes}
        own = mirror.closed.among(mirror.repository.top, (path for paths in full.values() for path in paths))
        return {
            path: "it belongs to the host itself" for path, paths in full.items() if not own.isdisjoint(paths)
        }

    return await asyncio.to_thread(find)


async def stage(mirror: Mirror, changes: Sequence[Change]) -> None:
    """Put the files of changes, as they are now, into the person's index.

    Raises:
        GitFailed: It could not be written. Deletions may be in it already.
    """
    paths = dict.fromkeys(mirror.repository.full(path) for change in changes for path in change.paths)
    present = await asyncio.to_thread(_present, mirror.repository.top, list(paths))
    gone = [path for path in paths if path not in present]
    if gone:
        data = b"".join(removal(mirror.repository, path) for path in gone)
        await _run(mirror, "update-index", "-z", "--index-info", doing="stage what is gone", data=data)
    if present:
        await _run(
            mirror,
            *("update-index", "--add", "--remove", "--replace", "-z", "--stdin"),
            doing="stage the files",
            data=b"".join(os.fsencode(path) + b"\0" for path in paths if path in present),
        )


async def unstage(mirror: Mirror, changes: Sequence[Change]) -> None:
    """Bring the entries of the person's index back to what they were before the changes.

    Raises:
        GitFailed: It could not be written.
    """
    entries = [
        removal(mirror.repository, mirror.repository.full(change.after.path))
        for change in changes
        if change.after is not None
    ]
    for change in changes:
        if change.before is not None:
            full = os.fsencode(mirror.repository.full(change.before.path))
            entries.append(f"{change.before.mode:o} {change.before.content}\t".encode() + full + b"\0")
    if entries:
        data = b"".join(entries)
        await _run(mirror, "update-index", "-z", "--index-info", doing="bring the index back", data=data)


async def _run(mirror: Mirror, *arguments: str, doing: str, data: bytes) -> None:
    environment = mirror.repository.environment
    if not mirror.trusted:
        filters = mirror.settings.filters
        environment |= in_variables({name: "false" if name.endswith(".required") else "" for name in filters})
    await mirror.git.run(
        *arguments, doing=doing, folder=mirror.repository.top, environment=environment, data=data
    )


def _present(top: str, paths: Sequence[str]) -> set[str]:
    limits = Limits()
    return {
        path
        for path in paths
        if judge_file(top, path, limits)[1] is not None and not is_beyond_a_link(top, path)
    }
