"""What is in the work tree, by its bytes: so that nobody takes away what was never looked at."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence

from serai.changes.attributes import stored_for
from serai.changes.mirror import Mirror
from serai.changes.reaching import Expected, content_id, look, parent
from serai.changes.records import LINK_MODE, Change, Limits, Side
from serai.changes.scanning import take_entries
from serai.changes.writing import CHANGED
from serai.errors import FileInTheWay

__all__ = ["seen"]

_LARGEST = Limits().file_bytes
"""A file that is larger is none of those that are shown."""


async def seen(mirror: Mirror, changes: Sequence[Change]) -> tuple[dict[str, Expected], dict[str, str]]:
    """What there is at the paths of changes; it is what the changes show, but for some.

    A change shows content as git stores it, and a file may be in another form. So the file is looked at
    first, and then git is asked whether it would still store the same for it.

    Args:
        mirror: The private side.
        changes: The changes.

    Returns:
        What is at each path from the root of the work tree, and the paths of changes that show something
        else, with the reason.

    Raises:
        GitFailed: git could not tell.
    """
    full = mirror.repository.full
    shown = {full(change.after.path): change.after for change in changes if change.after}
    found, why = await asyncio.to_thread(_bytes_of, mirror, shown)
    converted = [path for path, content in found.items() if content != shown[path].content]
    stored = await _stored(mirror, converted) if converted else {}
    why |= {path: CHANGED for path in converted if stored.get(path) != shown[path].content}
    known = {full(path): Expected(None) for change in changes for path in change.paths}
    known |= {
        path: Expected(content, shown[path].mode == LINK_MODE, mirror.repository.object_format)
        for path, content in found.items()
    }
    ends = {change.path: full(change.after.path) for change in changes if change.after}
    return known, {path: why[end] for path, end in ends.items() if end in why}


def _bytes_of(mirror: Mirror, sides: Mapping[str, Side]) -> tuple[dict[str, str], dict[str, str]]:
    """What files are known by; and those that are not there or out of reach, with the reason."""
    found: dict[str, str] = {}
    why: dict[str, str] = {}
    for path, side in sides.items():
        content = None
        try:
            with parent(mirror.repository.top, path, mirror.closed, make=False) as (folder, name):
                is_link = side.mode == LINK_MODE
                now = look(folder, name)
                if now is not None and now.st_size <= _LARGEST:
                    content = content_id(folder, name, is_link, mirror.repository.object_format)
        except FileInTheWay as error:
            why[path] = error.message
        except OSError as error:
            why[path] = error.strerror or str(error)
        if content is None:
            why.setdefault(path, CHANGED)
        else:
            found[path] = content
    return found, why


async def _stored(mirror: Mirror, paths: Iterable[str]) -> dict[str, str]:
    """What git stores for files as they are now."""
    names = list(paths)
    async with mirror.copied_index() as index:
        await take_entries(mirror, names, mirror.environment(index))
        return await stored_for(mirror, names, index)
