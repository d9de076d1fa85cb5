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


def test_a_kind_that_was_not_told_for_a_turn_is_not_forgotten() -> None:
    session = SessionTokens()
    session.of_turn({"inputTokens": 100, "thoughtTokens": 5})
    assert session.of_turn({"inputTokens": 110}) == {"inputTokens": 10}
    assert session.of_turn({"inputTokens": 120, "thoughtTokens": 8}) == {
        "inputTokens": 10,
        "thoughtTokens": 3,
    }


def test_what_is_no_count_of_tokens_stays_as_it_is() -> None:
    session = SessionTokens()
    told = {"inputTokens": 1, "window": 100, "thoughtTokens": None, "_meta": {"a": 1}}
    session.of_turn(told)
    assert session.of_turn(told) == {**told, "inputTokens": 0}
