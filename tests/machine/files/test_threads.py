"""The threads that wait for the disk, and who waits for whom."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator

import pytest

from machine.files.desk import Desk, uri
from serai.errors import ProtocolError
from serai.machine import files
from serai.machine.files.threads import AT_ONCE, FileThreads, check_not_stopping, locked_places

WITHIN = 30.0


@pytest.fixture
async def threads() -> AsyncIterator[FileThreads]:
    threads = FileThreads()
    async with asyncio.timeout(WITHIN):
        yield threads
        await threads.close()


async def test_closing_drops_what_waits_and_stops_what_can_be_stopped() -> None:
    threads, begun = FileThreads(), threading.Semaphore(0)
    idle = threading.Event()

    def work() -> None:
        begun.release()
        while True:
            idle.wait(0.001)
            check_not_stopping()

    tasks = [asyncio.create_task(threads.run(work)) for _ in range(AT_ONCE + 5)]
    for _ in range(AT_ONCE):
        assert await asyncio.to_thread(begun.acquire, timeout=WITHIN)
    async with asyncio.timeout(WITHIN):
        await threads.close()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in results} <= {ProtocolError, asyncio.CancelledError}
    assert sum(isinstance(result, ProtocolError) for result in results) >= AT_ONCE


async def test_changes_to_one_place_wait_for_each_other_and_those_to_others_do_not(desk: Desk) -> None:
    for number in range(30):
        (desk.work / f"{number}").touch()
    with files.find(uri(desk.work / "0"), desk.roots, write=True) as place, locked_places(place):
        deleting = asyncio.create_task(asyncio.to_thread(desk.delete, desk.work / "0"))
        async with asyncio.timeout(WITHIN):
            for number in range(1, 30):
                await asyncio.to_thread(desk.delete, desk.work / f"{number}")
        assert not deleting.done()
    await deleting
    assert list(desk.work.iterdir()) == []
