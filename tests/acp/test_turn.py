"""What an answer to a prompt says."""

from __future__ import annotations

from serai.acp import Finished


def test_numbers_of_tokens_that_cannot_be_are_left_out() -> None:
    told = {"inputTokens": 10**400, "outputTokens": -5, "totalTokens": 1e300, "cachedReadTokens": 7, "x": "y"}
    finished = Finished.of({"stopReason": "end_turn", "usage": told})
    assert finished.usage == {"cachedReadTokens": 7, "x": "y"}
    assert finished.raw["usage"] == told
    assert Finished.of({"usage": {"inputTokens": -1}}).usage is None
