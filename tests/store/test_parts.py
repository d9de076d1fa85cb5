"""The small parts of the SQLite store: locators, named queries, the thread."""

from __future__ import annotations

import asyncio
import threading
from array import array

import pytest
from hypothesis import given, strategies as st

from serai.store.sqlite.locator import decode, encode, numbers_after
from serai.store.sqlite.worker import Worker

NUMBERS = st.sets(st.integers(1, 2**50) | st.integers(1, 400)).map(lambda found: array("q", sorted(found)))


class TestLocators:
    @given(NUMBERS)
    def test_numbers_come_back(self, numbers: array[int]) -> None:
        assert decode(encode(numbers)) == numbers

    @pytest.mark.parametrize("data", [b"\x05\x00", b"\x00", b"\x05\x01\x80", b"\x80", b"\x05\x81\x01\x00"])
    def test_damage_is_noticed(self, data: bytes) -> None:
        with pytest.raises(ValueError, match="locator"):
            decode(data)

    @given(NUMBERS, st.integers(0, 2**50), st.data())
    def test_a_tail_may_overlap_the_locators(
        self, numbers: array[int], after: int, data: st.DataObject
    ) -> None:
        located = data.draw(st.integers(0, len(numbers)))
        tail = numbers[data.draw(st.integers(0, located)) :]
        cut = data.draw(st.integers(0, located))
        locators = [encode(part) for part in (numbers[:cut], numbers[cut:located]) if part]
        assert list(numbers_after(after, locators, tail)) == [number for number in numbers if number > after]


class TestWorker:
    async def test_what_a_job_raises_is_raised_where_it_is_awaited(self) -> None:
        worker = Worker("test")
        worker.start()
        with pytest.raises(ZeroDivisionError):
            await worker.run(lambda: 1 // 0)
        assert await worker.run(lambda: "still alive") == "still alive"
        worker.stop()
        worker.join()

    def test_a_closed_loop_does_not_end_the_thread(self) -> None:
        worker = Worker("test")
        begin, ended = threading.Event(), threading.Event()
        worker.start()

        async def leave() -> None:
            worker.run(begin.wait)

        asyncio.run(leave())
        begin.set()
        worker.post(ended.set)
        assert ended.wait(10)
        worker.stop()
        worker.join()
