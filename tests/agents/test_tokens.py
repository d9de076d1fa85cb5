"""The tokens of a turn, kind by kind."""

from __future__ import annotations

import pytest

from serai.agents.ask.costs import Tokens

PARTS = {
    "inputTokens": 100,
    "cachedReadTokens": 7,
    "cachedWriteTokens": 3,
    "outputTokens": 20,
    "thoughtTokens": 5,
}


@pytest.mark.parametrize(
    ("total", "tokens"),
    [
        (None, Tokens(100, 7, 3, 20, 5)),
        (135, Tokens(100, 7, 3, 20, 5)),
        (120, Tokens(90, 7, 3, 15, 5)),
        (125, Tokens(90, 7, 3, 20, 5)),  # thoughts come on top, what was cached does not
        (130, Tokens(100, 7, 3, 15, 5)),  # the other way round
        (1, Tokens(100, 7, 3, 20, 5)),
    ],
)
def test_the_total_says_what_is_part_of_what(total: int | None, tokens: Tokens) -> None:
    assert Tokens.of({**PARTS, "totalTokens": total}) == tokens


def test_a_part_is_not_more_than_the_whole() -> None:
    assert Tokens.of({**PARTS, "inputTokens": 9, "totalTokens": 29}) == Tokens(9, 7, 3, 15, 5)
    assert Tokens.of({**PARTS, "outputTokens": 4, "totalTokens": 104}) == Tokens(90, 7, 3, 4, 5)


def test_where_either_may_be_part_only_one_is() -> None:
    told = {"inputTokens": 100, "cachedReadTokens": 5, "outputTokens": 20, "thoughtTokens": 5}
    assert Tokens.of({**told, "totalTokens": 125}) == Tokens(95, 5, 0, 20, 5)


def test_what_is_not_told_is_nothing() -> None:
    assert Tokens.of({}) == Tokens(0, 0, 0, 0, 0)
    assert Tokens.of({"outputTokens": 2.0, "inputTokens": 2.5, "thoughtTokens": True}) == Tokens(
        0, 0, 0, 2, 0
    )
