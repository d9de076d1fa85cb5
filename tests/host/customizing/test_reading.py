"""Threads that read customisations, and that nobody has to wait for."""

from __future__ import annotations

import asyncio
import threading
import time
from pathlib import Path

import pytest

from serai.customizations import Found
from serai.host.customizing import customized_folders
from serai.host.customizing.customized_folders import CustomizedFolders
from serai.host.customizing.reading import Readers

WITHIN = 10.0


class Slow:
    """Something that is read until it is let go, or much too long."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.let_go = threading.Event()
        self.threads: list[threading.Thread] = []

    def read(self, *_arguments: object, **_options: object) -> Found:
        self.threads.append(threading.current_thread())
        self.begun.release()
        self.let_go.wait(WITHIN)
        return Found()

    async def has_begun(self) -> None:
        assert await asyncio.to_thread(self.begun.acquire, timeout=WITHIN)

    def end(self) -> None:
        self.let_go.set()
        for thread in self.threads:
            thread.join(WITHIN)
            assert not thread.is_alive()


async def test_what_is_read_is_returned_and_what_fails_is_raised() -> None:
    readers = Readers()
    assert await readers.run(divmod, 7, 2) == (3, 1)
    for _ in range(5):
        with pytest.raises(ZeroDivisionError):
            await readers.run(divmod, 7, 0)
    assert await readers.run(lambda: threading.current_thread().daemon)


async def test_only_so_many_read_at_the_same_time_also_when_nobody_waits_for_them() -> None:
    readers, slow = Readers(), Slow()
    reading = [asyncio.create_task(readers.run(slow.read)) for _ in range(3)]
    await slow.has_begun()
    await slow.has_begun()
    for task in reading[:2]:
        task.cancel()
    await asyncio.wait(reading[:2])
    assert all(task.cancelled() for task in reading[:2])
    assert len(slow.threads) == 2
    assert not reading[2].done()
    slow.end()
    async with asyncio.timeout(WITHIN):
        assert await reading[2] == Found()


def test_a_host_that_stops_does_not_wait_for_a_folder_that_is_being_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Slow()
    monkeypatch.setattr(customized_folders, "discover", slow.read)

    async def run() -> None:
        folders = CustomizedFolders(tmp_path / "person", lambda _folder: False)
        folders.enter(tmp_path).look()
        await slow.has_begun()
        await folders.close()

    began = time.monotonic()
    asyncio.run(run())
    assert time.monotonic() - began < WITHIN / 2
    slow.end()
