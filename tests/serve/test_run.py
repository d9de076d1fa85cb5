"""When a host looks for garbage."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator

import pytest

from serai.serve import run
from serai.serve.run import collect_in_pauses, settle

LIMIT = 30.0


@pytest.fixture(autouse=True)
def as_it_was() -> Iterator[None]:
    thresholds = gc.get_threshold()
    yield
    gc.set_threshold(*thresholds)
    gc.unfreeze()


class Ring:
    """Refers to itself: only a search finds that nobody else does."""

    def __init__(self) -> None:
        self.itself = self


def test_what_has_become_old_is_not_looked_through_in_the_middle_of_work() -> None:
    settle()
    searches: list[int] = []

    def noted(phase: str, info: dict[str, int]) -> None:
        if phase == "stop":
            searches.append(info["generation"])

    gc.callbacks.append(noted)
    try:
        kept = [[number] for number in range(300_000)]
    finally:
        gc.callbacks.remove(noted)
    assert len(kept) == 300_000
    assert 1 in searches
    assert 2 not in searches


async def test_garbage_that_has_become_old_goes_in_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run, "_PAUSE", 0.001)
    settle()
    ring = Ring()
    gone = asyncio.Event()
    loop = asyncio.get_running_loop()
    weakref.finalize(ring, loop.call_soon, gone.set)
    gc.collect(1)  # it is old now, and all but the oldest were looked through once
    del ring
    assert not gone.is_set()
    collecting_task = asyncio.create_task(collect_in_pauses(lambda: 0))
    async with asyncio.timeout(LIMIT):
        await gone.wait()
    collecting_task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await collecting_task
