"""Questions to a person: asked, answered, closed."""

from __future__ import annotations

from typing import Any

import pytest

from ahp.reducers.cases import (
    ERROR,
    IDLE,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_READ,
    NEWER,
    NOW,
    Case,
    Json,
    call,
    case,
    changed,
    check,
    params,
    running,
    session,
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
PENDING = call("pending-confirmation", invocationMessage="Run")


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
        "a question makes a session wait that has no turn",
        session({"status": ERROR | IS_READ}),
        asked(request()),
        session({"status": INPUT_NEEDED, "modifiedAt": NOW}, inputRequests=[request()]),
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
    *(
        case(
            f"drafts survive when the new question's answers are {what}",
            asking(request(answers={"q1": DRAFT, "q2": STRANGER})),
            asked({"id": "r1", **fields}),
            asking({"id": "r1", "answers": {"q1": DRAFT, "q2": STRANGER}}, modified=NOW),
            "session/inputRequested/drafts-survive",
        )
        for what, fields in (("absent", {}), ("null", {"answers": None}))
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
        "the first answer makes the answers, and the next takes its place",
        asking(request()),
        [answered("q1", DRAFT), answered("q1", SUBMITTED)],
        asking(request(answers={"q1": SUBMITTED}), modified=NOW),
        "session/inputAnswerChanged/sets-answer",
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
    case(
        "taking away an answer that is not there leaves the others",
        asking(request(answers={"q1": DRAFT})),
        answered("q9"),
        asking(request(answers={"q1": DRAFT}), modified=NOW),
    ),
    case(
        "an answer to an unknown request changes nothing",
        asking(request()),
        answered("q1", DRAFT, "r9"),
    ),
    case("an answer to nothing changes nothing", session({"status": ERROR}), answered("q1", DRAFT)),
    case(
        "an answer does not look at the status",
        session({"status": ERROR}, inputRequests=[request()]),
        answered("q1", DRAFT),
        session({"status": ERROR, "modifiedAt": NOW}, inputRequests=[request(answers={"q1": DRAFT})]),
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
    ),
    case(
        "a session waits as long as a question is open",
        asking(request("r1"), request("r2", answers={"q1": DRAFT})),
        closed("r1", answers={"q1": SUBMITTED}),
        asking(request("r2", answers={"q1": DRAFT}), modified=NOW),
    ),
    case(
        "a session waits as long as a call does",
        running(PENDING, status=INPUT_NEEDED, inputRequests=[request()]),
        closed(),
        running(PENDING, status=INPUT_NEEDED, modified=NOW),
    ),
    case(
        "a session without a turn is idle after its last question",
        session({"status": INPUT_NEEDED | NEWER}, inputRequests=[request()]),
        closed(),
        session({"status": IDLE | NEWER, "modifiedAt": NOW}),
    ),
    case("closing an unknown question changes nothing", asking(request(), status=ERROR), closed("r9")),
    case("closing nothing changes nothing", session({"status": ERROR}), closed()),
]

CASES: list[Case] = [*ASKED, *ANSWERED, *CLOSED]


@pytest.mark.parametrize("each", params(CASES))
def test_session(each: Case) -> None:
    check(each, SessionState)
