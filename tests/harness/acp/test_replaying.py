"""What is old, and what is new, in the first turn after a session was loaded."""

from __future__ import annotations

from typing import Any

from serai.acp.updates import read_update
from serai.ahp.types import MarkdownResponsePart, Turn, TurnState, UserMessage
from serai.harness.acp.replaying import Replay


def turn(text: str, answer: str) -> Turn:
    part = MarkdownResponsePart(id="p", content=answer)
    return Turn(
        id=text, user_message=UserMessage(text=text), response_parts=[part], state=TurnState.COMPLETE.value
    )


def old(replay: Replay, *updates: tuple[str, str]) -> list[bool]:
    return [replay.is_old(read_update(update(*each))) for each in updates]


def update(kind: str, text: str) -> dict[str, Any]:
    if kind == "tool_call":
        return {"sessionUpdate": kind, "toolCallId": text}
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


USER, AGENT = "user_message_chunk", "agent_message_chunk"


def test_an_answer_is_old_as_far_as_it_is_the_one_that_was_given() -> None:
    replay = Replay([turn("hello", "hi there")], "how are you")
    told = [(AGENT, "hi"), (USER, "hello"), (AGENT, "hi "), (AGENT, "there"), (AGENT, "fine"), (AGENT, "hi")]
    assert old(replay, *told) == [False, True, True, True, False, False]


def test_a_message_that_is_the_present_one_is_new_and_so_is_one_that_nobody_knows() -> None:
    replay = Replay([turn("hello", "hi")], "hello again")
    assert old(replay, (USER, "hello"), (AGENT, "hi")) == [False, False]
    assert old(replay, (USER, "what?"), (AGENT, "hi")) == [False, False]


def test_a_call_that_is_not_of_that_turn_is_new() -> None:
    replay = Replay([turn("hello", "hi")], "go")
    assert old(replay, (USER, "hello"), ("tool_call", "c"), (AGENT, "hi")) == [True, False, False]
