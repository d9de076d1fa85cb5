"""What there is now of a folder that was opened some time ago."""

from __future__ import annotations

import os
from typing import NamedTuple

from serai.changes.opening import SessionChanges
from serai.changes.tracked import TrackedChanges
from serai.changes.whereabouts import Whereabouts, whereabouts

__all__ = ["Seen", "look_at"]


class Seen(NamedTuple):
    """What there is of a folder now."""

    is_there: bool
    is_gone: bool
    """Whether it is there, and its repository is not."""
    leads_nowhere: bool
    """Whether it is a link that is gone, and the folder that it led to is there."""
    whereabouts: Whereabouts


def look_at(changes: SessionChanges) -> Seen:
    """What there is of the folder that changes are of. Reads the disk."""
    is_there = os.path.isdir(changes.directory)  # noqa: PTH112 - text, not a Path
    return Seen(
        is_there,
        isinstance(changes, TrackedChanges) and changes.is_gone(),
        not is_there and os.path.isdir(changes.place),  # noqa: PTH112 - text, not a Path
        whereabouts(changes.directory),
    )
