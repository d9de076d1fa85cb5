"""What a turn has started, when someone cancels it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from harness.conversation import Conversation, frame
from hosts import WITHIN
from machine.processes.watching import content, runs, until, written_pid
from serai.errors import SessionGone
from serai.harness.callback import CallbackHarness
from serai.host.host import Host
from serai.host.surroundings.terminals import HostTerminal
from serai.host.turn import Turn
from serai.store.memory import MemoryStore


@pytest.mark.parametrize("when", ["before", "meanwhile", "after"])
async def test_a_turn_that_is_cancelled_leaves_no_program(tmp_path: Path, when: str) -> None:
    """The program is started beside the answer, as it is for agents that ask for one."""
    pid = tmp_path / "pid"
    argv = ["sh", "-c", f"echo $$ > {pid}; exec sleep 100"]
    starting: list[asyncio.Task[HostTerminal]] = []
    is_over = asyncio.Event()

    async def start(turn: Turn) -> HostTerminal:
        if when == "before":
            await is_over.wait()
        return await turn.terminal(argv)

    async def answer(turn: Turn) -> None:
        assert turn.task is not None
        turn.task.add_done_callback(lambda _: is_over.set())
        starting.append(asyncio.create_task(start(turn)))
        await asyncio.sleep(0)
        if when == "after":
            await written_pid(pid)
            await asyncio.wait(starting)
        turn.task.cancel()
        await asyncio.get_running_loop().create_future()

    host = Host(MemoryStore(), [CallbackHarness("runs", answer)], frame)
    await host.open()
    try:
        conversation = await Conversation.begin(host, "runs")
        conversation.start("go")
        async with asyncio.timeout(WITHIN):
            await is_over.wait()
        conversation.cancel()
        (task,) = starting
        await asyncio.wait(starting, timeout=WITHIN)
        if when == "after":
            assert task.result().content.resource.startswith("ahp-terminal:/")
            await until(lambda: not runs(int(content(pid))))
        else:
            with pytest.raises(SessionGone):
                task.result()
            assert not content(pid) or not runs(int(content(pid)))
    finally:
        await host.close()
