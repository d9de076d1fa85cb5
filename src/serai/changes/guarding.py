"""What a discard leaves alone: it was there before, or may have been, and nobody could bring it back."""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from serai.changes.attributes import Attributes, entries_in, lists_for, unpack
from serai.changes.diff import GITLINK
from serai.changes.margins import Margin
from serai.changes.mirror import Mirror
from serai.changes.records import Change, ChangeKind, Side

__all__ = ["guarded", "guarded_from_commit", "undone_in_part"]

_LIST = ".gitignore"
_UNKNOWN = "it is not known whether it was there before"
_WAS_THERE = "it was there before, and was not recorded"
_STALE = "what it was before was not recorded"
_SUBMODULE = "it is in a folder that was a submodule"
_IGNORED = "the last commit has it among the ignored files"


async def guarded(
    mirror: Mirror, changes: Sequence[Change], tree: str, margin: Margin | None
) -> dict[str, str]:
    """The changes, with a reason, that must not be undone back to a base.

    Args:
        mirror: The private side.
        changes: What changed since.
        tree: The tree of the base.
        margin: What else was there; when that is not known, nothing is known to be new.

    Raises:
        GitFailed: The tree is not there.
    """
    new = _new(mirror, changes)
    refused = dict.fromkeys(await _in_submodules(mirror, tree, new), _SUBMODULE)
    if margin is None:
        return refused | dict.fromkeys(new, _UNKNOWN)
    refused |= {path: _WAS_THERE for path, full in new.items() if margin.had(full)}
    for change in changes:
        if any(margin.is_stale(mirror.repository.full(path)) for path in change.paths):
            refused[change.path] = _STALE
    return refused


async def guarded_from_commit(
    mirror: Mirror, changes: Sequence[Change], tree: str, margin: Margin | None
) -> dict[str, str]:
    """The same for what is not committed.

    A commit says nothing of new files but which are ignored. These are not to be lost because that was
    changed, nor is what was unseen when the session began.

    Args:
        mirror: The private side.
        changes: What changed since the commit.
        tree: The tree of the commit.
        margin: What else was there when the session began, if that is known.

    Raises:
        GitFailed: The tree is not there.
    """
    new = _new(mirror, changes)
    refused = dict.fromkeys(await _in_submodules(mirror, tree, new), _SUBMODULE)
    if margin is not None:
        refused |= {path: _WAS_THERE for path, full in new.items() if margin.had(full)}
    ignored = await _ignored_by(mirror, tree, list(new.values()))
    return refused | {path: _IGNORED for path, full in new.items() if full in ignored}


def undone_in_part(changes: Iterable[Change], refused: Mapping[str, str]) -> list[Change]:
    """What can be undone of files that were renamed: the earlier one comes back, and the later one stays.

    Args:
        changes: What changed.
        refused: The changes that must not be undone, with the reason.
    """
    return [
        replace(change, after=None)
        for change in changes
        if refused.get(change.path, _STALE) != _STALE and change.kind is ChangeKind.RENAMED
    ]


def _new(mirror: Mirror, changes: Iterable[Change]) -> dict[str, str]:
    """The files that a discard would delete, also since they have another name now; with their full paths."""
    return {
        change.path: mirror.repository.full(change.after.path)
        for change in changes
        if change.after is not None and (change.before is None or change.before.path != change.after.path)
    }


async def _in_submodules(mirror: Mirror, tree: str, new: dict[str, str]) -> list[str]:
    folders = {path: _above(full) for path, full in new.items()}
    asked = sorted({folder for above in folders.values() for folder in above})
    found = await entries_in(mirror, tree, asked) if asked else {}
    modules = {path for path, (mode, _) in found.items() if int(mode, 8) == GITLINK}
    return [path for path, above in folders.items() if not modules.isdisjoint(above)]


def _above(path: str) -> list[str]:
    names = path.split("/")[:-1]
    return ["/".join(names[: depth + 1]) for depth in range(len(names))]


async def _ignored_by(mirror: Mirror, tree: str, paths: Sequence[str]) -> set[str]:
    """Those of the files that the lists of ignored files in a tree name. Other lists are as they are now."""
    lists = sorted(lists_for(paths, _LIST)) if paths else []
    found = await entries_in(mirror, tree, lists) if lists else {}
    # git takes no list from behind a link.
    sides = {
        path: Side(path, content, int(mode, 8))
        for path, (mode, content) in found.items()
        if mode.startswith("100")
    }
    if not paths:
        return set()
    with tempfile.TemporaryDirectory(dir=mirror.folder, prefix="ignored-") as name:
        folder, files = Path(name), Path(name, "files")
        await asyncio.to_thread(files.mkdir)
        if sides:
            attributes = Attributes(mirror.repository.top)
            await unpack(mirror, attributes, sides, index=folder / "index", files=files)
        answer = await mirror.run(
            *("check-ignore", "--no-index", "-z", "--stdin"),
            doing="see what was ignored",
            # This command knows no literal paths; with a dot before it, a path has no magic either.
            data=b"".join(b"./" + os.fsencode(path) + b"\0" for path in paths),
            environment=mirror.environment(folder / "none")
            | {"GIT_WORK_TREE": str(files), "GIT_LITERAL_PATHSPECS": "0"},
            folder=str(files),
            accept=(0, 1),
        )
    return {os.fsdecode(line).removeprefix("./") for line in answer.output.split(b"\0")[:-1]}
