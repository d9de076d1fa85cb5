"""Bringing the private index up to date with the work tree.

Two commands look, at once: one compares the files that the index knows, one lists those that it does not.
What they name is then stored by a third. Files that were stored once are in the private index, so that the
next look names only what has changed since.
"""

from __future__ import annotations

import asyncio
import os
import re
import stat
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from serai.changes.drafts import NOT_DRAFTS
from serai.changes.git import both
from serai.changes.ignoring import IgnoreLists
from serai.changes.mirror import Mirror
from serai.changes.records import LeftOut, LeftOutReason, Limits
from serai.changes.repository import Repository
from serai.errors import GitFailed

__all__ = ["Scanner", "is_beyond_a_link", "judge_file", "removal", "take_entries"]

_GITLINK = b"160000"
_MAX_FAILURES = 64
"""How often storing may fail while the files that cannot be stored are looked for."""


@dataclass(slots=True)
class _Found:
    """What a look at the work tree found."""

    known: dict[str, bytes] = field(default_factory=dict[str, bytes])
    """Paths that the index knows, with the letter that says what is different."""
    new: list[str] = field(default_factory=list[str])
    torn: list[str] = field(default_factory=list[str])
    """Submodules that a merge left for a person to decide."""
    nested: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class _Plan:
    """What is to be done about it."""

    take: dict[str, int] = field(default_factory=dict[str, int])
    """The files to store, with their permissions."""
    stale: list[str] = field(default_factory=list[str])
    """Those that the index knows and that are left out: what it has is not what there is."""
    remove: list[str] = field(default_factory=list[str])
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    taken_bytes: int = 0
    new_files: int = 0
    new_bytes: int = 0


