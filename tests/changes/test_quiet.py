"""Looks at a work tree and undoing in it take turns."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import pytest

from changes.repositories import Repo, tracked
from serai.changes import discarding
from serai.changes.catalogue import UNCOMMITTED
from serai.changes.quiet import Quiet, quiet_in
from serai.changes.scanning import Scanner


class Log:
    """Who was inside, in order; each stays until it may leave."""

    def __init__(self) -> None:
        self.quiet = Quiet()
        self.seen: list[str] = []
        self.leave: dict[str, asyncio.Event] = {}

    def start(self, name: str) -> asyncio.Task[None]:
        self.leave[name] = asyncio.Event()
        return asyncio.ensure_future(self._run(name))

    async def _run(self, name: str) -> None:
        block = self.quiet.undoing() if name.startswith("undo") else self.quiet.looking()
        async with block:
            self.seen.append(name)
            await self.leave[name].wait()
            self.seen.append(f"{name} ends")

    async def settle(self) -> None:
        for _ in range(10):
            await asyncio.sleep(0)


async def test_many_look_at_once() -> None:
    log = Log()
    tasks = [log.start("look 1"), log.start("look 2")]
    await log.settle()
    assert log.seen == ["look 1", "look 2"]
    for name in log.leave:
        log.leave[name].set()
    await asyncio.gather(*tasks)


async def test_who_undoes_waits_for_those_who_look_and_those_who_come_later_wait_for_it() -> None:
    log = Log()
    tasks = [log.start(name) for name in ("look 1", "undo", "look 2")]
    await log.settle()
    assert log.seen == ["look 1"]
    for name in ("look 1", "undo", "look 2"):
        log.leave[name].set()
        await log.settle()
    assert log.seen == ["look 1", "look 1 ends", "undo", "undo ends", "look 2", "look 2 ends"]
    await asyncio.gather(*tasks)


async def test_who_waits_can_be_cancelled() -> None:
    log = Log()
    first, undo, second = (log.start(name) for name in ("look 1", "undo", "look 2"))
    await log.settle()
    undo.cancel()
    await log.settle()
    assert log.seen == ["look 1", "look 2"]
    second.cancel()
    first.cancel()
    await log.settle()
    last = log.start("undo again")
    log.leave["undo again"].set()
    await asyncio.wait_for(last, 10)


def test_all_in_one_work_tree_have_the_same() -> None:
    one = quiet_in("/inn/a")
    assert quiet_in("/inn/a") is one
    assert quiet_in("/inn/b") is not one


async def test_no_session_looks_while_another_undoes_in_its_folder(
    repo: Repo, private: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.write("a.txt", "changed\n")
    ours, theirs = await tracked(repo.top, private), await tracked(repo.top, tmp_path / "theirs")
    order: list[str] = []
    looked = threading.Event()
    loop = asyncio.get_running_loop()
    begun: asyncio.Future[asyncio.Task[None]] = loop.create_future()
    put_back, refresh = discarding.put_back, Scanner.refresh

    def begin() -> None:
        begun.set_result(asyncio.ensure_future(theirs.begin_turn("t")))

    def undo(*args: Any, **options: Any) -> Any:
        looked.clear()
        loop.call_soon_threadsafe(begin)
        looked.wait(0.3)
        order.append("undone")
        return put_back(*args, **options)

    async def look(scanner: Scanner) -> None:
        order.append("looked")
        looked.set()
        await refresh(scanner)

    await ours.compute(UNCOMMITTED)
    monkeypatch.setattr(discarding, "put_back", undo)
    monkeypatch.setattr(Scanner, "refresh", look)
    await ours.discard(UNCOMMITTED, None)
    await (await begun)
    assert order == ["looked", "undone", "looked"]
