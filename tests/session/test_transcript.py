"""What a turn is, and which turns were completed."""

from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from requirements import proves
from serai.session.messages import DurableContentPart, ReasoningPart, TextPart, ToolCallPart
from serai.session.transcript import logical_turns
from session.sessions import calls, gives, rows, says, user

CALL = ToolCallPart(id="c-1", name="read_file", input={})


@proves("session:Export-mapping/split-rows-are-one-turn")
def test_a_turn_in_several_rows_is_one_turn() -> None:
    [turn] = logical_turns(
        rows(user("a"), calls("read_file"), gives("x"), calls("edit", "c-2"), gives("y", "c-2"), says("b"))
    )
    assert turn.is_completed
    assert len(turn.messages) == 6
    assert turn.tools == ("read_file", "edit")


def test_messages_of_a_person_without_an_answer_between_them_are_one_turn() -> None:
    [first, second] = logical_turns(
        rows(("system", TextPart(text="be kind")), user("a"), user("b"), says("c"), user("d"), says("e"))
    )
    assert (first.prompt, second.prompt) == ("a\n\nb", "d")
    assert first.is_completed
    assert second.is_completed


@proves("session:Export-mapping/completed-means-final-text")
@pytest.mark.parametrize(
    ("said", "is_completed"),
    [
        ([user("a"), says("b")], True),
        ([user("a"), calls("x"), gives("y"), says("b")], True),
        ([user("a")], False),
        ([user("a"), calls("x"), gives("y")], False),
        ([user("a"), ("assistant", (TextPart(text="let me see"), CALL)), gives("y")], False),
        ([user("a"), calls("x", "c-2"), gives("y"), says("b")], False),
        ([user("a"), says(" \n")], False),
        ([user("a"), says("b", is_partial=True)], False),
        ([user("a"), ("assistant", ReasoningPart(text="hm"))], False),
    ],
)
def test_a_turn_is_completed_when_it_ended_with_text_and_no_call_is_open(
    said: list[tuple[str, DurableContentPart]], *, is_completed: bool
) -> None:
    [turn] = logical_turns(rows(*said))
    assert turn.is_completed is is_completed


def test_what_is_said_while_a_turn_runs_belongs_to_it() -> None:
    steering = user("rather b", is_steering=True)
    first, second = logical_turns(
        rows(user("a"), calls("x"), gives("y"), steering, says("c"), user("d"), says("e"))
    )
    assert (first.is_completed, first.prompt, second.prompt) == (True, "a\n\nrather b", "d")
    broken, whole = logical_turns(rows(user("a"), calls("x"), gives("y"), steering, user("d"), says("e")))
    assert (broken.is_completed, whole.prompt) == (False, "d")


def test_what_was_taken_back_is_in_no_turn() -> None:
    messages = rows(user("a"), says("b"), user("c"), says("d"), user("e"), says("f"))
    assert [turn.prompt for turn in logical_turns(messages, truncated={3, 4})] == ["a", "e"]


ROWS = st.sampled_from([user("a"), says("b"), calls("x"), gives("y"), ("system", TextPart(text="s"))])


@given(st.lists(ROWS, max_size=20))
def test_every_message_from_the_first_of_a_person_on_is_in_one_turn(
    said: list[tuple[str, DurableContentPart]],
) -> None:
    messages = rows(*said)
    turns = logical_turns(messages)
    grouped = [message for turn in turns for message in turn.messages]
    assert grouped == messages[len(messages) - len(grouped) :]
    assert all(turn.messages[0].role == "user" for turn in turns)
    assert all(message.role != "user" for message in messages[: len(messages) - len(grouped)])
