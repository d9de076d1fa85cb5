"""The conversation so far, for an agent that does not remember it."""

from __future__ import annotations

from serai.ahp.types import MarkdownResponsePart, ReasoningResponsePart, ResponsePart, Turn, UserMessage
from serai.harness.acp.link import retold


def turn(asked: str, answered: str = "") -> Turn:
    parts: list[ResponsePart] = [
        ReasoningResponsePart(id="r", content="hm"),
        MarkdownResponsePart(id="m", content=answered),
    ]
    return Turn(id=asked, user_message=UserMessage(text=asked), response_parts=parts, state="complete")


def test_questions_and_answers_are_told_in_their_order_without_thoughts() -> None:
    told = retold([turn("one", "1"), turn("two")])
    assert told.index("User: one\n\nYou: 1") < told.index("User: two\n\nYou: [no answer]")
    assert "hm" not in told


def test_of_a_long_conversation_the_end_is_told() -> None:
    told = retold([turn("first", "x" * 60_000), turn("last", "yes")])
    assert "first" not in told
    assert "Earlier messages are left out" in told
    assert "User: last" in told
    assert told.count("x") > 40_000
