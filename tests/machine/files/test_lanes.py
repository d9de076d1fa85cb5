"""Short work and long work in threads."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any, ParamSpec, TypeVar

import pytest

from machine.files.desk import Desk, uri
from serai.ahp import commands as c
from serai.ahp.types import ROOT
from serai.errors import ProtocolError
from serai.machine import files
from serai.machine.files import Roots
from serai.machine.files.lanes import LONG_AT_ONCE, Lanes, go_on, takes_long
from serai.machine.files.turns import alone_at

P = ParamSpec("P")
T = TypeVar("T")

WITHIN = 30.0
MANY = 40


@pytest.fixture
async def lanes() -> AsyncIterator[Lanes]:
    lanes = Lanes()
    async with asyncio.timeout(WITHIN):
        yield lanes
        await lanes.close()


class Gate:
    """Long work that waits until it may go on."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.inside = 0
        self.most = 0
        self._lock = threading.Lock()

    def pass_through(self) -> str:
        takes_long()
        with self._lock:
            self.inside += 1
            self.most = max(self.most, self.inside)
        assert self.open.wait(WITHIN)
        with self._lock:
            self.inside -= 1
        return "through"


async def test_short_work_does_not_wait_for_long_work(lanes: Lanes) -> None:
    gate = Gate()
    long = [asyncio.create_task(lanes.run(gate.pass_through)) for _ in range(MANY)]
    assert [await lanes.run(lambda: "short") for _ in range(MANY)] == ["short"] * MANY
    assert await asyncio.to_thread(lambda: "the host's own") == "the host's own"
    gate.open.set()
    assert await asyncio.gather(*long) == ["through"] * MANY
    assert gate.most <= LONG_AT_ONCE


async def test_what_is_called_outside_of_the_lanes_just_takes_as_long_as_it_takes() -> None:
    takes_long()
    go_on()


async def test_what_fails_fails_in_either_lane(lanes: Lanes) -> None:
    def fail(*, late: bool) -> None:
        if late:
            takes_long()
        raise ProtocolError("no")

    for late in (False, True):
        with pytest.raises(ProtocolError, match="no"):
            await lanes.run(fail, late=late)


async def test_closing_drops_what_waits_and_stops_what_can_be_stopped() -> None:
    lanes, begun = Lanes(), threading.Semaphore(0)

    def work() -> None:
        takes_long()
        begun.release()
        while True:
            go_on()

    tasks = [asyncio.create_task(lanes.run(work)) for _ in range(MANY)]
    for _ in range(LONG_AT_ONCE):
        assert await asyncio.to_thread(begun.acquire, timeout=WITHIN)
    async with asyncio.timeout(WITHIN):
        await lanes.close()
        results = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in results} <= {ProtocolError, asyncio.CancelledError}
    assert sum(isinstance(result, ProtocolError) for result in results) >= LONG_AT_ONCE


# -- which work is long ------------------------------------------------------------------------------------


class Told(Lanes):
    """Lanes that say which work was long."""

    def __init__(self) -> None:
        super().__init__()
        self.long = 0
        self.has_long = asyncio.Event()

    async def run_long(self, do: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        self.long += 1
        self.has_long.set()
        return await super().run_long(do, *args, **kwargs)


@pytest.fixture
async def told() -> AsyncIterator[Told]:
    told = Told()
    async with asyncio.timeout(WITHIN):
        yield told
        await told.close()


async def test_a_tree_is_long_and_a_file_is_short(desk: Desk, told: Told) -> None:
    (desk.work / "tree").mkdir()
    (desk.work / "tree/a").write_text("1")

    def copy(source: str, destination: str) -> c.ResourceCopyParams:
        return c.ResourceCopyParams(
            channel=ROOT, source=uri(desk.work / source), destination=uri(desk.work / destination)
        )

    def delete(name: str) -> c.ResourceDeleteParams:
        return c.ResourceDeleteParams(channel=ROOT, uri=uri(desk.work / name), recursive=True)

    await told.run(files.copy, copy("tree/a", "b"), desk.roots)
    await told.run(files.delete, delete("b"), desk.roots)
    assert told.long == 0
    await told.run(files.copy, copy("tree", "other"), desk.roots)
    assert (told.long, (desk.work / "other/a").read_text()) == (1, "1")
    await told.run(files.delete, delete("other"), desk.roots)
    assert (told.long, (desk.work / "other").exists()) == (2, False)


async def test_a_large_file_is_long(desk: Desk, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serai.machine.files.lanes.LARGE", 1000)
    (desk.work / "large").write_text("x" * 1001)
    (desk.work / "small").write_text("x" * 999)
    for name, long in (("small", 0), ("large", 1)):
        here, there = uri(desk.work / name), uri(desk.work / f"{name}-2")
        read = c.ResourceReadParams(channel=ROOT, uri=here)
        copy = c.ResourceCopyParams(channel=ROOT, source=here, destination=there)
        insert = c.ResourceWriteParams(channel=ROOT, uri=here, data="y", encoding="utf-8", mode="insert")
        doing: list[tuple[Callable[[Any, Roots], Any], Any]] = [
            (files.read, read),
            (files.copy, copy),
            (files.write, insert),
        ]
        for do, params in doing:
            told.long = 0
            await told.run(do, params, desk.roots)
            assert told.long == long, (name, do)
        assert (desk.work / name).read_text()[0] == "y"


async def test_a_long_listing_is_long(desk: Desk, told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("serai.machine.files.lanes.MANY", 3)
    params = c.ResourceListParams(channel=ROOT, uri=uri(desk.work))
    for name in "abcd":
        assert len((await told.run(files.list_directory, params, desk.roots)).entries) == "abcd".index(name)
        assert told.long == 0
        (desk.work / name).touch()
    assert len((await told.run(files.list_directory, params, desk.roots)).entries) == 4
    assert told.long == 1


async def test_waiting_for_someone_else_at_a_place_is_long(desk: Desk, told: Told) -> None:
    target = desk.work / "a"
    params = c.ResourceWriteParams(channel=ROOT, uri=uri(target), data="mine", encoding="utf-8")
    with files.find(uri(target), desk.roots, files.Access.WRITE) as place, alone_at(place):
        writing = asyncio.create_task(told.run(files.write, params, desk.roots))
        await told.has_long.wait()
    await writing
    assert target.read_text() == "mine"


async def test_two_places_do_not_wait_for_each_other(desk: Desk) -> None:
    for number in range(300):  # more than a fixed number of locks could tell apart
        (desk.work / f"{number}").touch()
    with files.find(uri(desk.work / "0"), desk.roots, files.Access.WRITE) as place, alone_at(place):
        async with asyncio.timeout(WITHIN):
            for number in range(1, 300):
                await asyncio.to_thread(desk.delete, desk.work / f"{number}")
