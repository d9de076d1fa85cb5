"""What is old, and what is new, after a session of before was opened."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from serai.acp import Item, ToolCall, ToolCallUpdate
from serai.acp.updates import read_update
from serai.ahp.types import (
    Markdown,
    MarkdownResponsePart,
    ReasoningResponsePart,
    SystemNotificationResponsePart,
    ToolCallCompletedState,
    ToolCallResponsePart,
    Turn,
    TurnState,
    UserMessage,
)
from serai.harness.acp.replaying import Replay, not_told


def turn(text: str, answer: str) -> Turn:
    part = MarkdownResponsePart(id="p", content=answer)
    return Turn(
        id=text, user_message=UserMessage(text=text), response_parts=[part], state=TurnState.COMPLETE.value
    )


def old(replay: Replay, *updates: tuple[str, ...]) -> list[bool]:
    """What is history of all that is told before the turn is over."""
    told = [read(*each) for each in updates]
    new = [each for item in told for each in replay.news(item)] + replay.rest()
    ids = [id(item) for item in new]
    assert [id(item) for item in told if id(item) in ids] == ids  # in their order, each once
    return [id(item) not in ids for item in told]


def at_once(replay: Replay, *updates: tuple[str, ...]) -> list[list[str]]:
    """What is let out with each thing that is told."""
    return [[texts(each) for each in replay.news(read(*told))] for told in updates]


def texts(item: Item) -> str:
    return item.tool_call_id if isinstance(item, ToolCall | ToolCallUpdate) else getattr(item, "text", "")


def read(kind: str, text: str, message: str | None = None) -> Item:
    return read_update({**update(kind, text), **({"messageId": message} if message else {})})


def update(kind: str, text: str) -> dict[str, Any]:
    if kind == "tool_call":
        return {"sessionUpdate": kind, "toolCallId": text}
    return {"sessionUpdate": kind, "content": {"type": "text", "text": text}}


USER, AGENT, THOUGHT = "user_message_chunk", "agent_message_chunk", "agent_thought_chunk"


def test_an_answer_is_old_as_far_as_it_is_the_one_that_was_given() -> None:
    replay = Replay([turn("hello", "hi there")], "how are you")
    told = [(AGENT, "\n"), (USER, "hello"), (AGENT, "hi "), (AGENT, "there"), (AGENT, "fine"), (AGENT, "hi")]
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
    assert replay.news(picture) == []
    assert old(replay, (AGENT, "hi"), (AGENT, "new")) == [True, False]


def test_a_call_that_is_not_of_that_turn_is_new() -> None:
    replay = Replay([turn("hello", "hi")], "go")
    assert old(replay, (USER, "hello"), ("tool_call", "c"), (AGENT, "hi")) == [True, False, False]


def test_before_the_agent_is_prompted_all_that_belongs_to_turns_is_old() -> None:
    replay = Replay([turn("hello", "hi")])
    assert old(replay, (AGENT, "who knows"), ("tool_call", "c"), (USER, "what?")) == [True, True, True]
    commands = read_update({"sessionUpdate": "available_commands_update", "availableCommands": []})
    assert replay.news(commands) == [commands]
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


def titled(call_id: str, title: str = "Read notes.md") -> Item:
    return read_update({"sessionUpdate": "tool_call", "toolCallId": call_id, "title": title})


def test_a_call_is_known_by_its_id_or_once_by_its_title() -> None:
    replay = Replay([call_turn()], "go")
    begun = {"sessionUpdate": "tool_call", "toolCallId": "z1", "title": "Read `notes.md`"}
    more = {"sessionUpdate": "tool_call_update", "toolCallId": "z1", "status": "completed"}
    again = {"sessionUpdate": "tool_call", "toolCallId": "z2", "title": "Read notes.md"}
    assert old(replay, (USER, "hello")) == [True]
    assert [not replay.news(read_update(each)) for each in (begun, more, again)] == [True, True, False]


def test_a_call_that_was_told_is_not_told_once_more_under_another_id() -> None:
    for prompt, held in (("go", []), ("hello", ["hello", "a", "hi"])):
        replay = Replay([call_turn()], prompt)
        assert at_once(replay, (USER, "hello"), ("tool_call", "a"), (AGENT, "hi")) == [[], [], []]
        assert [texts(item) for item in replay.news(titled("z"))] == [*held, "z"]


def test_a_call_that_begins_under_the_id_of_one_that_has_ended_is_another_one() -> None:
    begun = {"sessionUpdate": "tool_call", "toolCallId": "a", "title": "Read notes.md"}
    ended = {"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": "completed"}
    replay = Replay([call_turn()], "go")
    assert old(replay, (USER, "hello")) == [True]
    told = [read_update(each) for each in (begun, begun, ended, ended, begun, ended)]
    assert [not replay.news(each) for each in told] == [True] * 4 + [False] * 2


def test_a_plan_is_known_by_what_it_says() -> None:
    replay = Replay([call_turn()], "go")
    entries = [{"content": "look", "status": "completed"}, {"content": "act", "status": "pending"}]
    known = read_update({"sessionUpdate": "plan", "entries": entries})
    unknown = read_update({"sessionUpdate": "plan", "entries": [{"content": "rest"}]})
    assert old(replay, (USER, "hello")) == [True]
    assert [not replay.news(each) for each in (known, unknown)] == [True, False]


# -- a prompt that was said before: it may be repeated, or an old turn be told -----------------------------


def test_the_last_turn_is_shown_again_when_it_began_as_the_present_one_does_and_nothing_parts_them() -> None:
    told = [(USER, "hello"), (AGENT, "hi "), (AGENT, "there")]
    for new in ("new", "hi, again"):
        assert old(Replay([turn("hello", "hi there")], "hello"), *told, (AGENT, new)) == [False] * 4
        replay = Replay([turn("hello", "hi there")], "hello")
        assert old(replay, *told, (USER, "hello"), (AGENT, new)) == [True] * 3 + [False] * 2


def test_an_answer_that_is_the_old_one_comes_out_with_the_end_of_the_turn() -> None:
    replay = Replay([turn("hello", "hi there")], "hello")
    assert at_once(replay, (USER, "hello"), (AGENT, "hi "), (AGENT, "there")) == [[], [], []]
    assert [texts(item) for item in replay.rest()] == ["hello", "hi ", "there"]
    assert replay.rest() == []


def test_an_answer_that_only_begins_as_the_old_one_does_comes_out_as_soon_as_it_differs() -> None:
    replay = Replay([turn("hello", "hi there")], "hello")
    told = [(USER, "hello"), (AGENT, "hi "), (AGENT, "you"), (AGENT, "hi there")]
    assert at_once(replay, *told) == [[], [], ["hello", "hi ", "you"], ["hi there"]]


def test_the_old_answer_and_the_same_one_again_are_told_apart_by_the_prompt_between_them() -> None:
    replay = Replay([turn("hello", "hi")], "hello")
    told = [(USER, "hello"), (AGENT, "hi"), (USER, "hello"), (AGENT, "hi")]
    assert old(replay, *told) == [True, True, False, False]


def test_old_turns_that_all_began_as_the_present_one_does_are_old() -> None:
    for answers in (["one", "two", "three"], ["one", "one", "one"], ["", "", "one"], ["one", "", "two"]):
        replay = Replay([turn("go on", answer) for answer in answers], "go on")
        told = [chunk for each in answers for chunk in ((USER, "go on"), (AGENT, each)) if chunk[1]]
        assert old(replay, *told, (USER, "go on"), (AGENT, "new")) == [True] * len(told) + [False] * 2
        assert old(replay, (USER, "go on"), (AGENT, answers[-1] or "x")) == [False, False]


def test_turns_that_the_agent_does_not_remember_are_passed_over() -> None:
    turns = [turn("one", "1"), turn("go", ""), turn("go", "2"), turn("two", "3"), turn("go", "4")]
    first, last = [(USER, "one"), (AGENT, "1")], [(USER, "two"), (AGENT, "3")]
    assert old(Replay(turns, "go"), *first, (USER, "go"), (AGENT, "2"), *last) == [True] * 6
    assert old(Replay(turns, "go"), (USER, "go"), (AGENT, "2"), *last, (AGENT, "n")) == [True] * 4 + [False]
    told = [*first, (USER, "go"), (AGENT, "4")]
    assert old(Replay(turns, "go"), *told, (USER, "go"), (AGENT, "n")) == [True] * 4 + [False] * 2
    assert old(Replay(turns, "go"), *told, (AGENT, "n")) == [True] * 2 + [False] * 3
    assert old(Replay(turns, "go"), *last, (USER, "go"), (AGENT, "2"))[3:] == [False]


def test_an_answer_that_begins_as_several_old_ones_do_is_old_or_new_as_a_whole() -> None:
    turns = [turn("one", "1"), turn("go", "a b"), turn("go", "a c")]
    told = [(USER, "one"), (AGENT, "1"), (USER, "go"), (AGENT, "a")]
    for rest in (" b", " c"):
        assert old(Replay(turns, "go"), *told, (AGENT, rest)) == [True, True, False, False, False]
        assert old(Replay(turns, "go"), *told, (AGENT, rest), (AGENT, "new"))[2:] == [False] * 4
        assert old(Replay(turns, "go"), *told, (AGENT, rest), (USER, "go"))[:5] == [True] * 5


def test_the_message_of_a_turn_without_an_answer_takes_nothing_from_the_next_answer() -> None:
    replay = Replay([turn("hello", "")], "hello")
    told = [(USER, "hello"), (AGENT, "hi"), (AGENT, " there")]
    assert at_once(replay, *told) == [[], ["hello", "hi"], [" there"]]


def test_thoughts_and_calls_of_a_turn_that_began_alike_are_old_or_new_with_its_answer() -> None:
    thought = ReasoningResponsePart(id="r", content="hm, well")
    thoughtful = replace(call_turn(), response_parts=[thought, *call_turn().response_parts])
    told = [(USER, "hello"), (THOUGHT, "hm, "), (THOUGHT, "well"), ("tool_call", "a"), (AGENT, "hi")]
    for new in ((AGENT, "new"), ("tool_call", "b"), (THOUGHT, "so")):
        assert old(Replay([thoughtful], "hello"), *told, (USER, "hello"), new) == [True] * 5 + [False] * 2
        assert old(Replay([thoughtful], "hello"), *told, new) == [False] * 6
    assert old(Replay([thoughtful], "hello"), *told) == [False] * 5
    for new in ((AGENT, "new"), ("tool_call", "b"), (THOUGHT, "so")):  # in the middle
        assert old(Replay([thoughtful], "hello"), *told[:4], new, told[4]) == [False] * 6


def test_what_an_agent_asks_shows_that_all_that_is_held_back_is_new() -> None:
    replay = Replay([call_turn()], "hello")
    assert at_once(replay, (USER, "hello"), ("tool_call", "a")) == [[], []]
    assert [texts(item) for item in replay.asks()] == ["hello", "a"]
    assert at_once(replay, (AGENT, "hi")) == [["hi"]]
    replay = Replay([call_turn()], "hello")
    assert at_once(replay, (USER, "hello"), ("tool_call", "a"), (AGENT, "hi")) == [[], [], []]
    assert [texts(item) for item in replay.asks()] == ["hello", "a", "hi"]


def test_after_a_question_an_old_answer_does_not_go_on() -> None:
    replay = Replay([turn("hello", "hi there")], "go")
    assert at_once(replay, (USER, "hello"), (AGENT, "hi")) == [[], []]
    assert [texts(item) for item in replay.asks()] == ["hi"]
    assert at_once(replay, (AGENT, " there")) == [[" there"]]
    replay = Replay([turn("hello", "**hi**")], "go")
    assert at_once(replay, (USER, "hello"), (AGENT, "**hi")) == [[], []]
    assert replay.asks() == []
    assert at_once(replay, (AGENT, "**")) == [["**"]]


def test_a_pause_shows_that_all_that_is_held_back_is_new() -> None:
    for told in ("hi", "hi there"):
        replay = Replay([turn("hello", "hi there")], "hello")
        assert at_once(replay, (USER, "hello"), (AGENT, told)) == [[], []]
        assert [texts(item) for item in replay.rest()] == ["hello", told]
        assert at_once(replay, (AGENT, " there")) == [[" there"]]


def test_the_last_marks_of_an_old_answer_are_old_also_when_they_come_alone() -> None:
    replay = Replay([turn("hello", "All **done**."), turn("bye", "Bye")], "go")
    told = [(USER, "hello"), (AGENT, "All **done"), (AGENT, "**"), (AGENT, "."), (AGENT, "\n")]
    assert old(replay, *told) == [True] * 5
    assert old(replay, (AGENT, "."), (USER, "bye"), (AGENT, "Bye"), (AGENT, "!")) == [
        False,
        True,
        True,
        False,
    ]
    replay = Replay([turn("hello", "**Hi**")], "go")
    assert old(replay, (USER, "hello"), (AGENT, "**Hi**"), (AGENT, "**"), (AGENT, "New**"))[2:] == [
        False,
        False,
    ]


def test_turns_that_were_told_before_are_not_told_late() -> None:
    turns = [turn("hello you", "hi"), turn("go on", "one"), turn("go on", "two"), turn("the *** is", "well")]

    def late(*told: tuple[str, ...]) -> list[str]:
        left = not_told(turns, [read(*each) for each in told], mask=lambda text: text.replace("k3y", "***"))
        assert left == turns[len(turns) - len(left) :]
        return [each.user_message.text for each in left]

    assert late() == [each.user_message.text for each in turns]
    assert late((USER, "hello "), (USER, "you"), (AGENT, "hi")) == ["go on", "go on", "the *** is"]
    assert late((USER, "go on"), (AGENT, "one")) == ["go on", "the *** is"]
    assert late((USER, "go on"), (USER, "go on"), (AGENT, "two")) == ["the *** is"]
    assert late((USER, "what?"), (AGENT, "one"), (AGENT, "go on")) == late()
    assert late((USER, "the k3y is")) == []
