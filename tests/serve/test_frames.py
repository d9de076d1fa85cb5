from __future__ import annotations

from hypothesis import given, strategies as st
from websockets.frames import Frame, Opcode

from serai.serve.frames import Outbox, text_frame


@given(st.binary(max_size=70_000))
def test_a_frame_is_the_one_that_websockets_would_write(payload: bytes) -> None:
    assert text_frame(payload) == Frame(Opcode.TEXT, payload).serialize(mask=False)


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
