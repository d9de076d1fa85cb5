"""The changesets of a working directory, by whatever means there are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from serai.changes.closed import Closed
from serai.changes.elsewhere import Elsewhere
from serai.changes.git import Git, find_git
from serai.changes.noted import NotedChanges
from serai.changes.records import Limits
from serai.changes.repository import Repository, find_repository
from serai.changes.sides import note_top, noted_side, other_sides, tracked_side
from serai.changes.tracked import TrackedChanges
from serai.errors import FileUnreadable, GitFailed, GitUnavailable

__all__ = ["SessionChanges", "inherit", "open_changes"]

SessionChanges: TypeAlias = TrackedChanges | NotedChanges


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
    limits = limits or Limits()
    place = await asyncio.to_thread(os.path.realpath, directory)
    notes = await asyncio.to_thread(noted_side, folder, place)
    noted = await asyncio.to_thread(
        NotedChanges, directory, session_id, folder=notes, limits=limits, closed=closed
    )
    git: Git | None = None
    repository: Repository | None = None
    try:
        git = await find_git()
        repository = await find_repository(git, place)
    except (GitUnavailable, GitFailed) as error:
        noted.why = str(error)
    side = await asyncio.to_thread(tracked_side, folder, repository) if repository is not None else None
    others = await asyncio.to_thread(other_sides, folder, notes, side)
    elsewhere = Elsewhere(others, git, limits, closed) if others else None
    if git is None or repository is None or side is None:
        noted.elsewhere = elsewhere
        return noted
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
        elsewhere=elsewhere,
    )
    await tracked.open()
    await asyncio.to_thread(note_top, side, repository)
    if elsewhere is not None:
        await tracked.begin_session({})  # late: what it began with is recorded for another place
    return tracked


async def inherit(changes: SessionChanges, source: Path, turn_ids: Sequence[str]) -> None:
    """Take over what another session recorded of its turns, for one that was forked from it.

    That is possible where both are in the same place. Of other turns it is noted that they were elsewhere.

    Args:
        changes: The changes of the new session.
        source: The private folder of the other one.
        turn_ids: The turns that they have in common.

    Raises:
        GitFailed: What was recorded cannot be read, or not be taken over.
    """
    noted = await asyncio.to_thread(noted_side, source, changes.place)
    if isinstance(changes, TrackedChanges):
        git = await asyncio.to_thread(tracked_side, source, changes.repository)
        await changes.adopt(git, noted, turn_ids)
    else:
        await changes.adopt(noted, turn_ids)
