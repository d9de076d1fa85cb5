"""Text that grows by small pieces."""

from __future__ import annotations

import sys

import pytest
from hypothesis import given, strategies as st

from serai.ahp.reducers.live import GrowingText


@given(st.text(), st.lists(st.text()))
def test_text_is_all_its_pieces_joined(start: str, pieces: list[str]) -> None:
    text = GrowingText(start)
    for piece in pieces:
        text.append(piece)
    assert str(text) == start + "".join(pieces)


@pytest.mark.parametrize("piece", ["abc ", "äöü ", "🙂"])
def test_what_is_kept_is_about_as_large_as_what_was_sent(piece: str) -> None:
    text = GrowingText()
    for _ in range(100_000):
        text.append(piece)
    kept = sum(map(sys.getsizeof, text._blocks)) + sum(map(sys.getsizeof, text._pieces))
    assert kept < 2 * len(piece.encode()) * 100_000
