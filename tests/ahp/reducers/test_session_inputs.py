"""Questions to a person: asked, answered, closed."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.reducers.cases import (
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_READ,
    NEWER,
    NOW,
    Case,
    Json,
    case,
    changed,
    check,
    params,
    running,
)
from serai.ahp.types import SessionState

DRAFT: Json = {"state": "draft", "value": {"kind": "text", "value": "may"}}
SUBMITTED: Json = {
    "state": "submitted",
    "value": {"kind": "selected-many", "value": ["o1"], "freeformValues": ["x"]},
}
SKIPPED: Json = {"state": "skipped", "freeformValues": ["not now"]}
STRANGER: Json = {"state": "whispered", "value": None}
QUESTIONS: list[Json] = [
    {"kind": "text", "id": "q1", "message": "Why?", "required": True},
    {"kind": "integer", "id": "q2", "message": "How many?", "min": 1},
    {"kind": "single-select", "id": "q3", "message": "Which?", "options": [{"id": "o1", "label": "One"}]},
    {"kind": "hologram", "id": "q4"},
]


def request(request_id: str = "r1", **fields: Any) -> Json:
    return {"id": request_id, "message": "Tell me", **fields}


def asked(new: Json) -> Json:
    return {"type": "session/inputRequested", "request": new}


def answered(question: str, answer: Json | None = None, request_id: str = "r1") -> Json:
    target = {"requestId": request_id, "questionId": question}
    return changed({"type": "session/inputAnswerChanged", **target}, answer=answer)


def closed(request_id: str = "r1", response: str = "accept", **fields: Any) -> Json:
    return {"type": "session/inputCompleted", "requestId": request_id, "response": response, **fields}


def asking(*requests: Json, status: int = INPUT_NEEDED, modified: int = 1000) -> Json:
    """A session with a turn that waits for answers."""
    return running(status=status | NEWER, modified=modified, inputRequests=list(requests) or None)


ASKED = [
    case(
        "a first question makes the session wait, and unread",
        running(status=IN_PROGRESS | IS_READ | NEWER),
        asked(request(questions=QUESTIONS, url="https://example.org")),
        asking(request(questions=QUESTIONS, url="https://example.org"), modified=NOW),
        "session/inputRequested/appends-new",
    ),
    case(
        "a new question goes to the end",
        asking(request("r1")),
        asked(request("r2")),
        asking(request("r1"), request("r2"), modified=NOW),
        "session/inputRequested/appends-new",
    ),
    case(
        "a question with a known id takes the old one's place",
        asking(request("r1"), request("r2", url="https://old"), request("r3")),
        asked({"id": "r2", "questions": []}),
        asking(request("r1"), {"id": "r2", "questions": []}, request("r3"), modified=NOW),
        "session/inputRequested/replaces-same-id",
    ),
    case(
        "drafts survive when the new question's answers are absent",
        asking(request(answers={"q1": DRAFT, "q2": STRANGER})),
        asked({"id": "r1"}),
        asking({"id": "r1", "answers": {"q1": DRAFT, "q2": STRANGER}}, modified=NOW),
        "session/inputRequested/drafts-survive",
    ),
    *(
        case(
            f"answers that the new question brings are all that it has: {len(given)}",
            asking(request(answers={"q1": DRAFT})),
            asked(request(answers=given)),
            asking(request(answers=given), modified=NOW),
            "session/inputRequested/given-answers-win",
        )
        for given in ({"q2": SUBMITTED}, {})
    ),
]

ANSWERED = [
    *(
        case(
            f"an answer is kept under its question: {answer['state']}",
            asking(request(answers={"q1": DRAFT}), request("r2"), status=INPUT_NEEDED | IS_READ),
            answered("q2", answer),
            asking(
                request(answers={"q1": DRAFT, "q2": answer}),
                request("r2"),
                status=INPUT_NEEDED | IS_READ,
                modified=NOW,
            ),
            "session/inputAnswerChanged/sets-answer",
        )
        for answer in (DRAFT, SUBMITTED, SKIPPED, STRANGER)
    ),
    case(
        "an answer is taken away",
        asking(request(answers={"q1": DRAFT, "q2": SKIPPED})),
        answered("q1"),
        asking(request(answers={"q2": SKIPPED}), modified=NOW),
        "session/inputAnswerChanged/removes-answer",
    ),
    case(
        "the last answer takes the answers with it, when it is null",
        asking(request(answers={"q1": DRAFT})),
        {**answered("q1"), "answer": None},
        asking(request(), modified=NOW),
        "session/inputAnswerChanged/removes-answer",
    ),
]

CLOSED = [
    *(
        case(
            f"a question that is closed is gone: {response}",
            asking(request(answers={"q1": DRAFT}), status=INPUT_NEEDED | IS_READ),
            closed(response=response, answers={"q1": SUBMITTED}),
            asking(status=IN_PROGRESS | IS_READ, modified=NOW),
            "session/inputCompleted/closes-request",
        )
        for response in ("accept", "decline", "cancel", "shrug")
    )
]

CASES: list[Case] = [*ASKED, *ANSWERED, *CLOSED]


@pytest.mark.parametrize("each", params(CASES))
def test_session(each: Case) -> None:
    check(each, SessionState)
