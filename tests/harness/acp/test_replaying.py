"""What is old, and what is new, after a session of before was opened."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from serai.acp.updates import read_update
from serai.ahp.types import (
    Markdown,
    MarkdownResponsePart,
    SystemNotificationResponsePart,
    ToolCallCompletedState,
    ToolCallResponsePart,
    Turn,
    TurnState,
    UserMessage,
)
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
    replay = Replay([turn("hello", "hi")], "hello")
    assert old(replay, (USER, "hello"), (AGENT, "hi")) == [False, False]
    assert old(replay, (USER, "what?"), (AGENT, "hi")) == [False, False]
    replay = Replay([turn("hello", "hi")], "hello again")
    assert old(replay, (USER, "hello"), (USER, " again"), (AGENT, "hi"))[1:] == [False, False]


def test_an_old_message_is_old_also_when_it_is_a_piece_of_the_present_one() -> None:
    replay = Replay([turn("one", "1"), turn("two", "2")], "not one but two")
    told = [(USER, "one"), (AGENT, "1"), (USER, "two"), (AGENT, "2"), (AGENT, "3")]
    assert old(replay, *told) == [True, True, True, True, False]
    assert old(replay, (USER, "not "), (USER, "one"), (USER, " but two"), (AGENT, "1")) == [False] * 4
    replay = Replay([turn("yes", "1")], "yes, please")
    assert old(replay, (USER, "yes"), (AGENT, "1"), (AGENT, "2")) == [True, True, False]
    assert old(replay, (USER, "yes"), (USER, ", please"), (AGENT, "1"))[1:] == [False, False]


def test_a_message_that_was_said_before_is_old_where_it_follows_on_what_was_before_it() -> None:
    turns = [turn("hello", "hi"), turn("go on", "one"), turn("go on", "two"), turn("stop", "well")]
    replay = Replay(turns, "go on")
    told = [(USER, "hello"), (AGENT, "hi"), (USER, "go on"), (AGENT, "one"), (USER, "go on"), (AGENT, "two")]
    assert old(replay, *told, (USER, "stop"), (AGENT, "well")) == [True] * 8
    assert old(replay, (USER, "go on"), (AGENT, "one"), (AGENT, "more")) == [False] * 3


def test_once_a_turn_is_over_its_prompt_is_not_repeated() -> None:
    replay = Replay([turn("hello", "hi")])
    assert replay.prompted("hello")
    assert old(replay, (USER, "hello"), (AGENT, "hi")) == [False, False]
    replay.answered()
    assert old(replay, (USER, "hello"), (AGENT, "hi"), (AGENT, "new")) == [True, True, False]
    assert not replay.prompted("hello")


def test_a_picture_in_an_old_message_does_not_make_its_answer_new() -> None:
    picture = read_update({"sessionUpdate": USER, "content": {"type": "image", "data": "eA=="}})
    replay = Replay([turn("hello", "hi")], "hello you")
    assert old(replay, (USER, "hello")) == [True]
    assert replay.is_old(picture)
    assert old(replay, (AGENT, "hi"), (AGENT, "new")) == [True, False]


def test_a_call_that_is_not_of_that_turn_is_new() -> None:
    replay = Replay([turn("hello", "hi")], "go")
    assert old(replay, (USER, "hello"), ("tool_call", "c"), (AGENT, "hi")) == [True, False, False]


def test_before_the_agent_is_prompted_all_that_belongs_to_turns_is_old() -> None:
    replay = Replay([turn("hello", "hi")])
    assert old(replay, (AGENT, "who knows"), ("tool_call", "c"), (USER, "what?")) == [True, True, True]
    commands = read_update({"sessionUpdate": "available_commands_update", "availableCommands": []})
    assert not replay.is_old(commands)
    assert replay.prompted("go")
    assert old(replay, (AGENT, "who knows")) == [False]
    assert not replay.prompted("on")


def test_what_stands_between_the_words_does_not_count() -> None:
    replay = Replay([turn("hello you", "**Hi** there.\n\n- one\n- two")], "go")
    told = [(USER, "hello  you\n"), (AGENT, "Hi there.\n"), (AGENT, " * "), (AGENT, "one two"), (AGENT, "\n")]
    assert old(replay, *told) == [True] * 5
    assert old(replay, (AGENT, "**"), (AGENT, "New**")) == [False, False]


def test_secrets_that_were_masked_do_not_count() -> None:
    replay = Replay(
        [turn("the key is ***", "so it is ***")], "go", mask=lambda text: text.replace("k3y", "***")
    )
    assert old(replay, (USER, "the key is k3y"), (AGENT, "so it is k3y"), (AGENT, "new")) == [
        True,
        True,
        False,
    ]


def test_a_message_may_come_in_pieces_and_with_attachments() -> None:
    turns = [turn("hello you", "hi"), turn("and now?", "well")]
    replay = Replay(turns, "go")
    assert old(replay, (USER, "hello "), (USER, "you"), (USER, "file: x"), (AGENT, "hi")) == [
        False,
        True,
        True,
        True,
    ]
    assert old(replay, (USER, "hello you"), (USER, "and now?"), (AGENT, "well")) == [True, True, True]
    assert old(replay, (USER, "hello you"), (USER, "go"), (AGENT, "hi")) == [True, False, False]


def test_of_turns_that_began_alike_any_may_be_told() -> None:
    turns = [turn("go on", "one"), turn("go on", "two"), turn("go on", "three")]
    replay = Replay(turns, "stop")
    told = [(USER, "go on"), (AGENT, "one"), (USER, "go on"), (AGENT, "t"), (AGENT, "wo"), (AGENT, "new")]
    assert old(replay, *told) == [True, True, True, True, True, False]


def call_turn() -> Turn:
    call = ToolCallCompletedState(
        tool_call_id="a",
        tool_name="read",
        display_name="Read",
        invocation_message="Read notes.md",
        confirmed="not-needed",
        success=True,
        past_tense_message="Read notes.md",
    )
    plan = SystemNotificationResponsePart(content=Markdown(markdown="- [ ] look\n- [ ] **act**"))
    told = turn("hello", "hi")
    return replace(told, response_parts=[plan, ToolCallResponsePart(tool_call=call), *told.response_parts])


def test_a_call_is_known_by_its_id_or_once_by_its_title() -> None:
    replay = Replay([call_turn()], "go")
    begun = {"sessionUpdate": "tool_call", "toolCallId": "z1", "title": "Read `notes.md`"}
    more = {"sessionUpdate": "tool_call_update", "toolCallId": "z1", "status": "completed"}
    again = {"sessionUpdate": "tool_call", "toolCallId": "z2", "title": "Read notes.md"}
    assert old(replay, (USER, "hello"), ("tool_call", "a")) == [True, True]
    assert [replay.is_old(read_update(each)) for each in (begun, more, again)] == [True, True, False]


def test_a_plan_is_known_by_what_it_says() -> None:
    replay = Replay([call_turn()], "go")
    entries = [{"content": "look", "status": "completed"}, {"content": "act", "status": "pending"}]
    known = read_update({"sessionUpdate": "plan", "entries": entries})
    unknown = read_update({"sessionUpdate": "plan", "entries": [{"content": "rest"}]})
    assert old(replay, (USER, "hello")) == [True]
    assert [replay.is_old(each) for each in (known, unknown)] == [True, False]
