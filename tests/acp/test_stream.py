from __future__ import annotations

import asyncio

import pytest

from serai.acp import Finished, RawUpdate
from serai.acp.prompt import FULL, Stream


def item(number: int) -> RawUpdate:
    return RawUpdate(str(number), {})


async def test_what_waits_is_taken_in_its_order_until_the_end() -> None:
    stream = Stream(lambda _: None)
    for number in range(3):
        stream.put(item(number))
    stream.put(Finished("end_turn"))
    stream.end()
    assert [each async for each in stream.take()] == [item(0), item(1), item(2), Finished("end_turn")]


async def test_a_taker_that_stops_loses_nothing() -> None:
    stream = Stream(lambda _: None)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0):
            await anext(stream.take())
    stream.put(item(1))
    assert await anext(stream.take()) == item(1)


async def test_when_too_much_waits_someone_is_told_and_told_again_when_it_is_taken() -> None:
    told: list[bool] = []
    stream = Stream(told.append)
    for number in range(3):
        stream.put(item(number), FULL // 2)
    assert told == [True]
    taken = stream.take()
    for _ in range(3):
        await anext(taken)
    assert told == [True, False]