class Scanner:
    """Keeps the private index of a mirror up to date."""

    def __init__(self, mirror: Mirror, limits: Limits) -> None:
        self._mirror = mirror
        self._limits = limits
        self._new_files = 0
        self._new_bytes = 0
        self._lists = IgnoreLists(mirror.repository.top)
        self.generation = 0
        """Another number whenever the index may have become another."""
        self.is_whole = False
        """Whether the index is as the last look found the files; not while one is under way, or failed."""
        self.stored_bytes = 0
        """How large the files were that were stored. Whoever deletes what is no longer needed begins anew."""
        self.left_out: tuple[LeftOut, ...] = ()
        """What the last look left out; paths from the root of the work tree."""
        self.stale: frozenset[str] = frozenset()
        """Those of them that the index has all the same, with other content than they have."""
        self.conflicts: frozenset[str] = frozenset()
        """The files that a merge left for a person to decide."""
        self.renewals = 0
        """How often the person's index was copied."""
        self.taken: dict[str, int] = {}
        """The permissions of the files that were stored since; all others are as in the person's index."""
        self.retaken: set[str] = set()
        """Those that were stored, or found to be gone, since someone last emptied this."""

    async def refresh(self) -> None:
        """Bring the index up to date. Cancelling leaves it as it was, or partly brought up to date.

        Raises:
            GitFailed: git could not look, or not store what it found.
        """
        self.is_whole = False
        # Files that are ignored from now on are still in the index; only a new copy is without them.
        await self.renew(force=await asyncio.to_thread(self._lists.have_changed))
        await self._look_and_store()
        self.is_whole = True

    async def renew(self, *, force: bool = False) -> bool:
        """Copy the person's index if need be, and say whether it was. What is new is to be stored again then.

        Raises:
            GitFailed: The index cannot be read, or not be copied.
        """
        was_whole, self.is_whole = self.is_whole, False
        fresh = await self._mirror.renew(force=force)
        if not fresh:
            self.is_whole = was_whole
        else:
            try:
                await self._leave_closed_out()
                await self._leave_conflicts_out()
            except BaseException:
                self._mirror.forget_index()
                raise
            self._lists.forget()
            self._new_files = self._new_bytes = 0
            self.conflicts = frozenset()
            self.taken, self.retaken = {}, set()
            self.renewals += 1
            self.generation += 1
        return fresh

    async def _leave_closed_out(self) -> None:
        """Take what is in the host's own folder out of the private index, where the person's has it."""
        if self._mirror.closed_paths:
            known = await self._mirror.run(
                *("ls-files", "-z", "--", *self._mirror.closed_paths),
                doing="look for the host's own files",
                environment=self._mirror.environment() | {"GIT_LITERAL_PATHSPECS": "1"},
            )
            await self._leave_out(known.output.split(b"\0")[:-1])

    async def _leave_conflicts_out(self) -> None:
        """Take open conflicts elsewhere in the repository out of the private index: no tree can have them."""
        prefix = os.fsencode(self._mirror.repository.prefix)
        if prefix:
            known = await self._mirror.run("ls-files", "--unmerged", "-z", doing="look for open conflicts")
            names = (entry.partition(b"\t")[2] for entry in known.output.split(b"\0")[:-1])
            await self._leave_out(name for name in names if not name.startswith(prefix))

    async def _leave_out(self, names: Iterable[bytes]) -> None:
        if paths := dict.fromkeys(map(os.fsdecode, names)):
            await remove_entries(self._mirror, paths)

    async def _look_and_store(self) -> None:
        looked_at = time.time_ns()
        found = await self._look()
        conflicts = {path for path, letter in found.known.items() if letter == b"U"}
        self.conflicts |= conflicts
        plan = await asyncio.to_thread(self._plan, found, looked_at)
        if plan.take or plan.remove:
            self.generation += 1
            try:
                await self._store(plan, conflicts)
            except BaseException:
                self._mirror.forget_index()  # part of it may be stored
                raise
        self._note(plan)
        self._new_files += plan.new_files
        self._new_bytes += plan.new_bytes
        self.stored_bytes += plan.taken_bytes
        self.left_out = tuple(sorted(plan.left_out, key=lambda one: one.path))

    def _note(self, plan: _Plan) -> None:
        failed = {one.path for one in plan.left_out}
        taken = {path: permissions for path, permissions in plan.take.items() if path not in failed}
        self.stale = frozenset((*plan.stale, *(failed & plan.take.keys())))
        self.retaken.update(taken, plan.remove)
        self.taken |= taken
        for path in plan.remove:
            self.taken.pop(path, None)

    async def _look(self) -> _Found:
        scope = self._mirror.scope
        own = (f"--exclude=/{_literally(path)}" for path in self._mirror.closed_paths)  # not even entered
        compared, listed = await both(
            self._mirror.run(
                "diff-files", "--raw", "-z", "--ignore-submodules=all", *scope, doing="look at the files"
            ),
            self._mirror.run(
                *("ls-files", "--others", "--exclude-standard", *own, *NOT_DRAFTS, "-z", *scope),
                doing="look for new files",
            ),
        )
        found = _Found()
        words = iter(compared.output.split(b"\0")[:-1])
        for header in words:
            path = os.fsdecode(next(words))
            before, after, _, _, letter = header[1:].split(b" ")
            if _GITLINK in {before, after}:
                found.torn += [path] if letter == b"U" else []
            elif found.known.get(path) != b"U":
                found.known[path] = letter
        for name in listed.output.split(b"\0")[:-1]:
            path = os.fsdecode(name)
            (found.nested if path.endswith("/") else found.new).append(path)
        return found

    # -- which files ---------------------------------------------------------------------------------------

    def _plan(self, found: _Found, looked_at: int) -> _Plan:
        self._lists.watch(found.new, looked_at)
        plan = _Plan(remove=list(found.torn))
        plan.left_out += (LeftOut(path.rstrip("/"), LeftOutReason.NESTED) for path in found.nested)
        for path, letter in found.known.items():
            if letter == b"D" or (letter == b"U" and is_beyond_a_link(self._mirror.repository.top, path)):
                plan.remove.append(path)
            else:
                self._judge(path, plan, is_new=False, is_conflict=letter == b"U")
        for path in found.new:
            self._judge(path, plan, is_new=True, is_conflict=False)
        return plan

    def _judge(self, path: str, plan: _Plan, *, is_new: bool, is_conflict: bool) -> None:
        reason, size, permissions = judge_file(self._mirror.repository.top, path, self._limits)
        if reason is None and is_new and size is not None:
            files, total = self._new_files + plan.new_files + 1, self._new_bytes + plan.new_bytes + size
            if files > self._limits.new_files or total > self._limits.new_bytes:
                reason = LeftOutReason.TOO_MUCH
            else:
                plan.new_files += 1
                plan.new_bytes += size
        if size is None:
            plan.remove.append(path)
        elif reason is None:
            plan.take[path] = permissions
            plan.taken_bytes += size
        else:
            plan.left_out.append(LeftOut(path, reason, size))
            plan.stale += [] if is_new else [path]
            # What is not one of git's kinds of file is gone as one; an open conflict cannot become a tree.
            if reason is LeftOutReason.SPECIAL or is_conflict:
                plan.remove.append(path)

    # -- storing -------------------------------------------------------------------------------------------

    async def _store(self, plan: _Plan, conflicts: set[str]) -> None:
        if plan.remove:
            await remove_entries(self._mirror, plan.remove)
        failed = await self._take(list(plan.take), failures=[0])
        plan.left_out += (LeftOut(path, LeftOutReason.UNREADABLE) for path in failed)
        if open_conflicts := conflicts.intersection(failed):
            await remove_entries(self._mirror, sorted(open_conflicts))

    async def _take(self, paths: list[str], failures: list[int]) -> list[str]:
        """Store files. Returns those that git cannot read or convert: one such must not hide all others."""
        if not paths:
            return []
        try:
            await take_entries(self._mirror, paths)
        except GitFailed:
            failures[0] += 1
            if failures[0] > _MAX_FAILURES:
                raise
            if len(paths) == 1:
                return paths
            middle = len(paths) // 2
            return [
                *await self._take(paths[:middle], failures),
                *await self._take(paths[middle:], failures),
            ]
        return []


