"""The tokens of a turn, where an agent tells those of its session."""

from __future__ import annotations

from serai.acp.prompt import SessionTokens


def test_a_turn_has_what_is_new() -> None:
    session = SessionTokens()
    assert session.of_turn({"inputTokens": 100, "outputTokens": 20}) == {
        "inputTokens": 100,
        "outputTokens": 20,
    }
    assert session.of_turn({"inputTokens": 150, "outputTokens": 20}) == {"inputTokens": 50, "outputTokens": 0}


def test_a_count_that_goes_down_began_anew() -> None:
    session = SessionTokens()
    session.of_turn({"inputTokens": 100, "outputTokens": 50, "thoughtTokens": 9})
    told = {"inputTokens": 120, "outputTokens": 20}
    assert session.of_turn(told) == told
    assert session.of_turn({"inputTokens": 130, "outputTokens": 20, "thoughtTokens": 1}) == {
        "inputTokens": 10,
        "outputTokens": 0,
        "thoughtTokens": 1,
    }
