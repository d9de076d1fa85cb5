"""What a discard leaves alone: it was there before, or may have been, and nobody could bring it back."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from serai.changes.attributes import Attributes, entries_in, lists_for, unpack
from serai.changes.diff import GITLINK
from serai.changes.inodes import kept_inodes, other_inodes, short
from serai.changes.margins import IGNORE_LIST, Margin
from serai.changes.mirror import Mirror
from serai.changes.moved import BIRTH_IS_ITS_OWN, Moment, made_at
from serai.changes.records import Change, ChangeKind, Side
from serai.errors import GitFailed, GitTimedOut

__all__ = ["Began", "guarded", "guarded_from_commit", "there_before", "undone_in_part"]

_UNKNOWN = "it is not known whether it was there before"
_WAS_THERE = "it was there before, and was not recorded"
_MAY_HAVE_BEEN = "it may have been there before, and was not recorded"
_ANOTHER_NAME = "it was there before under another name"
_OLDER = "it is older than the {}: it may have been moved here"
_STALE = "what it was before was not recorded"
_SUBMODULE = "it is in a folder that was a submodule"
_IGNORED = "the last commit has it among the ignored files"
_CAME_WITH = "it was there before the folder was in this repository"


@dataclass(frozen=True, slots=True)
class Began:
    """What is known of the moment when a turn or a session began."""

    tree: str
    """What git saw then."""
    name: str
    """What it is that began."""
    margin: Margin
    """What else was there."""
    moment: Moment | None
    """When that was, if it is recorded."""
    since: Sequence[Change] | None
    """All that changed since, if that is known."""


async def guarded(
    mirror: Mirror, changes: Sequence[Change], tree: str, began: Began | None
) -> dict[str, str]:
    """The changes, with a reason, that must not be undone back to a base.

    Args:
        mirror: The private side.
        changes: What changed since.
        tree: The tree of the base.
        began: What else is known of it; when that is nothing, no file is known to be new.

    Raises:
        GitFailed: The tree is not there.
    """
    new = _new(mirror, changes)
    within = dict.fromkeys(await _in_submodules(mirror, tree, new), _SUBMODULE)
    if began is None:
        return dict.fromkeys(new, _UNKNOWN) | within
    refused = await _not_new(mirror, changes, began) | within
    for change in changes:
        if any(began.margin.is_stale(mirror.repository.full(path)) for path in change.paths):
            refused[change.path] = _STALE
    return refused


async def guarded_from_commit(
    mirror: Mirror, changes: Sequence[Change], tree: str, began: Began | None
) -> dict[str, str]:
    """The same for what is not committed.

    A commit says nothing of new files but which are ignored. These are not to be lost because that was
    changed, nor is what was unseen when the session began.

    Args:
        mirror: The private side.
        changes: What changed since the commit.
        tree: The tree of the commit.
        began: What is known of how the session began, if anything is.

    Raises:
        GitFailed: The tree is not there.
    """
    new = _new(mirror, changes)
    refused = await _not_new(mirror, changes, began) if began is not None else {}
    refused |= dict.fromkeys(await _in_submodules(mirror, tree, new), _SUBMODULE)
    ignored = await _ignored_by(mirror, tree, list(new.values()))
    return refused | {path: _IGNORED for path, full in new.items() if full in ignored}


async def there_before(
    mirror: Mirror, changes: Sequence[Change], tree: str, began: Began | None
) -> dict[str, str]:
    """The new files, with a reason, that the folder had when it came into its repository.

    For another repository, or for none, they may have been ignored files, or committed ones: nobody asked to
    have them deleted. That is also so if they have another name by now.

    Args:
        mirror: The private side.
        changes: What is not committed.
        tree: What there was when the folder came into the repository.
        began: What else is known of that moment.

    Raises:
        GitTimedOut: git takes too long.
    """
    new = _new(mirror, changes)
    if not new:
        return {}
    try:
        found = await entries_in(mirror, tree, sorted(new.values()))
    except GitTimedOut:
        raise
    except GitFailed:
        return dict.fromkeys(new, _CAME_WITH)  # what there was is gone
    if began is None or began.since is None:
        return dict.fromkeys(new, _CAME_WITH)
    gone = [one for one in began.since if one.before and one.after != one.before]
    moved = {one.path for one in gone if one.kind is ChangeKind.RENAMED}
    contents = {one.before.content for one in gone if one.before and one.kind is not ChangeKind.MODIFIED}
    files = await asyncio.to_thread(_files_of, mirror, [one for one in changes if one.path in new])
    inodes = await kept_inodes(mirror, began.moment) if began.moment else None
    moved |= {
        file.change.path
        for file in files
        if file.content in contents or _is_of_then(file, began, inodes or frozenset())
    }
    return {path: _CAME_WITH for path, full in new.items() if full in found or path in moved}


def _is_of_then(file: _File, began: Began, inodes: frozenset[int]) -> bool:
    """Whether a file was there at a base, under some name; unless an agent had made it."""
    if began.moment is None or os.fsencode(file.full) in began.margin.noted:
        return False
    if file.made is None or not BIRTH_IS_ITS_OWN:
        return short(file.found.st_ino) in inodes
    return began.moment.is_after(file.made)


async def _not_new(mirror: Mirror, changes: Sequence[Change], began: Began) -> dict[str, str]:
    """The files that a discard would delete, with a reason, though they were, or may have been, there."""
    new, margin = _new(mirror, changes), began.margin
    vague = [full for full in new.values() if margin.may_have_had(full)]
    ignored: set[str] = set()
    if vague:
        try:
            ignored = await _ignored_by(mirror, began.tree, vague, margin.lists)
        except GitTimedOut:
            raise
        except GitFailed:
            ignored = set(vague)  # what the lists were is gone
    refused = await _moved(mirror, changes, began)
    for path, full in new.items():
        if margin.names(full):
            refused[path] = _WAS_THERE
        elif margin.had(full) or full in ignored:
            refused[path] = _MAY_HAVE_BEEN
    return refused


async def _moved(mirror: Mirror, changes: Sequence[Change], began: Began) -> dict[str, str]:
    """The files, with a reason, that were elsewhere before, or may have been."""
    since = changes if began.since is None else began.since
    changed = {
        change.path for change in since if began.since is not None or change.kind is not ChangeKind.MODIFIED
    }
    found = await asyncio.to_thread(_files_of, mirror, [one for one in changes if one.path in changed])
    recorded = {change.before.content for change in since if change.before}
    places = {change.before.path for change in since if change.before}
    inodes = await _recorded_inodes(mirror, changes, began, found, places)
    refused: dict[str, str] = {}
    for file in found:
        before, after = file.change.before, file.change.after
        if _is_known(file, began):
            refused[file.change.path] = _STALE if began.margin.is_stale(file.full) else _ANOTHER_NAME
            continue
        # The same content comes back to where it was.
        is_back = before is not None and after is not None and before.content == after.content
        is_back |= file.content in recorded and not began.margin.may_have_had(file.full)
        if not is_back and _is_older(file, began, inodes, was_here=file.change.path in places):
            refused[file.change.path] = _OLDER.format(began.name)
    return refused


async def _recorded_inodes(
    mirror: Mirror, changes: Sequence[Change], began: Began, found: Iterable[_File], places: Iterable[str]
) -> frozenset[int]:
    """The numbers, in short, of files that come back, or that were recorded: as far as they matter."""
    moment = began.moment
    if moment is None:
        return frozenset()
    older = (file for file in found if _was_made_before(file, moment))
    made = {short(file.found.st_ino): file.made for file in older if file.made is not None}
    inodes = await kept_inodes(mirror, moment) if made else None
    known = frozenset(made) & (began.margin.inodes | (inodes or frozenset()))
    if len(known) == len(made):
        return known
    # Those that are not among the kept ones were committed since, perhaps; or there are no kept ones.
    paths = {mirror.repository.full(path) for path in places} if inodes is None else set[str]()
    contents = {change.before.content for change in changes if change.before}
    return known | await other_inodes(mirror, moment, made, paths, contents)


@dataclass(frozen=True, slots=True)
class _File:
    """A file that is there, and which change that is."""

    change: Change
    full: str
    content: str
    found: os.stat_result
    made: int | None
    """When it was made, in nanoseconds, if the file system tells."""


def _files_of(mirror: Mirror, changes: Iterable[Change]) -> list[_File]:
    files: list[_File] = []
    for change in changes:
        if change.after is None:
            continue
        full = mirror.repository.full(change.after.path)
        place = os.fsencode(f"{mirror.repository.top}/{full}")
        try:
            found = os.lstat(place)
        except OSError:
            continue
        files.append(_File(change, full, change.after.content, found, made_at(place, found)))
    return files


def _was_made_before(file: _File, moment: Moment) -> bool:
    return file.made is not None and moment.is_after(file.made)


def _is_known(file: _File, began: Began) -> bool:
    """Whether a file is one of those that were not seen."""
    if file.found.st_ino not in began.margin.identities:
        return False
    if file.change.kind is ChangeKind.MODIFIED and file.found.st_nlink > 1:
        return False  # it may have had both names; its content stays under the other one
    return file.made is None or began.moment is None or began.moment.is_after(file.made)


def _is_older(file: _File, began: Began, inodes: frozenset[int], *, was_here: bool) -> bool:
    """Whether a file is older than the base, and is none that was recorded then.

    Args:
        file: The file.
        began: The base.
        inodes: The numbers of what was recorded, as far as they are known.
        was_here: Whether something was recorded at its path.
    """
    moment = began.moment
    if moment is None:
        return False
    was_made_before = _was_made_before(file, moment)
    if was_made_before and short(file.found.st_ino) in inodes:
        return False
    # One that nobody has touched was here: git only sees it otherwise, by other attributes for instance.
    if file.change.kind is ChangeKind.MODIFIED and moment.is_after(file.found.st_ctime_ns):
        return False
    # What an agent wrote before the folder was a repository is older than the base as well.
    is_noted = os.fsencode(file.full) in began.margin.noted
    if not is_noted and moment.is_after(file.found.st_mtime_ns):
        return True
    if not was_made_before:
        return False
    # Where birth is not its own, it may be what was there.
    return BIRTH_IS_ITS_OWN or not (was_here or is_noted)


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


async def _ignored_by(
    mirror: Mirror, tree: str, paths: Sequence[str], known: Mapping[bytes, bytes] | None = None
) -> set[str]:
    """Those of the files that the lists of ignored files in a tree name, or others that are known.

    The person's own lists are as they are now.
    """
    lists = sorted(lists_for(paths, IGNORE_LIST)) if paths else []
    found = await entries_in(mirror, tree, lists) if lists else {}
    # git takes no list from behind a link.
    sides = {
        path: Side(path, content, int(mode, 8))
        for path, (mode, content) in found.items()
        if mode.startswith("100")
    }
    if not paths:
        return set()
    with mirror.scratch("ignored") as name:
        folder, files = Path(name), Path(name, "files")
        await asyncio.to_thread(files.mkdir)
        if sides:
            attributes = Attributes(mirror.repository.top)
            await unpack(mirror, attributes, sides, index=folder / "index", files=files)
        await asyncio.to_thread(_lay_out, files, known or {})
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


def _lay_out(files: Path, lists: Mapping[bytes, bytes]) -> None:
    for name, data in lists.items():
        place = files / os.fsdecode(name)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)
