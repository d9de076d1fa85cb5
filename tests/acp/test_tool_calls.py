"""The fold of updates and questions into tool calls."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, strategies as st

from serai.acp.tool_calls import OVER, AgentToolCall, CallStage, ToolCalls
from serai.acp.updates import ToolCall, ToolCallUpdate

ONE = {"command": "touch one"}
TWO = {"command": "touch two"}


def told(call_id: str = "c", **fields: Any) -> ToolCallUpdate:
    return ToolCallUpdate(tool_call_id=call_id, **fields)


def begun(call_id: str = "c", **fields: Any) -> ToolCall:
    return ToolCall(tool_call_id=call_id, **fields)


def text(said: str) -> dict[str, Any]:
    return {"type": "content", "content": {"type": "text", "text": said}}


def allowed(calls: ToolCalls, question: ToolCallUpdate) -> AgentToolCall:
    return calls.answer(calls.ask(question).call.key, approved=True)


def test_what_is_told_of_a_call_adds_up() -> None:
    calls = ToolCalls()
    assert not calls.update(begun(title="ls", tool_kind="execute")).before
    change = calls.update(told(raw_input=ONE, status="in_progress"))
    assert (change.before is None, change.is_retold, change.call.stage) == (False, True, CallStage.RUNNING)
    use = calls.update(told(status="completed", content=[text("a")])).call
    assert (use.title, use.kind, use.input, use.text) == ("ls", "execute", ONE, "a")
    assert (use.stage, use.is_over) == (CallStage.CLOSED, True)


# -- questions ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "shown"),
    [
        ({"title": "touch two", "raw_input": TWO}, ("touch two", TWO)),
        ({"raw_input": TWO}, ("", TWO)),
        ({"title": "touch two"}, ("touch two", None)),
        ({"title": "touch one", "content": [{"type": "content"}]}, ("touch one", None)),
        ({"locations": []}, ("", None)),
        ({}, ("touch one", ONE)),
    ],
)
def test_a_second_question_under_one_id_shows_what_it_asks_about(
    second: dict[str, Any], shown: tuple[str, Any]
) -> None:
    calls = ToolCalls()
    diff = {"type": "diff", "path": "one", "newText": "1"}
    allowed(calls, told(title="touch one", raw_input=ONE, content=[diff]))
    use = calls.ask(told(**second)).call
    assert (use.title, use.input) == shown
    assert bool(use.diffs) is (not second)


@pytest.mark.parametrize("second", [True, False])
def test_each_of_two_questions_under_one_id_has_a_call_of_its_own(second: bool) -> None:
    calls = ToolCalls()
    first = allowed(calls, told(title="touch one", raw_input=ONE)).key
    asked = calls.ask(told(title="touch two", raw_input=TWO)).call.key
    assert asked != first, "a late yes for the first one is no yes for this one"
    calls.answer(asked, approved=second)
    change = calls.update(told(status="completed"))
    assert {one.key for one in (change.call, *change.ended)} == ({first, asked} if second else {first})
    assert [one.input for one in calls] == [ONE, TWO]
    assert calls[asked].stage is (CallStage.CLOSED if second else CallStage.DENIED)


@pytest.mark.parametrize("follows", [{"raw_input": ONE}, {"title": "touch one"}, {"tool_kind": "execute"}])
def test_a_question_with_an_id_of_its_own_belongs_to_the_call_that_follows(follows: dict[str, Any]) -> None:
    calls = ToolCalls()
    allowed(calls, told("question", title="touch one", raw_input=ONE, tool_kind="execute"))
    assert calls.update(begun("call", status="in_progress", **follows)).before
    calls.update(told("call", status="completed"))
    (use,) = calls
    assert (use.stage, use.status) == (CallStage.CLOSED, "completed")
    assert calls.end() == []


@pytest.mark.parametrize(
    ("question", "call"),
    [
        ({"title": "Allow rm x?"}, {"title": "rm x", "tool_kind": "execute"}),
        ({"title": "rm x", "raw_input": {**ONE, "reason": "tidy"}}, {"title": "rm x", "raw_input": ONE}),
    ],
)
def test_also_when_it_says_more_or_less_than_the_call(question: dict[str, Any], call: dict[str, Any]) -> None:
    calls = ToolCalls()
    allowed(calls, told("question", **question))
    assert calls.update(begun("call", status="completed", **call)).before
    assert calls.end() == []


def test_a_question_with_an_id_of_its_own_belongs_to_the_call_that_waits() -> None:
    calls = ToolCalls()
    calls.update(begun("call", title="touch one", raw_input=ONE))
    allowed(calls, told("question", title="May I?", raw_input=ONE))
    calls.update(told("call", status="completed"))
    (use,) = calls
    assert use.stage is CallStage.CLOSED


def test_another_call_than_the_one_that_was_asked_about_is_another_call() -> None:
    calls = ToolCalls()
    allowed(calls, told("question", raw_input=ONE, tool_kind="execute"))
    assert not calls.update(begun("call", raw_input=TWO, tool_kind="execute")).before


def test_a_denied_call_that_follows_its_question_is_not_told_as_completed() -> None:
    calls = ToolCalls()
    calls.answer(calls.ask(told("question", raw_input=ONE)).call.key, approved=False)
    calls.update(begun("call", raw_input=ONE, status="in_progress"))
    calls.update(told("call", status="completed"))
    (use,) = calls
    assert use.stage is CallStage.DENIED


def test_a_question_that_nobody_answered_did_not_run_also_after_in_progress() -> None:
    calls = ToolCalls()
    calls.update(begun(raw_input=ONE, status="in_progress"))
    key = calls.ask(told()).call.key
    assert calls.answer(key, approved=None).stage is CallStage.TAKEN_BACK
    assert calls.end() == []


def test_what_ran_before_it_was_asked_about_again_did_run() -> None:
    calls = ToolCalls()
    allowed(calls, told(raw_input=ONE))
    calls.answer(calls.ask(told(raw_input=TWO)).call.key, approved=None)
    assert [use.key for use in calls.end()] == ["c"]


def test_what_a_question_is_asked_with_is_no_result() -> None:
    calls = ToolCalls()
    use = calls.ask(told(content=[text("It will be gone")])).call
    assert (use.content, use.results, use.text) == ((text("It will be gone"),), (), "")
    calls.answer(use.key, approved=True)
    assert calls.update(told(status="completed")).call.results == ()


ASKED = text("May I run this?")
DIFF = {"type": "diff", "path": "/w/a.txt", "oldText": "old\n", "newText": "new\n"}
AGAIN = begun(title="make", status="in_progress")
HALF = begun(title="make", status="in_progress", content=[text("half")])
DONE = told(status="completed")
SAID = told(status="completed", raw_output={"stdout": "made"})


@pytest.mark.parametrize(
    ("before", "question", "after", "came"),
    [
        ([], [ASKED], [AGAIN, SAID], "made"),
        ([], [ASKED], [SAID], "made"),
        ([], [ASKED], [AGAIN, told(status="completed", content=[text("all")])], "all"),
        ([], [ASKED], [AGAIN, told(content=[text("all")]), SAID], "all"),
        ([HALF], [ASKED], [DONE], "half"),
        ([HALF], [text("half")], [SAID], "half"),
        ([], [ASKED], [AGAIN, DONE], ""),
        ([], [ASKED], [told(status="failed", raw_output={"error": "no such target"})], "no such target"),
    ],
)
def test_what_the_person_was_asked_is_not_what_came_of_a_call(
    before: list[Any], question: list[Any], after: list[Any], came: str
) -> None:
    assert _played(before, question, after).text == came


@pytest.mark.parametrize(
    ("before", "question", "after"),
    [
        ([], [DIFF], [DONE]),
        ([], [ASKED, DIFF], [AGAIN, SAID]),
        ([begun(content=[])], [DIFF], [SAID]),
        ([begun(content=[DIFF])], [ASKED], [SAID]),
    ],
)
def test_an_edit_that_someone_said_yes_to_is_seen_with_the_call(
    before: list[Any], question: list[Any], after: list[Any]
) -> None:
    assert _played(before, question, after).results == (DIFF,)


def _played(before: list[Any], question: list[Any], after: list[Any]) -> AgentToolCall:
    """The call in the end. Whoever is asked whether it may run says yes."""
    calls = ToolCalls()
    for update in before:
        calls.update(update)
    allowed(calls, told(title="make", content=question))
    for update in after:
        calls.update(update)
    (use,) = calls
    return use


def test_a_call_that_is_asked_about_again_after_a_no_is_another_one() -> None:
    calls = ToolCalls()
    asked = [told(title="make", raw_input=ONE), told(), told(title="ls"), told(title="ls", content=[])]
    uses = [calls.ask(question).call for question in asked if _deny(calls)]
    assert [(use.key, use.title, use.input) for use in uses] == [
        ("c", "make", ONE),
        ("c#1", "make", ONE),
        ("c#2", "ls", None),
        ("c#3", "ls", None),
    ]


def _deny(calls: ToolCalls) -> bool:
    for use in list(calls):
        calls.answer(use.key, approved=False)
    return True


# -- what a command prints ---------------------------------------------------------------------------------


def test_what_a_command_prints_in_the_agents_own_terminal_stands_in_its_place() -> None:
    calls = ToolCalls()
    calls.update(begun(content=[text("list"), {"type": "terminal", "terminalId": "t"}]))
    for key, more in (("terminal_output", "a\n"), ("terminal_output_delta", "b\n")):
        calls.update(told(meta={key: {"terminal_id": "t", "data": more}}))
    assert calls["c"].results == (text("list"), text("a\nb\n"))
    whole = {"terminal_output": {"terminal_id": "t", "data": "a\nb\nc\n"}}
    assert calls.update(told(meta=whole)).call.results[1] == text("a\nb\nc\n")


# -- all of it ---------------------------------------------------------------------------------------------

_IDS = st.sampled_from(["a", "b"])
_STATUS = st.sampled_from([None, "pending", "in_progress", "completed", "failed"])
_INPUT = st.sampled_from([None, ONE, TWO])
_STEPS = st.one_of(
    st.tuples(st.just("update"), _IDS, st.booleans(), _STATUS, _INPUT),
    st.tuples(st.just("ask"), _IDS, _INPUT),
    st.tuples(st.just("answer"), st.sampled_from([True, False, None])),
)


@given(st.lists(_STEPS, max_size=25))
def test_any_order_of_steps_shows_questions_truly_and_leaves_no_call_open(steps: list[Any]) -> None:
    calls = ToolCalls()
    asked: list[str] = []
    for kind, *step in steps:
        if kind == "update":
            call_id, starts, status, tool_input = step
            make = begun if starts else told
            change = calls.update(make(call_id, status=status, raw_input=tool_input))
            assert calls[change.call.key] is change.call
        elif kind == "ask":
            call_id, tool_input = step
            use = calls.ask(told(call_id, raw_input=tool_input)).call
            assert use.stage is CallStage.ASKED
            assert tool_input is None or use.input == tool_input
            asked.append(use.key)
        elif asked:
            key = asked.pop()
            before = calls[key]
            after = calls.answer(key, approved=step[0])
            if before.stage is CallStage.ASKED:
                expected = {True: CallStage.RUNNING, False: CallStage.DENIED}
                assert after.stage is expected.get(step[0], after.stage)
    calls.end()
    assert all(use.stage in OVER or not use.runs for use in calls)
    assert len({use.key for use in calls}) == len(list(calls))
