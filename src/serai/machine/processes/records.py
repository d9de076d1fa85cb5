"""What is written down of a child, so that it can be found when the host that started it is gone.

A record is made *before* its child, and its name is the mark that the child will carry. So there is no moment
at which a child runs unrecorded: killed between the two, the host leaves a record without a pid, and the mark
finds the child. With the pid and the start time the record also finds a child that has lost its mark.

Nothing is synced to the disk: records matter when the host dies and the system does not. When that dies too,
so do the children.
"""

from __future__ import annotations

import os
from pathlib import Path

import msgspec

from serai.machine.processes.census import Identity

__all__ = ["Record", "Records"]

_SUFFIX = ".json"


class Record(msgspec.Struct, frozen=True, omit_defaults=True):
    """One child."""

    what: str
    """What it is, for people."""
    host: Identity | None = None
    """Who started it."""
    child: Identity | None = None
    """The child itself, the leader of its session; `None` while it is being started."""
    keeper: Identity | None = None
    """The process below which all of it is."""


class Records:
    """The records of one host, a small file each. They are for its owner alone.

    Args:
        directory: Where they are. It is made when it is needed.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def write(self, mark: str, record: Record) -> None:
        """Write a record, or write it anew: a reader sees the old one or the new one.

        Raises:
            OSError: It cannot be written.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(mark)
        beside = path.with_suffix(".new")
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            with os.fdopen(file, "wb") as stream:
                stream.write(msgspec.json.encode(record))
            beside.replace(path)
        except OSError:
            beside.unlink(missing_ok=True)
            raise

    def remove(self, mark: str) -> None:
        """Take a record away; one that is not there is no error."""
        self._path(mark).unlink(missing_ok=True)

    def all(self) -> dict[str, Record]:
        """All records by their marks. One that is damaged is still a mark to look for."""
        found: dict[str, Record] = {}
        for path in sorted(self.directory.glob(f"*{_SUFFIX}")):
            try:
                found[path.stem] = msgspec.json.decode(path.read_bytes(), type=Record)
            except FileNotFoundError:
                continue
            except (OSError, msgspec.DecodeError):
                found[path.stem] = Record(what="a process whose record is damaged")
        return found

    def _path(self, mark: str) -> Path:
        return self.directory / f"{mark}{_SUFFIX}"
