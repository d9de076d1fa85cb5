"""Answers to input requests, and requests that are completed."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.rules.world import Json, accepts, busy, judged, rejection, session
from serai.ahp.reducers import LiveSession

OPTIONS: list[Json] = [{"id": "a", "label": "A"}, {"id": "b", "label": "B"}, {"id": "c", "label": "C"}]
BOTH = ["draft", "submitted"]


def question(kind: str, **fields: Any) -> Json:
    options = {"options": OPTIONS} if "select" in kind else {}
    return {"kind": kind, "id": "q1", "message": "What?", **options, **fields}


def asking(*questions: Json, **fields: Any) -> LiveSession:
    return busy(inputRequests=[{"id": "r0"}, {"id": "r1", "questions": list(questions), **fields}])


def given(state: str, kind: str, value: Any, **fields: Any) -> Json:
    return {"state": state, "value": {"kind": kind, "value": value, **fields}}


def answered(answer: Json | None, question_id: str = "q1", request_id: str = "r1") -> Json:
    action: Json = {"type": "session/inputAnswerChanged", "requestId": request_id, "questionId": question_id}
    return action if answer is None else {**action, "answer": answer}


def completed(response: str = "accept", request_id: str = "r1", **fields: Any) -> Json:
    return {"type": "session/inputCompleted", "requestId": request_id, "response": response, **fields}


# --- which request, which question


@pytest.mark.parametrize("answer", [given("draft", "text", "x"), {"state": "skipped"}, None])
def test_an_answer_to_a_request_that_is_not_open_is_rejected(answer: Json | None) -> None:
    action = answered(answer, request_id="r9")
    assert rejection(asking(question("text")), action) == "no_such_request"
    assert rejection(session(), action) == "no_such_request"


@pytest.mark.parametrize(
    "answer", [given("draft", "text", "x"), given("submitted", "text", "x"), {"state": "skipped"}]
)
def test_an_answer_to_a_question_that_was_not_asked_is_rejected(answer: Json) -> None:
    assert rejection(asking(question("text")), answered(answer, "q9")) == "bad_answer"


# --- kinds


VALUES: dict[str, tuple[str, Any]] = {
    "text": ("text", "x"),
    "number": ("number", 1),
    "integer": ("number", 1),
    "boolean": ("boolean", False),
    "single-select": ("selected", "a"),
    "multi-select": ("selected-many", ["a"]),
}


@pytest.mark.parametrize("asked", VALUES)
def test_an_answer_is_of_the_kind_that_its_question_asks_for(asked: str) -> None:
    for told in [*VALUES, "later"]:
        kind, value = VALUES.get(told, ("later", "x"))
        action = answered(given("draft", kind, value))
        if kind == VALUES[asked][0]:
            assert accepts(asking(question(asked)), action)
        else:
            assert rejection(asking(question(asked)), action) == "bad_answer"


@pytest.mark.parametrize("asked", VALUES)
@pytest.mark.parametrize("answer", [{"state": "skipped"}, {"state": "skipped", "freeformValues": ["later"]}])
def test_every_question_may_be_skipped_while_the_request_is_open(asked: str, answer: Json) -> None:
    assert accepts(asking(question(asked)), answered(answer))
    assert accepts(asking(question(asked, required=True)), answered(answer))


@pytest.mark.parametrize("state", BOTH)
def test_a_question_of_a_kind_that_nobody_knows_takes_any_answer(state: str) -> None:
    assert accepts(asking(question("colour")), answered(given(state, "text", "red")))


# --- bounds


@pytest.mark.parametrize(
    ("asked", "value", "fits"),
    [
        (question("text", min=2, max=3), "x", False),
        (question("text", min=2, max=3), "xxx", True),
        (question("text", min=2, max=3), "xxxx", False),
        (question("number", min=-1.5, max=2), -1.6, False),
        (question("number", min=-1.5, max=2), 2.0, True),
        (question("integer", min=1, max=3), 3.0, True),
        (question("integer", min=1, max=3), 4, False),
        (question("integer"), -0.5, False),
        (question("multi-select", min=1, max=2), ["a", "b"], True),
        (question("multi-select", min=1, max=2), ["a", "b", "c"], False),
    ],
)
def test_a_submitted_answer_keeps_the_bounds_and_a_draft_need_not(
    asked: Json, value: Any, fits: bool
) -> None:
    kind, _ = VALUES[asked["kind"]]
    state = asking(asked)
    assert accepts(state, answered(given("draft", kind, value)))
    action = answered(given("submitted", kind, value))
    if fits:
        assert accepts(state, action)
    else:
        assert rejection(state, action) == "bad_answer"
        assert "'q1'" in str(judged(state, action).reason)


# --- choices


@pytest.mark.parametrize(
    ("asked", "value", "fits"),
    [
        (question("single-select"), "a", True),
        (question("single-select"), "x", False),
        (question("single-select"), "", False),
        (question("multi-select"), ["a", "c"], True),
        (question("multi-select", allowFreeformInput=True), ["x"], False),
    ],
)
def test_a_submitted_choice_is_one_of_the_options(asked: Json, value: Any, fits: bool) -> None:
    kind, _ = VALUES[asked["kind"]]
    action = answered(given("submitted", kind, value))
    assert accepts(asking(asked), action) is fits


@pytest.mark.parametrize("allowed", [True, False, None])
@pytest.mark.parametrize(
    ("kind", "value"),
    [("single-select", ""), ("single-select", "a"), ("multi-select", []), ("multi-select", ["a"])],
)
def test_free_text_is_taken_where_the_question_allows_it(kind: str, value: Any, allowed: bool | None) -> None:
    asked = question(kind, allowFreeformInput=allowed)
    action = answered(given("submitted", VALUES[kind][0], value, freeformValues=["my own"]))
    assert accepts(asking(asked), action) is bool(allowed)


# --- completing a request


def test_a_request_ends_in_one_of_three_ways() -> None:
    state = asking(question("text"))
    assert all(accepts(state, completed(response)) for response in ("accept", "decline", "cancel"))
    assert rejection(state, completed("later")) == "bad_value"


NEEDED = question("text", required=True)


@pytest.mark.parametrize("answer", [None, {"state": "skipped"}, given("draft", "text", "x")])
def test_accepting_needs_a_submitted_answer_to_every_required_question(answer: Json | None) -> None:
    answers = {"q1": answer} if answer else {}
    assert rejection(asking(NEEDED, answers=answers), completed()) == "bad_answer"
    assert rejection(asking(NEEDED), completed(answers=answers)) == "bad_answer"
    assert "'q1'" in str(judged(asking(NEEDED), completed(answers=answers)).reason)


@pytest.mark.parametrize(
    ("asked", "value"),
    [
        (question("text", min=2), "x"),
        (question("single-select"), "x"),
    ],
)
def test_a_draft_that_would_be_no_answer_keeps_a_request_from_being_accepted(asked: Json, value: Any) -> None:
    kind, _ = VALUES[asked["kind"]]
    draft = given("draft", kind, value)
    synced = asking(asked, answers={"q1": draft})
    for state, action in ((synced, completed()), (asking(asked), completed(answers={"q1": draft}))):
        assert rejection(state, action) == "bad_answer"
        assert "'q1'" in str(judged(state, action).reason)
    assert all(accepts(synced, completed(response)) for response in ("decline", "cancel"))
    assert accepts(synced, completed(answers={"q1": {"state": "skipped"}}))


def test_a_draft_for_a_question_that_is_not_asked_any_more_keeps_nobody_from_accepting() -> None:
    # Drafts stay when a request is replaced by one that asks something else.
    assert accepts(asking(question("text"), answers={"q0": given("draft", "number", 1)}), completed())
