"""Work that must not stop half-way."""

from __future__ import annotations

import asyncio

import pytest

from serai.machine.processes.uninterrupted import to_its_end


async def several_steps() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


async def test_work_is_waited_for_and_then_the_cancelling_is_told() -> None:
    may_end = asyncio.Event()
    waiting = asyncio.create_task(to_its_end(may_end.wait()))
    for _ in range(3):
        await several_steps()
        waiting.cancel()
    await several_steps()
    assert not waiting.done()
    may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert await to_its_end(may_end.wait())
