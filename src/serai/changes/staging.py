"""The person's own index: what operations that a person asked for write into it.

Only exact paths are named, never patterns. Hooks do not run. A filter runs only in a trusted folder;
elsewhere `restoring.filtered` keeps such files away, and the filters are silenced besides.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from serai.changes.diff import GITLINK
from serai.changes.git import Answer, both
from serai.changes.mirror import Mirror, in_variables
from serai.changes.records import Change, Limits, Side
from serai.changes.scanning import is_beyond_a_link, judge_file, removal

__all__ = [
    "Staged",
    "entry_of",
    "not_checked_out",
    "of_the_host",
    "put_entries",
    "stage",
    "staged_since",
]

_SECONDS = 600.0
"""So long the index may be written: large files take their time, but a filter may never end."""
_GRACE = 5.0
"""So long git may take to give the index up as it was, with its lock gone, when it is ended early."""


@dataclass(frozen=True, slots=True)
class Staged:
    """Where the person's index is another than a tree: its entries by paths from the root of the work tree.

    Entries are as `update-index --index-info` takes them.
    """

    then: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """What the tree has,"""
    now: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """what the index has,"""
    files: dict[str, Change] = field(default_factory=dict[str, Change])
    """and the same as changes, without submodules; with paths from the directory."""


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
        GitFailed: It could not be written. Only if that comes late, all but deletions is in it already.
    """
    paths = dict.fromkeys(mirror.repository.full(path) for change in changes for path in change.paths)
    present = await asyncio.to_thread(_present, mirror.repository.top, list(paths))
    gone = [path for path in paths if path not in present]
    if present:  # first, since a file that cannot be read keeps all from being staged
        await _write(
            mirror,
            *("update-index", "--add", "--remove", "--replace", "-z", "--stdin"),
            doing="stage the files",
            data=b"".join(os.fsencode(path) + b"\0" for path in paths if path in present),
        )
    if gone:
        data = b"".join(removal(mirror.repository, path) for path in gone)
        await _write(mirror, "update-index", "-z", "--index-info", doing="stage what is gone", data=data)


async def staged_since(mirror: Mirror, tree: str) -> Staged:
    """What the person's index has otherwise than a tree, in the directory. Submodules are left alone.

    Raises:
        GitFailed: It cannot be read.
    """
    doing = "see what is staged"
    form = ("--raw", "-z", "--no-abbrev", "--no-renames", "--ita-visible-in-index", "--ignore-submodules=all")
    compared, unmerged = await both(
        _read(mirror, "diff-index", "--cached", *form, tree, *mirror.scope, doing=doing),
        _read(mirror, "ls-files", "--unmerged", "-z", *mirror.scope, doing=doing),
    )
    staged = Staged()
    submodules: set[str] = set()
    words = iter(compared.output.split(b"\0")[:-1])
    for header in words:
        name = next(words)
        then_mode, now_mode, then_content, now_content, _ = header[1:].decode().split(" ")
        path = os.fsdecode(name)
        before, after = (
            _side(mirror, path, then_mode, then_content),
            _side(mirror, path, now_mode, now_content),
        )
        if before is None and (after is None or after.mode == GITLINK):
            continue
        if before is not None and before.mode == GITLINK:
            submodules.add(path)
            continue
        staged.then[path] = f"{then_mode} {then_content}\t".encode() + name + b"\0"
        staged.now[path] = f"{now_mode} {now_content}\t".encode() + name + b"\0"
        if after is None or after.mode != GITLINK:
            staged.files[path] = Change(before, after)
    for entry in unmerged.output.split(b"\0")[:-1]:
        words, _, name = entry.partition(b"\t")
        path = os.fsdecode(name)
        mode, content, _ = words.decode().split(" ")
        if path not in staged.now and path not in submodules and int(mode, 8) != GITLINK:
            # The tree does not have it, so that nothing was compared.
            staged.then[path] = staged.now[path] = removal(mirror.repository, path)
            staged.files[path] = Change(None, _side(mirror, path, mode, content))
        if path in staged.now:
            staged.now[path] += entry + b"\0"
    return staged


async def not_checked_out(mirror: Mirror, changes: Iterable[Change]) -> set[str]:
    """The paths of changed files that a sparse checkout left out of the work tree: they were not there.

    As soon as such a file is there, git takes it for one that is checked out, but the index says so only
    after it was written. A file that was there before, and had other content than the index, is not meant.

    Raises:
        GitFailed: The index cannot be read.
    """
    if mirror.settings.carried.get("core.sparsecheckout") != "true":
        return set()
    was = {os.fsencode(mirror.repository.full(one.path)): one for one in changes if one.before and one.after}
    if not was:
        return set()
    answer = await _read(
        mirror,
        *("-c", "core.sparseCheckout=false"),  # as the index has it, and not as git would take it
        *("ls-files", "-t", "--stage", "-z", *mirror.scope),
        doing="see what is checked out",
    )
    found: set[str] = set()
    for entry in answer.output.split(b"\0")[:-1]:
        words, _, name = entry.partition(b"\t")
        change = was.get(name)
        if change is not None and change.before is not None and words.startswith(b"S "):
            _, _, content, _ = words.decode().split(" ")
            if (change.before.path, change.before.content) == (change.path, content):
                found.add(change.path)
    return found


def entry_of(mirror: Mirror, side: Side) -> bytes:
    """A file as an entry of an index."""
    path = os.fsencode(mirror.repository.full(side.path))
    return f"{side.mode:o} {side.content}\t".encode() + path + b"\0"


def _side(mirror: Mirror, path: str, mode: str, content: str) -> Side | None:
    number = int(mode, 8)
    return Side(path.removeprefix(mirror.repository.prefix), content, number) if number else None


async def put_entries(mirror: Mirror, entries: Iterable[bytes]) -> None:
    """Have these entries in the person's index.

    Raises:
        GitFailed: It could not be written; it is as it was.
    """
    if data := b"".join(entries):
        await _write(mirror, "update-index", "-z", "--index-info", doing="bring the index back", data=data)


async def _read(mirror: Mirror, *arguments: str, doing: str) -> Answer:
    return await mirror.git.run(
        *arguments, doing=doing, folder=mirror.repository.top, environment=_environment(mirror)
    )


async def _write(mirror: Mirror, *arguments: str, doing: str, data: bytes) -> None:
    await mirror.git.run(
        *arguments,
        doing=doing,
        folder=mirror.repository.top,
        environment=_environment(mirror),
        data=data,
        seconds=_SECONDS,
        grace=_GRACE,
    )


def _environment(mirror: Mirror) -> dict[str, str]:
    environment = mirror.repository.environment
    if mirror.closed_paths:
        environment["GIT_LITERAL_PATHSPECS"] = "0"  # what the scope says is not literal then
    if not mirror.trusted:
        filters = mirror.settings.filters
        environment |= in_variables({name: "false" if name.endswith(".required") else "" for name in filters})
    return environment


def _present(top: str, paths: Sequence[str]) -> set[str]:
    limits = Limits()
    return {
        path
        for path in paths
        if judge_file(top, path, limits).size is not None and not is_beyond_a_link(top, path)
    }
