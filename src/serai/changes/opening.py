"""The changesets of a working directory, by whatever means there are."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from serai.changes.closed import Closed
from serai.changes.git import Git, find_git
from serai.changes.mirror import Mirror, prefix_of
from serai.changes.noted import NotedChanges
from serai.changes.records import Limits
from serai.changes.repository import Repository, find_repository
from serai.changes.tracked import TrackedChanges
from serai.changes.trees import RecordedTrees
from serai.errors import FileUnreadable, GitFailed, GitUnavailable

__all__ = ["SessionChanges", "Whereabouts", "inherit", "may_be_tracked", "open_changes", "whereabouts"]

SessionChanges: TypeAlias = TrackedChanges | NotedChanges

_GIT, _NOTED = "git", "noted"
"""What is kept in the private folder of a session."""
_TOP = "top"
"""The file of a private side that has the root of its work tree."""


async def open_changes(
    directory: str,
    session_id: str,
    *,
    folder: Path,
    trusted: Callable[[], bool],
    limits: Limits | None = None,
    home: Path | None = None,
) -> SessionChanges:
    """The changes of a session: as git sees them, else what tools edited.

    Args:
        directory: The working directory, absolute, as the session names it.
        session_id: The session.
        folder: A private folder for this session alone. What an earlier run of the host left there is taken
            up again.
        trusted: Whether the person trusts the directory now. It is asked again and again.
        limits: How much is looked at.
        home: The host's own folder, which may be in the directory: nothing in it is a change. By default the
            private folder.

    Raises:
        FileUnreadable: The directory is in the host's own folder.
        GitFailed: The private folder cannot be made.
    """
    closed = Closed(home or folder)
    if await asyncio.to_thread(closed.surrounds, directory):
        raise FileUnreadable("the working directory is in the host's own folder, where nothing is a change")
    noted = await asyncio.to_thread(
        NotedChanges, directory, session_id, folder=folder / _NOTED, limits=limits, closed=closed
    )
    why: str | None = None
    try:
        git = await find_git()
        repository = await find_repository(git, directory)
        if repository is None:
            noted.former = await _former(git, directory, folder / _GIT, closed)
    except (GitUnavailable, GitFailed) as error:
        why = str(error)
    else:
        if repository is not None:
            side = await asyncio.to_thread(_private_side, folder, repository)
            was_elsewhere = await asyncio.to_thread(_has_others, folder, side)
            tracked = TrackedChanges(
                directory,
                session_id,
                repository=repository,
                folder=side,
                git=git,
                trusted=trusted,
                limits=limits,
                closed=closed,
                noted=noted,
            )
            await tracked.open()
            await asyncio.to_thread(_note_top, side, repository)
            if was_elsewhere:
                await tracked.begin_session({})  # late: what it began with is recorded for another place
            return tracked
    noted.why = why
    return noted


def _private_side(folder: Path, repository: Repository) -> Path:
    """Where the private side is kept for a directory in a repository.

    What was recorded while the directory was in another place, or another repository, cannot be compared with
    what there is now: all files in it are others.
    """
    first = folder / _GIT
    if prefix_of(first) is None:
        return first
    if prefix_of(first) == repository.prefix and _top_of(first) in {None, repository.top}:
        return first
    place = os.fsencode(f"{repository.top}\0{repository.prefix}")
    return folder / f"{_GIT}-{hashlib.sha256(place).hexdigest()[:12]}"


def _has_others(folder: Path, side: Path) -> bool:
    """Whether there are private sides for other places."""
    return any(one != side and prefix_of(one) is not None for one in folder.glob(f"{_GIT}*"))


def _top_of(side: Path) -> str | None:
    try:
        return os.fsdecode((side / _TOP).read_bytes())
    except OSError:
        return None


def _note_top(side: Path, repository: Repository) -> None:
    if _top_of(side) == repository.top:
        return
    try:
        (side / _TOP).write_bytes(os.fsencode(repository.top))
    except OSError as error:
        raise GitFailed(f"the private folder of the changes cannot be made: {error.strerror}") from None


async def _former(git: Git, directory: str, folder: Path, closed: Closed) -> RecordedTrees | None:
    """What was recorded while a directory was in a repository; `None` when it never was."""
    prefix = await asyncio.to_thread(prefix_of, folder)
    if prefix is None:
        return None
    # There is no repository but the private side, which has all of its own settings.
    repository = Repository(directory, str(folder), str(folder), "sha1", prefix)
    trees = RecordedTrees(Mirror(git, repository, folder, lambda: False, closed))
    await trees.load()
    return trees


async def inherit(changes: SessionChanges, source: Path, turn_ids: Sequence[str], *, directory: str) -> None:
    """Take over what another session recorded of its turns, for one that was forked from it.

    That is possible where both are in the same place. Of other turns it is noted that they were elsewhere.

    Args:
        changes: The changes of the new session.
        source: The private folder of the other one.
        turn_ids: The turns that they have in common.
        directory: The working directory of the other one.

    Raises:
        GitFailed: What was recorded cannot be read, or not be taken over.
    """
    if isinstance(changes, TrackedChanges):
        side = await asyncio.to_thread(_side_of, source, changes.directory)
        await changes.adopt(side, source / _NOTED, turn_ids, directory=directory)
    else:
        await changes.adopt(source / _NOTED, turn_ids, directory=directory)


def _side_of(source: Path, directory: str) -> Path:
    """The private side of another session for the place where a directory is."""
    root = whereabouts(directory).root
    return next((side for side in sorted(source.glob(f"{_GIT}*")) if _top_of(side) == root), source / _GIT)


class Whereabouts(NamedTuple):
    """Where a directory is, as the file system tells it."""

    place: str
    """Where it is without any link."""
    root: str | None
    """The nearest folder above, or itself, that looks like the root of a work tree."""


def whereabouts(directory: str) -> Whereabouts:
    """Where a directory is. Looks only for what every work tree has; reads the disk."""
    place = os.path.realpath(directory)
    above = (Path(place), *Path(place).parents)
    root = next((str(folder) for folder in above if os.path.lexists(folder / ".git")), None)
    return Whereabouts(place, root)


def may_be_tracked(directory: str) -> bool:
    """Whether a directory may be in a repository. Only looks for what every work tree has; reads the disk."""
    return whereabouts(directory).root is not None
