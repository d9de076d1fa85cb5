"""The changesets of a working directory, by whatever means there are."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from serai.changes.closed import Closed
from serai.changes.git import find_git
from serai.changes.noted import NotedChanges
from serai.changes.records import Limits
from serai.changes.repository import find_repository
from serai.changes.tracked import TrackedChanges
from serai.errors import FileUnreadable, GitFailed, GitUnavailable

__all__ = ["SessionChanges", "may_be_tracked", "open_changes"]

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
    noted = await asyncio.to_thread(
        NotedChanges, directory, session_id, folder=folder / "noted", limits=limits, closed=closed
    )
    why: str | None = None
    try:
        git = await find_git()
        repository = await find_repository(git, directory)
    except (GitUnavailable, GitFailed) as error:
        why = str(error)
    else:
        if repository is not None:
            tracked = TrackedChanges(
                directory,
                session_id,
                repository=repository,
                folder=folder / "git",
                git=git,
                trusted=trusted,
                limits=limits,
                closed=closed,
                noted=noted,
            )
            await tracked.open()
            return tracked
    noted.why = why
    return noted


def may_be_tracked(directory: str) -> bool:
    """Whether a directory may be in a repository. Only looks for what every work tree has; reads the disk."""
    place = Path(directory)
    return any(os.path.lexists(folder / ".git") for folder in (place, *place.parents))
