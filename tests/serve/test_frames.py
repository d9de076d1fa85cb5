from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from websockets.frames import Frame, Opcode

from serai.serve.frames import Outbox, text_frame


@pytest.mark.parametrize(
    ("size", "head"),
    [
        (0, b"\x81\x00"),
        (125, b"\x81\x7d"),
        (126, b"\x81\x7e\x00\x7e"),
        (0xFFFF, b"\x81\x7e\xff\xff"),
        (0x10000, b"\x81\x7f\x00\x00\x00\x00\x00\x01\x00\x00"),
    ],
)
def test_the_head_of_a_frame_is_as_long_as_its_length_needs(size: int, head: bytes) -> None:
    payload = b"x" * size
    assert text_frame(payload) == head + payload


@given(st.binary(max_size=70_000))
def test_a_frame_is_the_one_that_websockets_would_write(payload: bytes) -> None:
    assert text_frame(payload) == Frame(Opcode.TEXT, payload).serialize(mask=False)


def test_one_buffer_is_never_copied_nor_cut() -> None:
    outbox = Outbox()
    large = b"x" * 1000
    outbox.put(large)
    outbox.put(b"small")
    assert outbox.take(10) is large
    small = b"alone"
    outbox.clear()
    outbox.put(small)
    assert outbox.take(1) is small


@given(st.lists(st.tuples(st.binary(max_size=20), st.booleans())), st.integers(1, 50))
def test_nothing_is_lost_and_the_sums_are_right(buffers: list[tuple[bytes, bool]], limit: int) -> None:
    outbox = Outbox()
    for data, asked in buffers:
        (outbox.put_asked if asked else outbox.put)(data)
    assert outbox.asked == sum(len(data) for data, asked in buffers if asked)
    assert outbox.unasked == sum(len(data) for data, asked in buffers if not asked)
    taken: list[bytes] = []
    while outbox.waiting:
        taken.append(outbox.take(limit))
        assert len(taken[-1]) <= max(limit, 20)
    assert b"".join(taken) == b"".join(data for data, _ in buffers)
    assert (outbox.asked, outbox.unasked) == (0, 0)
