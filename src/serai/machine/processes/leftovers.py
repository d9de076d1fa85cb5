"""What is written down of a child, so that it can be ended when the host that started it is gone.

A record is made *before* its child, and its name is the mark from which the child's number is made
(`census`). So there is no moment at which a child runs unrecorded: killed between the two, the host leaves a
record without a pid, and the number finds the child.

Nothing is synced to the disk: records matter when the host dies and the system does not. When that dies too,
so do the children.
"""

from __future__ import annotations

import asyncio
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import msgspec

from serai.machine.draft import write_private
from serai.machine.processes.census import Process, ProcessIdentity, census, is_running, members, send

__all__ = ["ChildRecord", "ChildRecords", "Leftover", "end_leftovers", "end_members"]

_SUFFIX = ".json"
_PATIENCE = 5.0
"""How long a killed process may take to go, in seconds. With a broken disk it may take for ever."""
_LOOK = 0.02


class ChildRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    """One child."""

    what: str
    """What it is, for people."""
    host: ProcessIdentity | None = None
    """Who started it."""
    child: ProcessIdentity | None = None
    """The child itself, the leader of its session; `None` while it is being started."""


class ChildRecords:
    """The records of one host, a small file each. They are for its owner alone.

    Args:
        directory: Where they are. It is made when it is needed.
    """

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def write(self, mark: str, record: ChildRecord) -> None:
        """Write a record, or write it anew: a reader sees the old one or the new one.

        Raises:
            OSError: It cannot be written.
        """
        self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_private(self._path(mark), msgspec.json.encode(record))

    def remove(self, mark: str) -> None:
        """Take a record away; one that is not there is no error."""
        self._path(mark).unlink(missing_ok=True)

    def all(self) -> dict[str, ChildRecord]:
        """All records by their marks. One that is damaged is still a mark to look for."""
        found: dict[str, ChildRecord] = {}
        for path in sorted(self.directory.glob(f"*{_SUFFIX}")):
            try:
                found[path.stem] = msgspec.json.decode(path.read_bytes(), type=ChildRecord)
            except FileNotFoundError:
                continue
            except (OSError, msgspec.DecodeError):
                found[path.stem] = ChildRecord(what="a process whose record is damaged")
        return found

    def orphaned(self) -> dict[str, ChildRecord]:
        """The records whose host is gone. Reads what the system says of its processes."""
        return {
            mark: record
            for mark, record in self.all().items()
            if record.host is None or not is_running(record.host)
        }

    def _path(self, mark: str) -> Path:
        return self.directory / f"{mark}{_SUFFIX}"


# -- what dead hosts left ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leftover:
    """A child of a host that is gone."""

    what: str
    pids: tuple[int, ...]
    """The processes of it that still ran."""
    ended: bool
    """Whether all of them are gone now. If not, the record stays."""


async def end_leftovers(directory: Path, grace: float = 1.0) -> list[Leftover]:
    """End what hosts that are gone have left in this directory's records, and say what that was.

    Those of a host that still runs are left alone, this one's own too. A record of which nothing runs any
    more is taken away in silence. Cancelling it leaves the records, for another time.

    Args:
        directory: Where the records are; it need not exist.
        grace: How long the processes may take to end by themselves, in seconds.
    """
    records = ChildRecords(directory)
    orphaned = await asyncio.to_thread(records.orphaned)
    if not orphaned:
        return []
    found = await asyncio.to_thread(_find, orphaned)
    survivors = set(await asyncio.to_thread(end_members, orphaned, grace))
    leftovers: list[Leftover] = []
    for mark, record in orphaned.items():
        pids = tuple(process.pid for process in found[mark])
        ended = survivors.isdisjoint(pids)
        if ended:
            records.remove(mark)
        if pids:
            leftovers.append(Leftover(record.what, pids, ended))
    return leftovers


def end_members(records: dict[str, ChildRecord], grace: float) -> list[int]:
    """End all that records name, also what appears meanwhile. Blocks; returns the pids that would not go.

    They get TERM, then as long as `grace`, then KILL. A stopped one is continued, so that it can react.
    """
    left = _all(records)
    for process in left:
        send(process.identity, signal.SIGTERM, signal.SIGCONT)
    _wait(left, grace)
    deadline = time.monotonic() + _PATIENCE
    while left := _all(records):
        if time.monotonic() > deadline:
            break
        for process in left:
            send(process.identity, signal.SIGKILL)
        _wait(left, _LOOK)
    return [process.pid for process in left]


def _find(records: dict[str, ChildRecord]) -> dict[str, list[Process]]:
    everyone = census()
    return {mark: members(everyone, mark, record.child) for mark, record in records.items()}


def _all(records: dict[str, ChildRecord]) -> list[Process]:
    return list({one.pid: one for found in _find(records).values() for one in found}.values())


def _wait(processes: list[Process], limit: float) -> None:
    """Wait until they are gone, or the time is over. They are not our children, so nobody tells us."""
    deadline = time.monotonic() + limit
    while any(is_running(process.identity) for process in processes) and time.monotonic() < deadline:
        time.sleep(_LOOK)