async def take_entries(
    mirror: Mirror, paths: Iterable[str], environment: dict[str, str] | None = None
) -> None:
    """Put files, as they are in the work tree, into an index; those that are gone are taken out of it."""
    await mirror.run(
        *("update-index", "--add", "--remove", "--replace", "-z", "--stdin"),
        doing="store the files that changed",
        data=b"".join(os.fsencode(path) + b"\0" for path in paths),
        environment=environment,
    )


async def remove_entries(mirror: Mirror, paths: Iterable[str]) -> None:
    """Take files out of the private index, whatever is in the work tree."""
    await mirror.run(
        *("update-index", "-z", "--index-info"),
        doing="store which files are gone",
        data=b"".join(removal(mirror.repository, path) for path in paths),
    )


def removal(repository: Repository, full_path: str) -> bytes:
    """What tells `update-index --index-info` that a file is to be no part of the index."""
    return f"0 {repository.no_content}\t".encode() + os.fsencode(full_path) + b"\0"


def _literally(path: str) -> str:
    """A pattern of ignored files that means one path."""
    return re.sub(r"([\\*?\[\] ])", r"\\\1", path)


class Judged(NamedTuple):
    """What a look at a file says."""

    reason: LeftOutReason | None
    """Why it is to be left out, if so."""
    size: int | None
    """`None` when there is no file."""
    permissions: int = 0


def judge_file(top: str, path: str, limits: Limits) -> Judged:
    """Whether a file is to be left out, by what the file system tells of it."""
    try:
        found = os.lstat(f"{top}/{path}")
    except (FileNotFoundError, NotADirectoryError):
        return Judged(None, None)
    except OSError:
        return Judged(LeftOutReason.UNREADABLE, 0)
    if stat.S_ISDIR(found.st_mode):
        return Judged(None, None)
    if not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
        return Judged(LeftOutReason.SPECIAL, 0)
    reason = LeftOutReason.TOO_LARGE if found.st_size > limits.file_bytes else None
    return Judged(reason, found.st_size, found.st_mode & 0o777 if stat.S_ISREG(found.st_mode) else 0)


def is_beyond_a_link(top: str, path: str) -> bool:
    """Whether a directory on the way to a path is a symbolic link: then it is not in the work tree."""
    place = top
    for name in path.split("/")[:-1]:
        place = f"{place}/{name}"
        if os.path.islink(place):  # noqa: PTH114 - text, not a Path
            return True
    return False
