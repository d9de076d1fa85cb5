"""What is new is never taken for old, and where that leaves what is not told in words."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from msgspec.structs import replace

from harness.acp.test_replaying import (
    AGENT,
    THOUGHT,
    USER,
    at_once,
    call_turn,
    old,
    read,
    texts,
    titled,
    turn,
)
from serai.acp import Item
from serai.acp.updates import read_update
from serai.ahp.types import MarkdownResponsePart, ReasoningResponsePart, ResourceResponsePart
from serai.harness.acp.replaying import Replay


def test_after_the_prompt_a_call_with_the_title_of_an_old_one_is_another_one() -> None:
    for parts in (call_turn().response_parts, call_turn().response_parts[:-1]):
        replay = Replay([replace(call_turn(), response_parts=parts)], "hello")
        assert at_once(replay, (USER, "hello")) == [[]]
        assert [texts(item) for item in replay.news(titled("z"))] == ["hello", "z"]
        assert at_once(replay, (AGENT, "hi"), (AGENT, "It is done")) == [["hi"], ["It is done"]]


def test_after_an_old_answer_what_was_done_before_it_is_done_once_more() -> None:
    thought = ReasoningResponsePart(id="r", content="hm, well")
    plan = read_update({"sessionUpdate": "plan", "entries": [{"content": "look"}]})
    for new in (titled("z"), plan, read(THOUGHT, "hm")):
        thoughtful = replace(call_turn(), response_parts=[thought, *call_turn().response_parts])
        replay = Replay([thoughtful], "go")
        assert at_once(replay, (USER, "hello"), (AGENT, "hi")) == [[], []]
        assert replay.news(new) == [new]


def test_what_only_begins_as_an_old_answer_does_is_new() -> None:
    replay = Replay([turn("hello", "I will look at it")], "go on")
    told = [(USER, "hello"), (AGENT, "I will"), (AGENT, " go on")]
    assert at_once(replay, *told) == [[], [], ["I will", " go on"]]
    replay = Replay([turn("hello", "I will look"), turn("and now?", "well")], "go on")
    assert old(replay, *told[:2], (USER, "and now?"), (AGENT, "well")) == [True] * 4


def test_what_is_held_back_is_new_whatever_follows_but_a_message() -> None:
    for new in ((AGENT, " All tests pass."), (AGENT, "more", "m2"), (THOUGHT, "so"), ("tool_call", "b")):
        replay = Replay([call_turn()], "hello")
        told = [(USER, "hello"), ("tool_call", "a"), (AGENT, "hi")]
        assert at_once(replay, *told, new) == [[], [], [], ["hello", "a", "hi", new[1]]]


def test_what_is_held_back_is_old_when_an_old_message_follows_or_the_prompt() -> None:
    for message, answer in (("and now?", "well"), ("hello", "hi"), ("hello", "hi there")):
        replay = Replay([turn("hello", "hi"), turn("and now?", "well")], "hello")
        told = [(USER, "hello"), (AGENT, "hi"), (USER, message), (AGENT, answer)]
        assert old(replay, *told)[:2] == [True, True]


def test_what_is_held_back_is_new_when_a_message_follows_that_nobody_knows() -> None:
    replay = Replay([turn("hello", "hi there")], "hello")
    told = [(USER, "hello"), (AGENT, "hi"), (USER, "wait"), (AGENT, " there")]
    assert at_once(replay, *told) == [[], [], ["hello", "hi", "wait"], [" there"]]


def test_once_the_person_has_said_more_in_the_turn_no_message_is_old() -> None:
    replay = Replay([turn("hello", "hi"), turn("wait", "well")], "hello")
    assert at_once(replay, (USER, "hello"), (AGENT, "hi")) == [[], []]
    replay.steered()
    assert at_once(replay, (USER, "wait"), (AGENT, "well")) == [["hello", "hi", "wait"], ["well"]]


def test_a_prompt_is_known_also_when_the_agent_does_not_repeat_it_to_the_letter() -> None:
    replay = Replay(
        [turn("The key is ***!", "Done.")], "the key is ***", mask=lambda text: text.replace("k3y", "***")
    )
    told = [(USER, "The key is k3y"), (AGENT, "Done."), (AGENT, " All tests pass.")]
    assert old(replay, *told) == [False] * 3


def test_what_is_attached_to_the_prompt_is_no_old_message() -> None:
    replay = Replay([turn("hello", "hi")], "look")
    assert old(replay, (USER, "look"), (USER, "hello"), (AGENT, "hi"))[2:] == [False]


def test_once_the_answer_has_begun_no_history_comes_any_more() -> None:
    done = [(USER, "continue"), (AGENT, "Done.")]
    for begun in ((AGENT, "Working. "), (THOUGHT, "hm"), ("tool_call", "c")):
        assert old(Replay([turn("continue", "Done.")], "fix all of it"), begun, *done) == [False] * 3
        twice = [begun, *done, *done]
        assert old(Replay([turn("continue", "Done.")], "fix all of it"), *twice) == [False] * 5
    replay = Replay([turn("continue", "Done.")], "fix all of it")
    assert replay.asks() == []
    assert old(replay, *done) == [False] * 2


def test_what_follows_on_a_message_of_which_another_turn_has_no_more_to_tell_may_be_new() -> None:
    turns = [turn("run the tests", "All pass."), turn("run the tests", "")]
    told = [(USER, "run the tests"), (AGENT, "All pass."), (USER, "run the tests")]
    assert old(Replay(turns, "and now?"), *told, (AGENT, "All pass."))[1:] == [True, True, False]
    assert old(Replay(turns, "and now?"), *told, (AGENT, "All fail."))[1:] == [True, True, False]
    turns = [turn("go", "one"), turn("go", "one two")]
    told = [(USER, "go"), (AGENT, "one"), (AGENT, " two")]
    assert old(Replay(turns, "stop"), *told) == [True, True, False]
    assert old(Replay(turns, "stop"), *told, (USER, "stop"), (AGENT, "well")) == [True] * 3 + [False] * 2


def test_a_call_is_new_once_all_was_said_that_came_after_its_namesake() -> None:
    for title in ("Run tests", "Read notes.md"):
        replay = Replay([call_turn()], "go")
        assert at_once(replay, (USER, "hello"), (AGENT, "hi")) == [[], []]
        new = titled("a", title)
        assert replay.news(new) == [new]
    replay = Replay([call_turn()], "go")
    ended, again = (
        read_update({"sessionUpdate": "tool_call_update", "toolCallId": "a", "status": status})
        for status in ("completed", "in_progress")
    )
    told = [read(USER, "hello"), titled("a"), ended, read(AGENT, "hi")]
    assert [replay.news(each) for each in told] == [[]] * 4
    assert replay.news(again) == [again]


def test_what_is_told_last_is_the_answer_when_there_is_no_other() -> None:
    for told, new in (
        ([(USER, "hello"), (AGENT, "hi")], ["hello", "hi"]),
        ([(USER, "hello"), (AGENT, "hi"), (USER, "bye"), (AGENT, "Bye")], ["bye", "Bye"]),
        ([(USER, "hello"), (AGENT, "hi"), (USER, "go")], []),
        ([(USER, "hello"), (AGENT, "hi"), (AGENT, "new")], []),
    ):
        replay = Replay([turn("hello", "hi"), turn("bye", "Bye")], "go")
        at_once(replay, *told)
        assert [texts(item) for item in replay.end()] == new


@pytest.mark.parametrize("answer", ["✅", "👍 ", "…"])
def test_an_answer_without_a_letter_is_one(answer: str) -> None:
    for told in ([(USER, "hello"), (AGENT, "hi")], [(USER, "hello"), (AGENT, "hi"), (USER, "go")]):
        replay = Replay([turn("hello", "hi")], "go")
        new = [text for texts in at_once(replay, *told, (AGENT, answer)) for text in texts]
        new += [texts(item) for item in replay.end()]
        assert [text for text in new if text != "go"] == [answer]


def test_what_was_done_in_an_old_turn_is_not_the_answer_though_there_is_no_other() -> None:
    replay = Replay([call_turn()], "go")
    told = [read(USER, "hello"), titled("a"), read(AGENT, "hi")]
    assert [replay.news(each) for each in told] == [[]] * 3
    assert replay.end() == []


def test_once_the_person_has_said_more_the_prompt_said_again_takes_nothing_away() -> None:
    replay = Replay([turn("hello", "hi")], "hello")
    assert at_once(replay, (USER, "hello"), (AGENT, "hi")) == [[], []]
    replay.steered()
    assert at_once(replay, (USER, "hello"), (AGENT, "hi")) == [["hello", "hi", "hello"], ["hi"]]


# -- what is not told in words -----------------------------------------------------------------------------


def test_what_was_thought_or_done_after_the_last_words_is_old_where_a_message_parts_it_from_the_answer() -> (
    None
):
    thought = ReasoningResponsePart(id="r", content="I should look")
    for parts in ([], turn("hello", "hi").response_parts):
        killed = replace(call_turn(), response_parts=[*parts, thought, *call_turn().response_parts[:-1]])
        words = [(AGENT, "hi")] if parts else []
        told = [(USER, "hello"), *words, (THOUGHT, "I should "), (THOUGHT, "look"), ("tool_call", "a")]
        for prompt in ("go", "hello"):
            assert old(Replay([killed], prompt), *told, (USER, prompt), (AGENT, "new"))[: len(told)] == (
                [True] * len(told)
            )
        bye = [(USER, "bye"), (AGENT, "Bye"), (AGENT, "new")]
        assert old(Replay([killed, turn("bye", "Bye")], "go"), *told, *bye) == [True] * (len(told) + 2) + [
            False
        ]
        known = 1 + len(words)
        in_doubt = [False] * (len(told) - known)
        assert old(Replay([killed], "go"), *told, (AGENT, "new")) == [True] * known + [*in_doubt, False]


def shown(**content: Any) -> Item:
    return read_update({"sessionUpdate": AGENT, "content": content})


def test_links_files_and_pictures_in_an_old_answer_are_old() -> None:
    digest = hashlib.sha256(b"x").hexdigest()
    link = MarkdownResponsePart(id="p", content="See [y.txt](file:///x/y.txt)a note")
    picture = ResourceResponsePart(uri=f"some:{digest}", content_type="image/png")
    rest = MarkdownResponsePart(id="q", content="for all of it.")
    replay = Replay([replace(turn("hello", ""), response_parts=[link, picture, rest])], "go")
    told = [
        read(USER, "hello"),
        read(AGENT, "See "),
        shown(type="resource_link", uri="file:///x/y.txt", name="y.txt"),
        shown(type="resource", resource={"uri": "file:///n", "text": "a note"}),
        shown(type="image", data="eA==", mimeType="image/png"),
        read(AGENT, "for all of it."),
    ]
    assert [replay.news(item) for item in told] == [[]] * 6
    assert replay.rest() == []
    other = shown(type="image", data="eQ==", mimeType="image/png")
    assert replay.news(other) == [other]
