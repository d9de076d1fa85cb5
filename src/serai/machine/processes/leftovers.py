"""What a host that died has left behind is ended by the next one, or by its warden."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from serai.machine.processes.census import Identity, Process, census, look, members
from serai.machine.processes.ending import end_processes
from serai.machine.processes.records import Record, Records

__all__ = ["Leftover", "end_leftovers"]


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

    Records of a host that still runs are left alone, this one's own too. A record of which nothing runs any
    more is taken away in silence. Cancelling it leaves the records, for another time.

    Args:
        directory: Where the records are; it need not exist.
        grace: How long the processes may take to end by themselves, in seconds.
    """
    records = Records(directory)
    orphaned = await asyncio.to_thread(_orphaned, records)
    if not orphaned:
        return []
    found = await asyncio.to_thread(_find, orphaned)

    async def left() -> list[Process]:
        return list(
            {p.pid: p for each in (await asyncio.to_thread(_find, orphaned)).values() for p in each}.values()
        )

    survivors = {process.pid for process in await end_processes(left, grace=grace)}
    leftovers: list[Leftover] = []
    for mark, record in orphaned.items():
        pids = tuple(process.pid for process in found[mark])
        ended = survivors.isdisjoint(pids)
        if ended:
            records.remove(mark)
        if pids:
            leftovers.append(Leftover(record.what, pids, ended))
    return leftovers


def _orphaned(records: Records) -> dict[str, Record]:
    return {mark: record for mark, record in records.all().items() if not _runs(record.host)}


def _find(records: dict[str, Record]) -> dict[str, list[Process]]:
    everyone = census()
    return {mark: members(everyone, mark, record.child, record.keeper) for mark, record in records.items()}


def _runs(identity: Identity | None) -> bool:
    if identity is None:
        return False
    process = look(identity.pid)
    return process is not None and not process.dead and process.started == identity.started
